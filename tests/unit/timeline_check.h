/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks the promises of user/timeline/timeline.h and slice.h on any trace: for fuzzing. */
#pragma once

#include "model/trace.h"
#include "timeline/timeline.h"

struct timeline_check {
	const struct timeline *timeline;
	uint64_t begins, ends; /* of arrows */
	uint64_t slices, memories;
	const char *wrong; /* NULL: nothing so far */
};

static inline bool check_frame(const struct timeline *timeline, const struct timeline_frame *frame)
{
	return frame->left_out ? frame->code == TIMELINE_NONE : frame->code < timeline_code_count(timeline);
}

static inline bool check_arg(const struct timeline *timeline, const struct timeline_arg *arg)
{
	static const uint8_t types[] = {
#define TYPE(enumerator, type, name) TIMELINE_TYPE_##type,
		TIMELINE_ARGS(TYPE)
#undef TYPE
	};

	switch (types[arg->key]) {
	case TIMELINE_TYPE_TEXT:
		return arg->text;
	case TIMELINE_TYPE_JSON:
		return arg->json.size >= 2 && arg->json.text[0] == '[' && arg->json.text[arg->json.size - 1] == ']';
	case TIMELINE_TYPE_FRAME:
		return check_frame(timeline, arg->frame);
	case TIMELINE_TYPE_STACK:
		for (uint32_t i = 0; i < arg->stack->count; i++)
			if (!check_frame(timeline, &arg->stack->frames[i]))
				return false;
		return true;
	case TIMELINE_TYPE_NATIVE_STACK:
		for (uint32_t i = 0; i < arg->native->count; i++)
			if (!arg->native->names[i])
				return false;
		return true;
	case TIMELINE_TYPE_STREAM:
		return arg->stream.track == TIMELINE_NONE || arg->stream.track < timeline->tracks.count;
	default:
		return true;
	}
}

/* Whether a time in the first part is before the timeline's start. */
static inline bool begins_early(const struct timeline_check *check, uint64_t time_ns)
{
	return !check->timeline->model->continued && time_ns < check->timeline->start_ns;
}

static inline bool check_slice(void *context, const struct timeline_slice *slice)
{
	struct timeline_check *check = context;
	const struct timeline *timeline = check->timeline;

	if (slice->track >= timeline->tracks.count)
		check->wrong = "a slice is on no track";
	else if (slice->end_ns < slice->start_ns || begins_early(check, slice->start_ns))
		check->wrong = "a slice ends before it begins, or begins before the timeline";
	else if (slice->name.code != TIMELINE_NONE && slice->name.code >= timeline_code_count(timeline))
		check->wrong = "a slice is called after a function that is not there";
	else if (!slice->name.before || !slice->name.text)
		check->wrong = "a slice has no name";
	for (uint32_t i = 0; i < slice->arg_count && !check->wrong; i++)
		if (slice->args[i].key >= TIMELINE_ARG_COUNT || !check_arg(timeline, &slice->args[i]))
			check->wrong = "an argument is not what its type says";
	if (slice->flow_from_track != TIMELINE_NONE && slice->flow_from_track >= timeline->tracks.count)
		check->wrong = "an arrow begins on no track";
	check->begins += slice->flow_out_count + (slice->flow_from_track != TIMELINE_NONE);
	check->ends += slice->flow_in != 0;
	check->slices++;
	return !check->wrong;
}

static inline bool check_memory(void *context, const struct timeline_memory *memory)
{
	struct timeline_check *check = context;
	const struct timeline *timeline = check->timeline;

	if (memory->counter >= timeline->counters.count || memory->group >= timeline->groups.count ||
	    (memory->track != TIMELINE_NONE && memory->track >= timeline->tracks.count))
		check->wrong = "memory is of no process, thread or counter";
	if (begins_early(check, memory->time_ns) || !memory->kind)
		check->wrong = "memory comes before the timeline begins";
	check->memories++;
	return !check->wrong;
}

static inline void check_tracks(struct timeline_check *check)
{
	const struct timeline *timeline = check->timeline;
	char text[64];

	for (uint32_t i = 0; i < timeline->tracks.count; i++) {
		const struct timeline_track *track = &timeline->tracks.items[i];

		timeline_track_label(timeline, i, text, sizeof(text));
		if (track->group >= timeline->groups.count || track->row >= TIMELINE_ROWS_MAX || track->first > i ||
		    timeline->tracks.items[track->first].row)
			check->wrong = "a track has no group, or no first row";
	}
}

/* Returns NULL, or what is wrong. handed_over: the numbers of slices, of arrow ends, of changes of memory. */
static inline const char *timeline_check(struct trace *trace, int process, uint64_t handed_over[3])
{
	struct timeline *timeline = timeline_new(trace, process);
	struct timeline_check check = {.timeline = timeline};

	timeline_visit(timeline,
		       &(struct timeline_visitor){.context = &check, .slice = check_slice, .memory = check_memory});
	if (!check.wrong)
		check_tracks(&check);
	if (!check.wrong && check.begins != check.ends)
		check.wrong = "an arrow has one end";
	timeline_free(timeline);
	handed_over[0] = check.slices;
	handed_over[1] = check.ends;
	handed_over[2] = check.memories;
	return check.wrong;
}
