/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_work.h"

void rank_work_make(struct rank_work *work, struct analyses *all, const struct steps *steps, uint32_t process,
		    bool is_alone)
{
	const struct step_track *track = steps ? steps_of_process(steps, all->model, process) : NULL;

	*work = (struct rank_work){.process = process};
	for (size_t i = track ? step_track_first_whole(track) : 0; track && i < track->list.count; i++)
		array_push(&work->steps.list, track->list.items[i]);
	work->has_tables = (work->steps.list.count || is_alone) && per_step_tables_make_of(&work->tables, all, process);
}

void rank_work_free(struct rank_work *work)
{
	array_free(&work->steps.list);
	if (work->has_tables)
		per_step_tables_free(&work->tables);
}
