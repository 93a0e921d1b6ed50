/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python functions and NVTX ranges on a timeline: their times and rows. */
#include "timeline_of.h"
#include "python_log.h"

static void add_launch(struct log_builder *log, uint64_t ms, uint64_t stack)
{
	static uint32_t corr;

	log_launch(log, PID, PID, ms * MS, stack, ++corr);
}

static void assert_function(const struct kept *kept, uint32_t n, const char *name, uint64_t start_ms, uint64_t end_ms,
			    uint64_t parent, const char *from)
{
	const struct kept_slice *slice = nth(kept, TIMELINE_PYTHON, n);
	const struct timeline_arg *of = arg_of(slice, TIMELINE_ARG_PYTHON_PARENT);

	assert_string_equal(slice->name, name);
	assert_int_equal(slice->start_ns, start_ms * MS);
	assert_int_equal(slice->end_ns, end_ms * MS);
	assert_int_equal(arg_of(slice, TIMELINE_ARG_PYTHON_ID)->number, n + 1);
	assert_int_equal(of ? of->number : 0, parent);
	assert_string_equal(arg_of(slice, TIMELINE_ARG_FROM)->text, from);
}

static void a_function_runs_while_its_caller_stays_on_the_line(void **state)
{
	struct log_builder log;
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	add_launch(&log, 10, 1);
	add_launch(&log, 20, 1);
	add_launch(&log, 30, 2); /* step has moved on, so this is another run of forward */
	log_end(&log, 50 * MS);
	model = model_of(&log);
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_PYTHON), 4);
	assert_function(&kept, 0, "main", 10, 30, 0, "snapshots");
	assert_function(&kept, 1, "step", 10, 30, 1, "snapshots");
	assert_function(&kept, 2, "forward", 10, 20, 2, "snapshots");
	assert_function(&kept, 3, "forward", 30, 30, 2, "snapshots");
	kept_free(&kept);
	model_free(model);
}

static void an_inherited_stack_draws_no_function(void **state)
{
	struct log_builder log;
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	log_call(&log, (struct gpt_call){.time_ns = 10 * MS,
					 .pid = PID,
					 .tid = TID,
					 .stack_id = 1,
					 .api = CUDA_LAUNCH,
					 .origin = GPT_ORIGIN_AGENT,
					 .corr = 77,
					 .stack_state = GPT_STACK_BACKWARD});
	log_end(&log, 50 * MS);
	model = model_of(&log);
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_PYTHON), 0);
	assert_non_null(arg_of(nth(&kept, TIMELINE_RUNTIME_CALL, 0), TIMELINE_ARG_STACK_OF));
	kept_free(&kept);
	model_free(model);
}

/*
 * main ran before the trace: it lasts from the start of the traced call around the first launch to the end of the last.
 */
static void traced_functions_are_exact_and_what_was_open_before_is_drawn_around_them(void **state)
{
	struct log_builder log;
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	python_log_call(&log, 10, 0x9000, STEP);
	python_log_call(&log, 12, 0x8000, FORWARD);
	add_launch(&log, 13, 1);
	python_log_call(&log, 16, 0x8000, 0);
	python_log_call(&log, 18, 0x9000, 0);
	python_log_call(&log, 40, 0x9000, STEP);
	log_end(&log, 50 * MS);
	model = model_of(&log);
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_PYTHON), 4);
	assert_function(&kept, 0, "main", 10, 18, 0, "snapshots");
	assert_function(&kept, 1, "step", 10, 18, 0, "calls");
	assert_function(&kept, 2, "forward", 12, 16, 2, "calls");
	assert_function(&kept, 3, "step", 40, 50, 0, "calls");
	assert_null(arg_of(nth(&kept, TIMELINE_PYTHON, 1), TIMELINE_ARG_END));
	assert_string_equal(arg_of(nth(&kept, TIMELINE_PYTHON, 3), TIMELINE_ARG_END)->text, "not seen");
	kept_free(&kept);
	model_free(model);
}

static void frames_that_were_left_out_are_a_slice_without_a_function(void **state)
{
	struct log_builder log;
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	log_stack_truncated(&log, PID, 4, 2,
			    (struct gpt_pyframe[]){{.code = FORWARD, .lasti = 4}, {.code = STEP, .lasti = 6}});
	add_launch(&log, 10, 4);
	log_end(&log, 50 * MS);
	model = model_of(&log);
	kept = keep(model, -1);
	assert_function(&kept, 0, "[frames left out]", 10, 10, 0, "snapshots");
	assert_function(&kept, 1, "step", 10, 10, 1, "snapshots");
	kept_free(&kept);
	model_free(model);
}

static void add_range(struct log_builder *log, uint16_t what, uint64_t ms, uint64_t id, const char *name)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = ms * MS, .id = id, .tid = PID, .what = what}, name,
			"");
}

static void pushed_ranges_nest_and_started_ones_have_rows(void **state)
{
	struct log_builder log;
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	log_process(&log, PID, 1, 5, 1, 0x30c, "python3", "", "", "");
	log_batch(&log, PID, PID, 49 * MS);
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 10, 0, "outer");
	add_range(&log, GPT_AGENT_RANGE_PUSHED, 11, 0, "inner");
	add_range(&log, GPT_AGENT_RANGE_MARK, 12, 0, "mark");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 13, 0, "");
	add_range(&log, GPT_AGENT_RANGE_POPPED, 14, 0, "");
	add_range(&log, GPT_AGENT_RANGE_STARTED, 20, 1, "first");
	add_range(&log, GPT_AGENT_RANGE_STARTED, 21, 2, "second");
	add_range(&log, GPT_AGENT_RANGE_ENDED, 22, 1, "");
	log_end(&log, 50 * MS);
	model = model_of(&log);
	kept = keep(model, -1);
	assert_int_equal(count_of_category(&kept, TIMELINE_RANGE), 4);
	assert_string_equal(nth(&kept, TIMELINE_RANGE, 1)->name, "inner");
	assert_int_equal(nth(&kept, TIMELINE_RANGE, 1)->track, nth(&kept, TIMELINE_RANGE, 0)->track);
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_RANGE, 0)->track), "thread 41230 NVTX");
	assert_int_equal(nth(&kept, TIMELINE_MARK, 0)->start_ns, 12 * MS);
	assert_int_equal(nth(&kept, TIMELINE_MARK, 0)->end_ns, 12 * MS);
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_RANGE, 2)->track), "thread 41230 NVTX started ranges");
	assert_string_equal(label_of(&kept, nth(&kept, TIMELINE_RANGE, 3)->track),
			    "thread 41230 NVTX started ranges (overlap 1)");
	assert_string_equal(arg_of(nth(&kept, TIMELINE_RANGE, 3), TIMELINE_ARG_END)->text, "not seen");
	kept_free(&kept);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_runs_while_its_caller_stays_on_the_line),
		cmocka_unit_test(an_inherited_stack_draws_no_function),
		cmocka_unit_test(traced_functions_are_exact_and_what_was_open_before_is_drawn_around_them),
		cmocka_unit_test(frames_that_were_left_out_are_a_slice_without_a_function),
		cmocka_unit_test(pushed_ranges_nest_and_started_ones_have_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
