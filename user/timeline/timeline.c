/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Creates and visits a timeline, in one walk over the parts of a trace. */
#include "timeline/timeline.h"

#include <stdlib.h>

#include "model/trace.h"
#include "timeline/rows/calls_of_threads.h"
#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/placement.h"
#include "timeline/steps.h"
#include "timeline/tracks.h"
#include "timeline/visit.h"

/* Starts a part: prepares the data for visiting it, and adds its groups, tracks and counters. */
static void take_part(struct timeline *timeline, const struct model *part, bool first)
{
	timeline->model = part;
	timeline->more = part->more;
	timeline_calls_link(timeline->calls, part);
	timeline_place_part(timeline);
	timeline_add_counters(timeline);
	timeline_add_tracks(timeline);
	timeline_span_part(timeline, first);
	if (!part->more)
		timeline_find_busiest(timeline);
	timeline->omitted = timeline->placement->omitted;
}

struct timeline *timeline_new(struct trace *trace, int process)
{
	const struct model *part = trace_first(trace);
	struct timeline *timeline;

	if (!part)
		return NULL;
	timeline = xcalloc(1, sizeof(*timeline));
	timeline->trace = trace;
	timeline->model = part;
	timeline->totals = part->more ? part->totals : NULL;
	timeline->busiest = TIMELINE_NONE;
	timeline->calls = xcalloc(1, sizeof(*timeline->calls));
	timeline->ids = xcalloc(1, sizeof(*timeline->ids));
	timeline->placement = timeline_placement_new();
	timeline_add_processes(timeline, process);
	timeline_ids_find(timeline->ids, timeline);
	timeline_steps_begin(timeline);
	take_part(timeline, part, true);
	return timeline;
}

void timeline_put_among(struct timeline *timeline, const struct timeline_among *among)
{
	timeline->among = *among;
	timeline->among.is_one = true;
	timeline->ids->renumbered = true;
	timeline->ids->first_free = among->first_number + 1;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	array_free_items(&timeline->texts);
	array_free(&timeline->groups);
	array_free(&timeline->tracks);
	array_free(&timeline->counters);
	array_free(&timeline->steps);
	free(timeline->process_groups);
	free(timeline->thread_tracks);
	timeline_placement_free(timeline->placement);
	timeline_calls_free(timeline->calls);
	free(timeline->calls);
	free(timeline->ids);
	free(timeline);
}

static void visit_part(struct visit *visit)
{
#define VISIT(many) visit_##many(visit);
	TIMELINE_VISITS(VISIT)
#undef VISIT
}

int timeline_visit(struct timeline *timeline, const struct timeline_visitor *visitor)
{
	struct visit visit = {.timeline = timeline, .visitor = visitor, .first = true};
	const struct model *part = timeline->model;

	python_slices_begin(&visit.python, part->thread_count);
	while (part) {
		if (visitor->part)
			visitor->part(visitor->context);
		visit.last = !part->more;
		visit_part(&visit);
		visit.first = false;
		part = visit.ended ? NULL : trace_next(timeline->trace);
		if (part)
			take_part(timeline, part, false);
	}
	timeline->next_number = visit_numbers_end(&visit);
	python_slices_free(&visit.python);
	op_links_free(&visit.links);
	tally_free(&visit.held);
	for (size_t i = 0; i < VISIT_STACKS; i++)
		array_free(&visit.stacks[i].frames);
	array_free(&visit.names);
	array_free(&visit.flows);
	return visit.ended ? 0 : timeline->trace->error;
}

uint32_t timeline_code_count(const struct timeline *timeline)
{
	return timeline->model->code_count;
}

struct timeline_code timeline_code(const struct timeline *timeline, uint32_t index)
{
	const struct model_code *code = &timeline->model->codes[index];

	return (struct timeline_code){.file = code->file, .name = code->name, .first_line = code->first_line};
}
