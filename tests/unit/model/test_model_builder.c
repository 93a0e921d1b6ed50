/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The builder is fed by values alone: no log, no record. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "model/builder.h"
#include "model/spans/spans.h"
#include "model_check.h"

#define PID 70
#define TID 71
#define LAUNCH GPT_API(GPT_DOMAIN_RUNTIME, 211)

static struct model *finish_model(struct builder *builder)
{
	struct model *model = builder_finish(builder);

	assert_null(model_check(model));
	return model;
}

static void call_at(struct builder *builder, uint64_t time_ns, uint32_t corr, uint64_t stack)
{
	struct gpt_call call = {
		.time_ns = time_ns, .pid = PID, .tid = TID, .corr = corr, .api = LAUNCH, .stack_id = stack};

	builder_add_call(builder, NULL, &call);
}

static bool kernel_at(struct builder *builder, uint64_t start_ns, uint32_t corr)
{
	struct sender sender = {.program = builder_process_image(builder, PID), .clock = SOURCE_CLOCK_MONOTONIC};
	struct gpt_agent_kernel kernel = {.start_wall_ns = start_ns, .end_wall_ns = start_ns + 10, .corr = corr};

	return builder_add_agent_kernel(builder, &sender, &kernel);
}

static void a_stack_has_the_frames_that_the_source_names_by_keys_of_its_own(void **state)
{
	const struct new_frame frames[] = {{.code = 2, .lasti = -1}, {.code = 1, .lasti = -1}};
	struct new_code code = {.key = 1, .first_line = 10, .name = {"outer", 5, 1, false}};
	struct new_stack stack = {.key = 5, .frames = frames, .depth = 2};
	struct builder *builder = builder_new();
	const struct model_stack *made;
	struct model *model;

	builder_add_code(builder, PID, &code);
	code = (struct new_code){.key = 2, .first_line = 20, .name = {"inner", 5, 1, false}};
	builder_add_code(builder, PID, &code);
	builder_add_stack(builder, PID, &stack);
	call_at(builder, 100, 0, 5);
	model = finish_model(builder);
	assert_int_equal(model->stack_count, 1);
	made = &model->stacks[model->calls[0].stack];
	assert_int_equal(made->depth, 2);
	assert_string_equal(model->codes[model->frames[model->stack_frames[made->first]].code].name, "inner");
	assert_int_equal(model->frames[model->stack_frames[made->first + 1]].line, 10);
	model_free(model);
}

static void gpu_work_has_its_call_whichever_came_first(void **state)
{
	struct builder *builder = builder_new();
	struct model *model;

	assert_true(kernel_at(builder, 300, 2));
	call_at(builder, 200, 2, 0);
	call_at(builder, 100, 1, 0); /* older than the call before it: the calls change places */
	assert_true(kernel_at(builder, 150, 1));
	model = finish_model(builder);
	assert_int_equal(model->gpu_count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(model->gpu[i].call, i);
		assert_int_equal(model->calls[i].corr, model->gpu[i].corr);
		assert_int_equal(model->calls[i].first_gpu, i);
	}
	model_free(model);
}

static void gpu_work_that_ends_before_it_starts_does_not_make_sense(void **state)
{
	struct model_gpu work = {.start_ns = 20, .end_ns = 10};
	struct builder *builder = builder_new();
	struct model *model;

	assert_false(builder_add_gpu(builder, builder_process_image(builder, PID), &work, 0));
	model = finish_model(builder);
	assert_int_equal(model->gpu_count, 0);
	model_free(model);
}

static void what_no_source_reported_is_not_recorded(void **state)
{
	struct model *model = finish_model(builder_new());

	assert_int_equal(model->source_count, 1);
	assert_string_equal(model_source(model)->host, "");
	assert_int_equal(model_source(model)->cpus, 0);
	assert_int_equal(model->call_count, 0);
	model_free(model);
}

/* ---- spans ------------------------------------------------------------------------------------------------- */

static void begin_span(struct spans *spans, uint64_t depth, uint64_t time_ns)
{
	struct model_span span = {.start_ns = time_ns, .kind = MODEL_SPAN_FUNCTION, .name = NONE};

	assert_true(spans_begin(spans, 0, depth, &span));
}

static void a_span_whose_end_was_lost_is_left_out(void **state)
{
	struct spans spans = {0};
	struct span_place *places;

	begin_span(&spans, 100, 1);
	begin_span(&spans, 90, 2); /* its end never comes */
	spans_end(&spans, 0, 100, MODEL_SPAN_FUNCTION, 9);
	assert_int_equal(spans.lost, 1);
	places = spans_order_by_thread(&spans, 1);
	assert_int_equal(places[0].count, 1);
	assert_int_equal(spans.list.items[0].start_ns, 1);
	assert_int_equal(spans.list.items[0].end_ns, 9);
	assert_false(spans.list.items[0].truncated);
	free(places);
	free(spans.list.items);
	spans_free(&spans);
}

static void what_nests_by_order_alone_ends_from_the_inside(void **state)
{
	struct spans spans = {0};

	begin_span(&spans, spans_next_depth(&spans, 0), 1);
	begin_span(&spans, spans_next_depth(&spans, 0), 2);
	spans_end(&spans, 0, spans_last_depth(&spans, 0), MODEL_SPAN_FUNCTION, 3);
	spans_end(&spans, 0, spans_last_depth(&spans, 0), MODEL_SPAN_FUNCTION, 4);
	spans_end(&spans, 0, spans_last_depth(&spans, 0), MODEL_SPAN_FUNCTION, 5); /* its start was before the trace */
	assert_int_equal(spans.list.items[0].end_ns, 4);
	assert_int_equal(spans.list.items[1].end_ns, 3);
	assert_int_equal(spans.lost, 0);
	free(spans.list.items);
	spans_free(&spans);
}

static void what_is_open_at_the_end_is_truncated(void **state)
{
	struct spans spans = {0};

	begin_span(&spans, 100, 5);
	spans_close_track(&spans, 0, 3);
	assert_true(spans.list.items[0].truncated);
	assert_int_equal(spans.list.items[0].end_ns, 5);
	assert_int_equal(spans.lost, 0);
	free(spans.list.items);
	spans_free(&spans);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_the_frames_that_the_source_names_by_keys_of_its_own),
		cmocka_unit_test(gpu_work_has_its_call_whichever_came_first),
		cmocka_unit_test(gpu_work_that_ends_before_it_starts_does_not_make_sense),
		cmocka_unit_test(what_no_source_reported_is_not_recorded),
		cmocka_unit_test(a_span_whose_end_was_lost_is_left_out),
		cmocka_unit_test(what_nests_by_order_alone_ends_from_the_inside),
		cmocka_unit_test(what_is_open_at_the_end_is_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
