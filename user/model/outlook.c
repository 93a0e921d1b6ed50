/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/outlook.h"

#include <stdlib.h>

/* Pages of bitmaps that all processes have together: 64 MB.  Of further ids no one can tell whether they repeat. */
#define PAGES_MAX 8192u

static struct outlook_process *process_at(struct outlook *outlook, uint32_t process)
{
	while (outlook->processes.count <= process)
		array_push(&outlook->processes, ((struct outlook_process){0}));
	return &outlook->processes.items[process];
}

static void add_corr(struct outlook *outlook, struct corr_set *corrs, uint32_t corr, bool merged)
{
	uint32_t before = corrs->pages;

	if (!corr_set_add(corrs, corr) && !merged)
		corr_set_give_up(corrs);
	outlook->pages += corrs->pages - before;
	if (outlook->pages > PAGES_MAX) {
		outlook->pages -= corrs->pages;
		corr_set_give_up(corrs);
	}
}

void outlook_add_call(struct outlook *outlook, uint32_t process, uint32_t corr, bool merged)
{
	struct outlook_process *of = process_at(outlook, process);

	of->prospect.has_calls = true;
	outlook->found.calls++;
	if (corr)
		add_corr(outlook, &of->corrs, corr, merged);
}

void outlook_add_gpu_work(struct outlook *outlook, uint32_t process)
{
	process_at(outlook, process)->prospect.has_gpu_work = true;
	outlook->found.gpu_ops++;
}

void outlook_add_sync(struct outlook *outlook)
{
	outlook->found.syncs++;
}

void outlook_finish(struct outlook *outlook, uint32_t processes)
{
	outlook->found.processes = xcalloc(processes, sizeof(*outlook->found.processes));
	for (uint32_t i = 0; i < processes && i < outlook->processes.count; i++) {
		const struct outlook_process *of = &outlook->processes.items[i];

		outlook->found.processes[i] = of->prospect;
		outlook->found.processes[i].corrs_repeat = of->corrs.repeated;
		outlook->found.processes[i].highest_corr = of->corrs.highest;
	}
	for (size_t i = 0; i < outlook->processes.count; i++)
		corr_set_free(&outlook->processes.items[i].corrs);
	array_free(&outlook->processes);
}

void outlook_free(struct outlook *outlook)
{
	for (size_t i = 0; i < outlook->processes.count; i++)
		corr_set_free(&outlook->processes.items[i].corrs);
	array_free(&outlook->processes);
	free(outlook->found.processes);
}
