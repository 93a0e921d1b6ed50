/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts launches by caller, and makes lines of them. */
#include "analyze/sums/untimed.h"

#include <stdlib.h>

void untimed_free(struct untimed *untimed)
{
	tally_free(&untimed->callers);
	tally_free(&untimed->firsts);
	free(untimed->rows);
}

void untimed_add_call(struct untimed *untimed, const struct call_event *event)
{
	struct tally_entry *first;

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

void untimed_finish(struct untimed *untimed, struct lines *lines)
{
	struct tally rows = {0}; /* key: line; more: index of the row + 1 */

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
