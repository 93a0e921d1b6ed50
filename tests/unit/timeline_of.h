/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of user/timeline: keeps everything that a timeline hands over. */
#pragma once

#include "model/trace.h"
#include "model_of.h"
#include "timeline/timeline.h"
#include "whole_trace.h"

/* A copy of a slice: what it points to is copied as far as tests look at it. */
struct kept_slice {
	uint32_t track;
	enum timeline_category category;
	uint64_t start_ns, end_ns;
	char name[128]; /* a Python function's own name */
	struct timeline_arg args[32];
	uint32_t arg_count;
	char stack[256]; /* "inner;[2];outer" */
	uint64_t flows_out[8], flow_in, op;
	struct timeline_link link;
	uint32_t flow_out_count;
	uint32_t flow_from_track;
	uint64_t flow_from_ns;
};

struct kept {
	struct timeline *timeline;
	ARRAY(struct kept_slice) slices;
	ARRAY(struct timeline_memory) memories;
};

/* Texts of arguments belong to the model or are literals, so they need no copy. */
__attribute__((unused)) static bool keep_slice(void *context, const struct timeline_slice *slice)
{
	struct kept *kept = context;
	struct kept_slice copy = {.track = slice->track,
				  .category = slice->category,
				  .start_ns = slice->start_ns,
				  .end_ns = slice->end_ns,
				  .arg_count = slice->arg_count,
				  .flow_in = slice->flow_in,
				  .flow_from_track = slice->flow_from_track,
				  .flow_from_ns = slice->flow_from_ns,
				  .op = slice->op,
				  .link = slice->link,
				  .flow_out_count = slice->flow_out_count};

	if (slice->name.code != TIMELINE_NONE)
		snprintf(copy.name, sizeof(copy.name), "%s", timeline_code(kept->timeline, slice->name.code).name);
	else
		snprintf(copy.name, sizeof(copy.name), "%s%s", slice->name.before, slice->name.text);
	assert_in_range(slice->arg_count, 0, 32);
	for (uint32_t i = 0; i < slice->arg_count; i++) {
		copy.args[i] = slice->args[i];
		if (slice->args[i].key != TIMELINE_ARG_STACK)
			continue;
		for (uint32_t k = 0; k < slice->args[i].stack->count; k++) {
			const struct timeline_frame *frame = &slice->args[i].stack->frames[k];
			size_t used = strlen(copy.stack);

			if (frame->left_out)
				snprintf(copy.stack + used, sizeof(copy.stack) - used, "[%u];", frame->left_out);
			else
				snprintf(copy.stack + used, sizeof(copy.stack) - used, "%s:%u;",
					 timeline_code(kept->timeline, frame->code).name, frame->line);
		}
	}
	for (uint32_t i = 0; i < slice->flow_out_count && i < 8; i++)
		copy.flows_out[i] = slice->flows_out[i];
	array_push(&kept->slices, copy);
	return true;
}

__attribute__((unused)) static bool keep_memory(void *context, const struct timeline_memory *memory)
{
	array_push(&((struct kept *)context)->memories, *memory);
	return true;
}

/* Only one may exist at a time: the trace is static. */
__attribute__((unused)) static struct timeline *timeline_of(const struct model *model, int process)
{
	static struct trace_of_model trace;
	struct timeline *timeline = timeline_new(trace_of_model(&trace, model), process);

	assert_non_null(timeline);
	return timeline;
}

__attribute__((unused)) static struct kept keep_all(struct timeline *timeline)
{
	struct kept kept = {.timeline = timeline};

	assert_int_equal(timeline_visit(kept.timeline, &(struct timeline_visitor){.context = &kept,
										  .slice = keep_slice,
										  .memory = keep_memory}),
			 0);
	return kept;
}

__attribute__((unused)) static struct kept keep(const struct model *model, int process)
{
	return keep_all(timeline_of(model, process));
}

__attribute__((unused)) static void kept_free(struct kept *kept)
{
	timeline_free(kept->timeline);
	array_free(&kept->slices);
	array_free(&kept->memories);
}

/* The n-th slice of a category, from 0; fails if there is none. */
__attribute__((unused)) static const struct kept_slice *nth(const struct kept *kept, enum timeline_category category,
							    uint32_t n)
{
	for (uint32_t i = 0; i < kept->slices.count; i++)
		if (kept->slices.items[i].category == category && !n--)
			return &kept->slices.items[i];
	fail_msg("no such slice");
	return NULL;
}

__attribute__((unused)) static uint32_t count_of_category(const struct kept *kept, enum timeline_category category)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < kept->slices.count; i++)
		count += kept->slices.items[i].category == category;
	return count;
}

/* Returns NULL if the slice has no such argument. */
__attribute__((unused)) static const struct timeline_arg *arg_of(const struct kept_slice *slice,
								 enum timeline_arg_key key)
{
	for (uint32_t i = 0; i < slice->arg_count; i++)
		if (slice->args[i].key == key)
			return &slice->args[i];
	return NULL;
}

__attribute__((unused)) static const char *label_of(const struct kept *kept, uint32_t track)
{
	static char text[256];

	timeline_track_label(kept->timeline, track, text, sizeof(text));
	return text;
}
