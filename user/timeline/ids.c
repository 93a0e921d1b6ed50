/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides whether CUPTI's correlation ids can be used: they must be unique, and leave room for gputrace's own. */
#include "timeline/ids.h"

#include "model/corr_set.h"
#include "model/totals.h"
#include "timeline/members.h"

/* The facts that decide. */
struct met {
	uint32_t highest;
	bool repeated;
};

static struct met look_through(struct timeline_ids *ids, const struct timeline *timeline)
{
	const struct model *model = timeline->model;
	uint32_t end = in_part_end(&model->calls_in_part, model->call_count);
	struct corr_set corrs = {0};
	struct met met;

	for (uint32_t i = model->calls_in_part.from; i < end; i++)
		if (model->calls[i].corr && timeline_has_call(timeline, &model->calls[i]) &&
		    !corr_set_add(&corrs, model->calls[i].corr))
			corr_set_give_up(&corrs);
	if (end > model->calls_in_part.from)
		ids->calls = model->calls[end - 1].number + 1;
	ids->operations = in_part_end(&model->gpu_in_part, model->gpu_count) - model->gpu_in_part.from;
	ids->syncs = in_part_end(&model->syncs_in_part, model->sync_count) - model->syncs_in_part.from;
	met = (struct met){.highest = corrs.highest, .repeated = corrs.repeated};
	corr_set_free(&corrs);
	return met;
}

static struct met look_ahead(struct timeline_ids *ids, const struct timeline *timeline)
{
	const struct model_totals *totals = timeline->totals;
	struct met met = {0};

	for (uint32_t i = 0; i < timeline->model->process_count; i++) {
		if (!timeline_has_process(timeline, i))
			continue;
		met.repeated |= totals->processes[i].corrs_repeat;
		if (totals->processes[i].highest_corr > met.highest)
			met.highest = totals->processes[i].highest_corr;
	}
	ids->calls = totals->calls;
	ids->operations = totals->gpu_ops;
	ids->syncs = totals->syncs;
	return met;
}

void timeline_ids_find(struct timeline_ids *ids, const struct timeline *timeline)
{
	struct met met = timeline->totals ? look_ahead(ids, timeline) : look_through(ids, timeline);

	ids->renumbered = timeline->several || met.repeated ||
			  met.highest + ids->calls + ids->operations + ids->syncs > INT32_MAX;
	ids->first_free = ids->renumbered ? 1 : met.highest + 1ull;
}
