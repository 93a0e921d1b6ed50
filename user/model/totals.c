/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/totals.h"

#include <stdlib.h>

/* The maximum of bitmap pages of all processes: 64 MB.  Beyond it, repeated ids are not detected. */
#define PAGES_MAX 8192u

static struct totals_process *process_at(struct totals *totals, uint32_t process)
{
	while (totals->processes.count <= process)
		array_push(&totals->processes, ((struct totals_process){0}));
	return &totals->processes.items[process];
}

static void add_corr(struct totals *totals, struct corr_set *corrs, uint32_t corr, bool merged)
{
	uint32_t before = corrs->pages;

	if (!corr_set_add(corrs, corr) && !merged)
		corr_set_give_up(corrs);
	totals->pages += corrs->pages - before;
	if (totals->pages > PAGES_MAX) {
		totals->pages -= corrs->pages;
		corr_set_give_up(corrs);
	}
}

void totals_add_call(struct totals *totals, uint32_t process, uint32_t corr, bool merged)
{
	struct totals_process *of = process_at(totals, process);

	of->totals.has_calls = true;
	totals->found.calls++;
	if (corr)
		add_corr(totals, &of->corrs, corr, merged);
}

void totals_add_gpu_work(struct totals *totals, uint32_t process)
{
	process_at(totals, process)->totals.has_gpu_work = true;
	totals->found.gpu_ops++;
}

void totals_add_sync(struct totals *totals)
{
	totals->found.syncs++;
}

void totals_finish(struct totals *totals, uint32_t processes)
{
	totals->found.processes = xcalloc(processes, sizeof(*totals->found.processes));
	for (uint32_t i = 0; i < processes && i < totals->processes.count; i++) {
		const struct totals_process *of = &totals->processes.items[i];

		totals->found.processes[i] = of->totals;
		totals->found.processes[i].corrs_repeat = of->corrs.repeated;
		totals->found.processes[i].highest_corr = of->corrs.highest;
	}
	for (size_t i = 0; i < totals->processes.count; i++)
		corr_set_free(&totals->processes.items[i].corrs);
	array_free(&totals->processes);
}

void totals_free(struct totals *totals)
{
	for (size_t i = 0; i < totals->processes.count; i++)
		corr_set_free(&totals->processes.items[i].corrs);
	array_free(&totals->processes);
	free(totals->found.processes);
}
