/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts launches by caller, and makes lines of them. */
#include "analyze/sums/untimed.h"

void untimed_free(struct untimed *untimed)
{
	group_free(&untimed->launches);
	tally_free(&untimed->firsts);
	tally_free(&untimed->open);
}

static void note_open(struct untimed *untimed, const struct call_event *event)
{
	enum launch_fate fate = event->fate;
	struct tally_entry *open;

	if (fate < LAUNCH_WHOLE || fate > LAUNCH_MISSED)
		return;
	open = tally_at(&untimed->open, (struct tally_key){{event->process}});
	if (fate == LAUNCH_WHOLE || fate == LAUNCH_STACKLESS) {
		open->count = 0;
	} else if (!open->count++) {
		open->ns = event->call->start_ns;
		open->more = event->caller;
	}
}

void untimed_add_call(struct untimed *untimed, const struct call_event *event)
{
	struct tally_entry *first;

	note_open(untimed, event);
	if (!launch_lacks_times(event->fate))
		return;
	group_add(&untimed->launches, (const uint32_t[2]){0}, event->caller, event->process, 0, 0);
	first = tally_at(&untimed->firsts, (struct tally_key){{event->process}});
	if (!first->count++)
		first->ns = event->call->start_ns;
}

uint64_t untimed_end(struct untimed *untimed, const struct model *model, const struct window *window)
{
	uint64_t end_ns = UINT64_MAX;

	for (uint32_t i = 0; i < model->process_count; i++) {
		uint64_t ready_ns = model->processes[i].agent_ready_ns;
		const struct tally_entry *first;

		if (!model->processes[i].gpu_ops)
			continue;
		first = tally_at(&untimed->firsts, (struct tally_key){{i}});
		if (!first->count || first->ns >= ready_ns)
			return window->start_ns;
		end_ns = ready_ns < end_ns ? ready_ns : end_ns;
	}
	return end_ns > window->start_ns && end_ns < window->end_ns ? end_ns : window->start_ns;
}

static void find_longest(struct untimed *untimed, const struct model *model, const struct window *window,
			 struct lines *lines)
{
	for (size_t i = 0; i < untimed->open.count; i++) {
		const struct tally_entry *open = &untimed->open.entries[i];
		const struct model_process *process = &model->processes[open->key.part[0]];
		struct unfinished found = {.launches = open->count, .since_ns = open->ns, .until_ns = window->end_ns};

		if (process->exit_ns && process->exit_ns < found.until_ns)
			found.until_ns = process->exit_ns;
		if (!found.launches || found.until_ns <= found.since_ns ||
		    found.until_ns - found.since_ns <= untimed->longest.until_ns - untimed->longest.since_ns)
			continue;
		found.line = line_of(lines, (uint32_t)open->more);
		untimed->longest = found;
	}
}

void untimed_finish(struct untimed *untimed, const struct model *model, const struct window *window,
		    struct lines *lines)
{
	find_longest(untimed, model, window, lines);
	group_finish(&untimed->launches, lines, GROUP_BY_LINE_AND_COUNT);
}
