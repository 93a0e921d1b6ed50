/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collections and imports, and NVTX ranges, as rows; most tests feed events one by one. */
#include "model/range_name.h"
#include "analyzed.h"

static void collections_and_imports_have_the_gpu_time_that_they_cost(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_INTERPRETER));
	assert_int_equal(all.interpreter.rows.count, 2); /* an import inside another counts with it */
	assert_int_equal(all.interpreter.rows.items[0].kind, MODEL_SPAN_GC);
	assert_int_equal(all.interpreter.rows.items[0].generation, 1);
	assert_int_equal(all.interpreter.rows.items[0].ns, 20 * 40000);
	assert_int_equal(all.interpreter.rows.items[0].longest_ns, 40000);
	assert_int_equal(all.interpreter.rows.items[0].idle_ns, 20 * 40000);
	assert_string_equal(model->strings[all.interpreter.rows.items[1].name], "model");
	assert_int_equal(all.interpreter.rows.items[1].ns, 500000);
	assert_int_equal(all.interpreter.longest_ns, 500000);
	assert_true(all.interpreter.has_gpu);
	analyses_free(&all);
	model_free(model);
}

/* ---- events one by one ------------------------------------------------------------------------------------- */

static struct model_process processes[2];
static struct model_thread threads[2] = {{.process = 0, .ranges = 1}, {.process = 1, .ranges = 1}};
static const char *strings[] = {"mm, seq = 1", "step", "mm, seq = 2"};
static const struct model tables = {.processes = processes,
				    .process_count = 2,
				    .threads = threads,
				    .thread_count = 2,
				    .strings = strings,
				    .string_count = 3};
static struct interpreter interpreter;
static struct nvtx nvtx;

static int begin_test(void **state)
{
	interpreter_init(&interpreter, &tables);
	nvtx_init(&nvtx, &tables);
	return 0;
}

static int end_test(void **state)
{
	interpreter_free(&interpreter);
	nvtx_free(&nvtx);
	return 0;
}

static void feed_operation(uint64_t start_ns, uint64_t end_ns, uint32_t process)
{
	struct model_gpu op = {.start_ns = start_ns, .end_ns = end_ns, .process = process};

	interpreter_add_gpu(&interpreter, &(struct gpu_event){.op = &op});
}

static void feed_collection(uint64_t start_ns, uint64_t end_ns)
{
	struct model_span span = {.start_ns = start_ns, .end_ns = end_ns, .name = NONE, .kind = MODEL_SPAN_GC};

	interpreter_add_span(&interpreter, &(struct span_event){.span = &span, .process = 0});
}

static void the_gpu_idles_with_a_collection_as_far_as_nothing_of_its_process_runs(void **state)
{
	feed_operation(100, 200, 0);
	feed_operation(110, 120, 0); /* inside the one before */
	feed_collection(150, 300);
	feed_operation(240, 250, 0);
	feed_operation(245, 260, 0); /* overlaps the one before */
	feed_operation(270, 280, 1); /* another process */
	feed_operation(290, 400, 0);
	interpreter_finish(&interpreter);
	assert_int_equal(interpreter.rows.items[0].ns, 150);
	assert_int_equal(interpreter.rows.items[0].idle_ns, 150 - 50 - 20 - 10);
}

static void a_collection_during_an_operation_costs_the_gpu_nothing(void **state)
{
	feed_operation(100, 1000, 0);
	feed_collection(200, 300);
	feed_operation(1100, 1200, 0);
	assert_int_equal(interpreter.rows.items[0].idle_ns, 0);
}

static void an_operation_that_comes_late_takes_no_more_of_a_collection_than_its_part(void **state)
{
	feed_collection(200, 300);
	feed_operation(100, 250, 0);
	assert_int_equal(interpreter.rows.items[0].idle_ns, 50);
}

static void collections_that_are_over_are_not_kept(void **state)
{
	for (uint64_t i = 0; i < 10000; i++)
		feed_collection(100 * i, 100 * i + 50);
	assert_true(interpreter.processes[0].spans.count < 100);
	feed_operation(1000100, 1000200, 0);
	assert_int_equal(interpreter.processes[0].spans.count, 0);
	assert_int_equal(interpreter.rows.items[0].idle_ns, 10000 * 50);
}

static void open_range(uint32_t name, uint32_t thread, uint64_t start_ns, uint64_t end_ns)
{
	struct model_span range = {.start_ns = start_ns,
				   .end_ns = end_ns,
				   .thread = thread,
				   .name = name,
				   .domain = NONE,
				   .kind = MODEL_SPAN_PUSHED};

	nvtx_add_range(&nvtx, &(struct range_event){.range = &range});
}

static void feed_launch(uint32_t thread, uint64_t time_ns, uint64_t gpu_ns)
{
	struct model_call call = {.start_ns = time_ns, .thread = thread, .stack = NONE};

	nvtx_add_call(&nvtx,
		      &(struct call_event){
			      .call = &call, .process = threads[thread].process, .gpu_ns = gpu_ns, .gpu_count = 1});
}

static void a_range_has_the_work_that_its_thread_launched_while_it_was_open(void **state)
{
	open_range(1, 0, 100, 200);
	feed_launch(1, 110, 7); /* another thread */
	open_range(0, 0, 120, 130);
	feed_launch(0, 125, 5);
	feed_launch(0, 150, 3);
	feed_launch(0, 250, 1); /* after both ranges */
	nvtx_finish(&nvtx);
	assert_int_equal(nvtx.rows.count, 2);
	assert_int_equal(nvtx.rows.items[0].name, 1);
	assert_int_equal(nvtx.rows.items[0].ns, 8);
	assert_int_equal(nvtx.rows.items[0].count, 2);
	assert_int_equal(nvtx.rows.items[0].open_ns, 100);
	assert_int_equal(nvtx.rows.items[1].ns, 5);
	assert_int_equal(nvtx.covered_ns, 8);
}

static void names_that_pytorch_numbers_are_one_row_called_after_the_lowest_thread(void **state)
{
	open_range(2, 1, 10, 20);
	open_range(0, 0, 15, 25);
	feed_launch(0, 16, 4);
	nvtx_finish(&nvtx);
	assert_int_equal(nvtx.rows.count, 1);
	assert_int_equal(nvtx.rows.items[0].ranges, 2);
	assert_int_equal(nvtx.rows.items[0].name, 0);
	assert_int_equal(range_name_length(strings[0]), 2);
}

static void ranges_of_a_thread_without_calls_are_not_kept(void **state)
{
	for (uint64_t i = 0; i < 100000; i++)
		open_range(1, 0, 100 * i, 100 * i + 50);
	assert_true(nvtx.threads[0].begun.count < 200);
	open_range(1, 0, 10000000, 10000100);
	feed_launch(0, 10000050, 9);
	assert_int_equal(nvtx.rows.items[0].ranges, 100001);
	assert_int_equal(nvtx.rows.items[0].ns, 9);
}

static void of_more_open_ranges_than_are_followed_the_rest_is_counted(void **state)
{
	for (unsigned i = 0; i < NVTX_OPEN_MAX + 44; i++)
		open_range(1, 0, 10 + i, 100000);
	feed_launch(0, 5000, 9);
	assert_int_equal(nvtx.left_out, 44);
	assert_int_equal(nvtx.rows.items[0].ns, 9); /* counts once, however many ranges are open */
}

static void ranges_that_ended_before_a_call_are_not_among_those_left_out(void **state)
{
	for (unsigned i = 0; i < NVTX_OPEN_MAX; i++)
		open_range(1, 0, 10, 100000);
	for (unsigned i = 0; i < 50; i++)
		open_range(1, 0, 20 + i, 100);
	feed_launch(0, 5000, 9);
	assert_int_equal(nvtx.left_out, 0);
	assert_int_equal(nvtx.threads[0].open.count, NVTX_OPEN_MAX);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collections_and_imports_have_the_gpu_time_that_they_cost),
		TEST(the_gpu_idles_with_a_collection_as_far_as_nothing_of_its_process_runs),
		TEST(a_collection_during_an_operation_costs_the_gpu_nothing),
		TEST(an_operation_that_comes_late_takes_no_more_of_a_collection_than_its_part),
		TEST(collections_that_are_over_are_not_kept),
		TEST(a_range_has_the_work_that_its_thread_launched_while_it_was_open),
		TEST(names_that_pytorch_numbers_are_one_row_called_after_the_lowest_thread),
		TEST(ranges_of_a_thread_without_calls_are_not_kept),
		TEST(ranges_that_ended_before_a_call_are_not_among_those_left_out),
		TEST(of_more_open_ranges_than_are_followed_the_rest_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
