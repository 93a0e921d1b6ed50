/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A timeline made and visited: the parts in their order. */
#include "timeline/timeline.h"

#include <stdlib.h>

#include "timeline/calls_of_threads.h"
#include "timeline/ids.h"
#include "timeline/parts.h"
#include "timeline/placement.h"
#include "timeline/span.h"
#include "timeline/tracks.h"
#include "timeline/visit.h"

struct timeline *timeline_new(const struct model *model, int process)
{
	struct timeline *timeline = xcalloc(1, sizeof(*timeline));

	timeline->model = model;
	timeline_add_processes(timeline, process);
	timeline->calls = timeline_calls_new(model);
	timeline->ids = timeline_ids_new(timeline);
	timeline->placement = timeline_placement_new(timeline);
	timeline_add_tracks(timeline);
	timeline_add_counters(timeline);
	timeline_find_span(timeline);
	return timeline;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	array_free(&timeline->groups);
	array_free(&timeline->tracks);
	array_free(&timeline->counters);
	free(timeline->process_groups);
	free(timeline->thread_tracks);
	timeline_placement_free(timeline->placement);
	timeline_calls_free(timeline->calls);
	free(timeline->ids);
	free(timeline);
}

void timeline_visit(const struct timeline *timeline, const struct timeline_visitor *visitor)
{
	struct visit visit = {.timeline = timeline, .visitor = visitor};

	visit_python(&visit);
	visit_interpreter(&visit);
	visit_ranges(&visit);
	visit_jits(&visit);
	visit_calls(&visit);
	visit_operations(&visit);
	visit_syncs(&visit);
	visit_memories(&visit);
	visit_overheads(&visit);
	array_free(&visit.frames);
	array_free(&visit.names);
	array_free(&visit.flows);
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
