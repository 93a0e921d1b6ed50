/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A timeline made and visited: two rounds over the parts of a trace. */
#include "timeline/timeline.h"

#include <stdlib.h>

#include "model/trace.h"
#include "timeline/calls_of_threads.h"
#include "timeline/ids.h"
#include "timeline/kinds.h"
#include "timeline/placement.h"
#include "timeline/span.h"
#include "timeline/tracks.h"
#include "timeline/visit.h"

/* A part is at hand: what every look at it needs. */
static void take_part(struct timeline *timeline, const struct model *part)
{
	timeline->model = part;
	timeline_calls_link(timeline->calls, part);
	timeline_place_part(timeline);
}

/* ---- the first round: what there is ------------------------------------------------------------------------------ */

static void look_through(struct timeline *timeline, int process)
{
	const struct model *part;
	struct tally counters = {0};

	for (part = trace_first(timeline->trace); part; part = trace_next(timeline->trace)) {
		timeline->model = part;
		if (!timeline->parts) {
			timeline_add_processes(timeline, process);
			timeline->placement = timeline_placement_new(part);
		}
		take_part(timeline, part);
		timeline_ids_add(timeline->ids, timeline);
		timeline_add_counters(timeline, &counters);
		timeline_span_part(timeline, !timeline->parts++);
	}
	tally_free(&counters);
}

struct timeline *timeline_new(struct trace *trace, int process)
{
	struct timeline *timeline = xcalloc(1, sizeof(*timeline));

	timeline->trace = trace;
	timeline->calls = xcalloc(1, sizeof(*timeline->calls));
	timeline->ids = xcalloc(1, sizeof(*timeline->ids));
	look_through(timeline, process);
	if (trace->error || !timeline->parts) {
		timeline_free(timeline);
		return NULL;
	}
	timeline_add_tracks(timeline);
	timeline_ids_finish(timeline->ids, timeline->several);
	timeline_span_finish(timeline);
	timeline->omitted = timeline->placement->omitted;
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	for (size_t i = 0; i < timeline->texts.count; i++)
		free(timeline->texts.items[i]);
	array_free(&timeline->texts);
	array_free(&timeline->groups);
	array_free(&timeline->tracks);
	array_free(&timeline->counters);
	free(timeline->process_groups);
	free(timeline->thread_tracks);
	timeline_placement_free(timeline->placement);
	timeline_calls_free(timeline->calls);
	timeline_ids_free(timeline->ids);
	free(timeline->calls);
	free(timeline->ids);
	free(timeline);
}

/* ---- the second round: everything, handed over ---------------------------------------------------------------------
 */

static void visit_part(struct visit *visit)
{
	visit_python(visit);
	visit_interpreter(visit);
	visit_ranges(visit);
	visit_ops(visit);
	visit_jits(visit);
	visit_calls(visit);
	visit_operations(visit);
	visit_syncs(visit);
	visit_memories(visit);
	visit_overheads(visit);
}

int timeline_visit(struct timeline *timeline, const struct timeline_visitor *visitor)
{
	struct visit visit = {.timeline = timeline, .visitor = visitor, .first = true, .stack = NONE};
	const struct model *part;
	uint32_t count = 0;

	timeline_placement_again(timeline->placement);
	python_slices_begin(&visit.python, timeline->model->thread_count);
	for (part = trace_first(timeline->trace); part; part = visit.ended ? NULL : trace_next(timeline->trace)) {
		take_part(timeline, part);
		visit.last = ++count == timeline->parts;
		visit_part(&visit);
		visit.first = false;
	}
	python_slices_free(&visit.python);
	op_links_free(&visit.links);
	tally_free(&visit.held);
	array_free(&visit.frames);
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
