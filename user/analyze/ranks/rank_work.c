/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_work.h"

#include "analyze/ranks/ranks.h"

void rank_work_make(struct rank_work *work, struct analyses *all, const struct steps *steps, uint32_t process,
		    uint32_t device, bool is_alone)
{
	const struct step_track *track = steps ? steps_of_process(steps, all->model, process) : NULL;

	*work = (struct rank_work){.process = process, .device = device};
	for (size_t i = track ? step_track_first_whole(track) : 0; track && i < track->list.count; i++)
		array_push(&work->steps.list, track->list.items[i]);
	work->has_tables =
		(work->steps.list.count || is_alone) && per_step_tables_make_of(&work->tables, all, process, device);
}

void rank_work_free(struct rank_work *work)
{
	array_free(&work->steps.list);
	if (work->has_tables)
		per_step_tables_free(&work->tables);
}

void ranks_add_work(struct ranks *ranks, struct analyses *all, const struct steps *steps)
{
	struct rank_log *log = &ranks->logs.items[ranks->logs.count - 1];

	array_each (rank, &log->arrivals.ranks.list) {
		bool is_alone = !array_find(&log->arrivals.ranks.list, item, item->process != rank->process);
		struct rank_work work;

		rank_work_make(&work, all, steps, rank->process, rank->device, is_alone);
		array_push(&log->work, work);
	}
}

const struct rank_work *rank_work_of(const struct ranks *ranks, const struct rank_row *row)
{
	const struct rank_log *log = &ranks->logs.items[row->log];

	return array_find(&log->work, item, item->process == row->of->process && item->device == row->of->device);
}
