/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For how long which detail was left out: of a trace, and of parts of it that sum up. */
#include "analyze/sums/detail_spans.h"
#include "model_of.h"

#define STACKS (1u << GPT_DETAIL_STACKS)
#define SAMPLES (1u << GPT_DETAIL_SAMPLES)
#define END 10000u

static void put(struct log_builder *log, uint64_t time_ns, uint32_t off, uint64_t measured)
{
	log_detail(log,
		   (struct gpt_detail){
			   .time_ns = time_ns, .off = off, .why = GPT_DETAIL_RING, .measured = measured, .limit = 100});
}

/* Samples for 2,000 and 5,000 to the end, stacks for 1,000 of these. */
static struct model *lowered_twice(void)
{
	struct log_builder log;

	log_begin(&log, 0, 0);
	put(&log, 1000, SAMPLES, 52);
	put(&log, 1500, SAMPLES | STACKS, 80);
	put(&log, 2500, SAMPLES, 80);
	put(&log, 3000, 0, 80);
	put(&log, 5000, SAMPLES, 61);
	log_end(&log, END);
	return model_of(&log);
}

static uint64_t ns_of(const struct model *model, enum gpt_detail_kind kind, uint64_t from_ns, uint64_t to_ns)
{
	const struct window window = {.start_ns = from_ns, .end_ns = to_ns};
	struct detail_spans spans;

	detail_spans_make(&spans, model, &window);
	for (size_t i = 0; i < spans.count; i++)
		if (spans.rows[i].kind == kind)
			return spans.rows[i].ns;
	return 0;
}

static void each_detail_has_how_long_it_was_left_out_since_when_and_why_first(void **state)
{
	const struct window window = {.start_ns = 0, .end_ns = END};
	struct model *model = lowered_twice();
	struct detail_spans spans;

	detail_spans_make(&spans, model, &window);
	assert_int_equal(spans.count, 2);
	assert_int_equal(spans.rows[0].kind, GPT_DETAIL_SAMPLES);
	assert_int_equal(spans.rows[0].ns, 2000 + 5000);
	assert_int_equal(spans.rows[0].times, 2);
	assert_int_equal(spans.rows[0].first_ns, 1000);
	assert_int_equal(spans.rows[0].measured, 52);
	assert_int_equal(spans.rows[1].kind, GPT_DETAIL_STACKS);
	assert_int_equal(spans.rows[1].ns, 1000);
	assert_int_equal(spans.rows[1].times, 1);
	assert_int_equal(spans.rows[1].first_ns, 1500);
	assert_int_equal(spans.rows[1].measured, 80);
	model_free(model);
}

static void the_parts_of_a_trace_sum_up_to_the_whole(void **state)
{
	struct model *model = lowered_twice();

	for (uint64_t cut = 0; cut <= END; cut += 250)
		for (unsigned kind = 0; kind < GPT_DETAIL_COUNT; kind++)
			assert_int_equal(ns_of(model, kind, 0, cut) + ns_of(model, kind, cut, END),
					 ns_of(model, kind, 0, END));
	model_free(model);
}

static void a_slice_in_which_it_began_before_has_it_from_its_start(void **state)
{
	const struct window window = {.start_ns = 2000, .end_ns = 2200};
	struct model *model = lowered_twice();
	struct detail_spans spans;

	detail_spans_make(&spans, model, &window);
	assert_int_equal(spans.count, 2);
	for (size_t i = 0; i < spans.count; i++) {
		assert_int_equal(spans.rows[i].ns, 200);
		assert_int_equal(spans.rows[i].first_ns, 2000);
	}
	model_free(model);
}

static void records_that_no_gputrace_writes_are_bad(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	put(&log, 1000, SAMPLES, 52);
	put(&log, 999, 0, 52); /* back in time */
	put(&log, 2000, 1u << GPT_DETAIL_COUNT, 52);
	log_detail(&log, (struct gpt_detail){.time_ns = 3000, .why = GPT_DETAIL_WHYS});
	log_detail(&log, (struct gpt_detail){.time_ns = 3000});
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->detail_count, 1);
	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	model_free(model);
}

static void a_launch_whose_stack_was_not_recorded_is_not_whole(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	for (unsigned i = 0; i < 4; i++)
		log_call(&log, (struct gpt_call){.time_ns = i,
						 .pid = PID,
						 .tid = TID,
						 .api = CUDA_LAUNCH,
						 .stack_state = i ? GPT_STACK_NO_PYTHON : GPT_STACK_LOWERED});
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.stacks_lowered, 1);
	assert_int_equal(model_source(model)->receipt.lost, 0);
	assert_int_equal(model_completeness(model), MODEL_COMPLETE * 3 / 4);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_detail_has_how_long_it_was_left_out_since_when_and_why_first),
		cmocka_unit_test(the_parts_of_a_trace_sum_up_to_the_whole),
		cmocka_unit_test(a_slice_in_which_it_began_before_has_it_from_its_start),
		cmocka_unit_test(records_that_no_gputrace_writes_are_bad),
		cmocka_unit_test(a_launch_whose_stack_was_not_recorded_is_not_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
