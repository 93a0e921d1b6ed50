/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests of user/model and user/input: makes a model of a log in memory in one step. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "log_builder.h"
#include "model_check.h"
#include "idle_check.h"
#include "log_model.h"
#include "input/gpt/gpt_trace.h"
#include "model/slice/sliced_trace.h"
#include "trace_print.h"

#define PID 41230
#define TID 41231
#define CUDA_LAUNCH GPT_API(GPT_DOMAIN_RUNTIME, 211)
#define CU_LAUNCH GPT_API(GPT_DOMAIN_DRIVER, 307)

/* Everything that a trace of the log, divided so, hands over, as text; slice: NULL, or only that slice. */
static char *handed_over(int fd, const struct trace_division *division, const struct slice *slice)
{
	struct sliced_trace sliced;
	struct trace *trace;
	const char *why;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	if (slice)
		assert_int_equal(sliced_trace_open(&sliced, trace, slice, ""), 0);
	trace_print(out, slice ? &sliced.trace : trace);
	assert_int_equal(trace->error, 0);
	if (slice)
		sliced_trace_close(&sliced);
	gpt_trace_close(trace);
	fclose(out);
	return text;
}

/* A log in the smallest possible parts, and in larger ones, hands over the same as in one part. */
static void check_parts(int fd, const struct slice *slice)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX};
	char *one = handed_over(fd, &whole, slice);

	for (uint32_t records = 1; records <= 64; records *= 8) {
		const struct trace_division parts = {.chunk_records = records, .part_events = 1};
		char *many = handed_over(fd, &parts, slice);

		assert_string_equal(many, one);
		free(many);
	}
	free(one);
}

/* The middle of the model, with events open at both ends. */
static struct slice middle_of(const struct model *model)
{
	uint64_t third = (model->end_ns - model->start_ns) / 3;

	return (struct slice){.from_ns = model->start_ns + third, .to_ns = model->start_ns + 2 * third, .device = NONE};
}

/* The model of a finished log, after model_check and idle_check. Frees the log; the caller frees the model. */
__attribute__((unused)) static struct model *model_of(struct log_builder *log)
{
	struct model *model = NULL;
	const char *why = "not set";
	int fd = log_fd(log);
	struct slice middle;

	assert_int_equal(model_build(fd, &model, &why), 0);
	assert_non_null(model);
	assert_null(why);
	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	middle = middle_of(model);
	check_parts(fd, NULL);
	check_parts(fd, &middle);
	close(fd);
	log_free(log);
	return model;
}

/* A frame as "function (file:line)". */
__attribute__((unused)) static const char *frame_text(const struct model *model, uint32_t stack, uint32_t depth)
{
	static char text[512];
	const struct model_frame *frame;

	assert_true(stack < model->stack_count && depth < model->stacks[stack].depth);
	frame = &model->frames[model->stack_frames[model->stacks[stack].first + depth]];
	snprintf(text, sizeof(text), "%s (%s:%u)", model->codes[frame->code].name, model->codes[frame->code].file,
		 frame->line);
	return text;
}
