/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts launches by caller, and makes lines of them. */
#include "analyze/sums/untimed.h"

#include <stdlib.h>

void untimed_free(struct untimed *untimed)
{
	tally_free(&untimed->callers);
	tally_free(&untimed->firsts);
	tally_free(&untimed->open);
	free(untimed->rows);
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
	tally_at(&untimed->callers, (struct tally_key){{event->caller, event->process}})->count++;
	untimed->launches++;
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

static int by_launches(const void *left, const void *right)
{
	const struct untimed_row *a = left, *b = right;

	if (a->launches != b->launches)
		return a->launches > b->launches ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
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
	struct tally rows = {0}; /* key: line; more: index of the row + 1 */

	find_longest(untimed, model, window, lines);
	untimed->rows = xcalloc(untimed->callers.count, sizeof(*untimed->rows));
	for (size_t i = 0; i < untimed->callers.count; i++) {
		const struct tally_entry *caller = &untimed->callers.entries[i];
		uint32_t line = line_of(lines, caller->key.part[0]);
		struct tally_entry *entry = tally_at(&rows, (struct tally_key){{line}});

		if (!entry->more) {
			untimed->rows[untimed->count] = (struct untimed_row){.line = line, .process = NONE};
			entry->more = ++untimed->count;
		}
		untimed->rows[entry->more - 1].launches += caller->count;
		process_note(&untimed->rows[entry->more - 1].process, caller->key.part[1]);
	}
	tally_free(&rows);
	qsort(untimed->rows, untimed->count, sizeof(*untimed->rows), by_launches);
}
