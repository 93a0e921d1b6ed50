/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides when a process is looked at (processes.h): one that changes all the time, or whose user takes much time,
 * waits, so that the others do not.
 */
#include <stdlib.h>

#include <gputrace/record.h>

#include "attach/emit/emit.h"
#include "attach/processes.h"
#include "base/monotonic.h"
#include "base/order.h"
#include "target/reader.h"

#define EARLY_LOOKS 64		   /* at once; a program with PyTorch maps 40 files of interest at its start */
#define EARLY_BACK_NS 500000000ULL /* then one more in each such time */
#define USER_TIME_NS 1000000000ULL /* of looks allowed at once */
#define OTHER_SHARE 4		   /* at most a fifth of the time goes to files whose names say nothing */
#define LOOKS_NS 50000000ULL	   /* of due looks, before other work is done */

struct due {
	uint64_t used_ns; /* time used by its user */
	struct followed *process;
};

void processes_look_later(struct followed *process, uint64_t when_ns)
{
	if (!process->look_again_ns || when_ns < process->look_again_ns)
		process->look_again_ns = when_ns;
}

static bool has_early_look(struct followed *process, uint64_t now_ns)
{
	uint64_t back = process->looked_ns ? (now_ns - process->looked_ns) / EARLY_BACK_NS : EARLY_LOOKS;

	if (!process->looked_ns)
		process->looked_ns = now_ns;
	else
		process->looked_ns += back * EARLY_BACK_NS;
	process->early_looks =
		back < EARLY_LOOKS - process->early_looks ? process->early_looks + (unsigned)back : EARLY_LOOKS;
	if (!process->early_looks)
		return false;
	process->early_looks--;
	return true;
}

bool processes_have_time(struct processes *processes, const struct followed *process, uint64_t now_ns)
{
	return !processes->fair || user_budget_used(&processes->time, process->uid, now_ns) < USER_TIME_NS;
}

bool processes_may_look(struct processes *processes, struct followed *process)
{
	uint64_t now_ns = monotonic_ns();

	if (!has_early_look(process, now_ns))
		processes_look_later(process, process->looked_ns + EARLY_BACK_NS);
	else if (!processes_have_time(processes, process, now_ns))
		processes_look_later(process, now_ns);
	else
		return true;
	return false;
}

void processes_look_soon(struct processes *processes, struct followed *process)
{
	uint64_t now_ns = monotonic_ns(), wait_ns = GPT_MAPPED_OTHER_NS;

	if (processes->fair && wait_ns < process->look_cost_ns * OTHER_SHARE)
		wait_ns = process->look_cost_ns * OTHER_SHARE;
	if (!processes_have_time(processes, process, now_ns))
		wait_ns = EARLY_BACK_NS;
	processes_look_later(process, now_ns + wait_ns);
	process->looks = 0; /* this does not use up the looks of a starting Python */
}

DEFINE_ORDER(by_use, struct due, least_first(a->used_ns, b->used_ns))

uint64_t processes_look_due(struct processes *processes, processes_look look, void *context)
{
	uint64_t now_ns = monotonic_ns(), next_ns = UINT64_MAX;
	ARRAY(struct due) due = {0};

	for (size_t i = 0; i < processes->list.count; i++) {
		struct followed *process = processes->list.items[i];

		if (process->look_again_ns && process->look_again_ns <= now_ns)
			array_push(&due,
				   ((struct due){user_budget_used(&processes->time, process->uid, now_ns), process}));
	}
	array_sort(&due, by_use);
	for (size_t i = 0; i < due.count && monotonic_ns() - now_ns < LOOKS_NS; i++) {
		due.items[i].process->look_again_ns = 0;
		look(context, due.items[i].process);
	}
	array_free(&due);
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i]->look_again_ns && processes->list.items[i]->look_again_ns < next_ns)
			next_ns = processes->list.items[i]->look_again_ns;
	return next_ns;
}

void processes_report_silent(struct processes *processes)
{
	struct reader_silent one;

	while (reader_next_silent(&one)) {
		processes->silent++;
		emit_note(processes->emit, processes->emit_context, (uint32_t)one.pid,
			  "pid %d (%s, of user %u) is left alone: %s readers of memory or files waiting, so what it "
			  "launches may have no line, or not be seen",
			  one.pid, one.name, one.uid, one.itself ? "it keeps" : "others of its user keep");
	}
}

void processes_sweep_files(struct processes *processes, const struct probed_file *kept)
{
	for (size_t i = 0; i < processes->files->list.count; i++)
		processes->files->list.items[i]->mapped = processes->files->list.items[i] == kept;
	for (size_t i = 0; i < processes->list.count; i++)
		for (size_t j = 0; j < processes->list.items[i]->files.count; j++)
			processes->list.items[i]->files.items[j]->mapped = true;
	files_sweep(processes->files, monotonic_ns());
}
