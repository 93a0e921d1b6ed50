/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Compilation by the driver. */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/members.h"
#include "timeline/placement.h"
#include "timeline/visit.h"

void place_jits(struct timeline *timeline, struct timeline_placement *placement)
{
	struct placed *placed = &placement->jits;
	const struct model *model = timeline->model;
	uint32_t from = model->jits_in_part.from, end = in_part_end(&model->jits_in_part, model->jit_count);

	placed_begin(placed, from, end);
	for (uint32_t i = from; i < end; i++) {
		const struct model_jit *jit = &model->jits[i];

		if (!timeline_has_process(timeline, jit->process))
			continue;
		placed->row_of[i - from] = slice_rows_place(&placed->rows, (struct tally_key){{jit->process, jit->tid}},
							    jit->start_ns, jit->end_ns);
		placement->omitted.jits += placed->row_of[i - from] == ROW_NONE;
	}
}

void label_jits(const struct timeline *timeline, const struct timeline_track *track, char *text, size_t size)
{
	char rest[96];

	label_row(timeline, track, false, rest, sizeof(rest));
	if (track->tid)
		snprintf(text, size, "thread %" PRIu32 " JIT%s", track->tid, rest);
	else
		snprintf(text, size, "JIT%s", rest);
}

static void visit_jit(struct visit *visit, uint32_t index)
{
	const struct timeline *timeline = visit->timeline;
	const struct model_jit *jit = &timeline->model->jits[index];
	struct draft draft;

	draft_begin(&draft, TIMELINE_JIT, placed_track(&timeline->placement->jits, index), jit->start_ns, jit->end_ns);
	draft.slice.name.text = jit_name(jit);
	draft_number(&draft, TIMELINE_ARG_CACHE_BYTES, jit->bytes);
	if (has_number(timeline->model, jit->call))
		draft_number(&draft, TIMELINE_ARG_OF_CALL,
			     correlation_of_call(timeline->ids, &timeline->model->calls[jit->call]));
	visit_slice(visit, &draft.slice);
}

void visit_jits(struct visit *visit)
{
	visit_placed(visit, &visit->timeline->placement->jits, visit_jit);
}
