/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Kernels, memcpys and how busy GPUs were, as rows. */
#include "analyzed.h"

static void a_kernel_has_its_time_and_the_line_that_launches_most_of_it(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_KERNELS));
	assert_int_equal(all.kernels.ns, 20 * SAMPLE_GPU_NS_PER_STEP);
	assert_int_equal(all.kernels.count, 2);
	assert_string_equal(model->strings[all.kernels.rows[0].part[0]], "void gemm<128>(float const*, float*)");
	assert_int_equal(all.kernels.rows[0].ns, 20 * 190000);
	assert_int_equal(all.kernels.rows[0].count, 20 * 3);
	assert_line(&all, all.kernels.rows[0].line, "model.py:42 Block.forward");
	assert_line(&all, all.kernels.rows[1].line, "train.py:26 train_step");
	analyses_free(&all);
	model_free(model);
}

static void of_lines_with_equal_time_the_first_that_launched_a_kernel_is_named(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	for (uint32_t i = 0; i < model->gpu_count; i++) {
		model->gpu[i].kind = MODEL_KERNEL;
		model->gpu[i].label = model->gpu[0].label;
		model->gpu[i].end_ns = model->gpu[i].start_ns + 10;
	}
	model->gpu[1].end_ns += 20;
	model->gpu[2].end_ns += 20;
	model->gpu[3].call = model->gpu[4].call = model->gpu[5].call = NONE;
	analyze_model(&all, model, ANALYSES(ANALYZE_KERNELS));
	assert_int_equal(all.kernels.count, 1);
	assert_line(&all, all.kernels.rows[0].line, "train.py:24 train_step");
	analyses_free(&all);
	model_free(model);
}

static void memcpys_are_summed_by_direction_and_memsets_apart(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_MEMCPYS));
	assert_int_equal(all.memcpys.count, 2);
	assert_int_equal(all.memcpys.rows[0].kind, 1); /* host to device */
	assert_int_equal(all.memcpys.rows[0].bytes, 20 * 1000000);
	assert_int_equal(all.memcpys.rows[0].pageable_bytes, 20 * 1000000);
	assert_int_equal(all.memcpys.rows[0].ns, 20 * 50000);
	assert_int_equal(all.memcpys.rows[0].count, 20);
	assert_line(&all, all.memcpys.rows[0].line, "train.py:24 train_step");
	assert_int_equal(all.memcpys.rows[1].kind, MEMCPY_KIND_MEMSET);
	assert_int_equal(all.memcpys.rows[1].bytes, 20 * 65536);
	assert_int_equal(all.memcpys.rows[1].pageable_bytes, 0);
	analyses_free(&all);
	model_free(model);
}

/* Turns an operation of the sample run's step into a memcpy from that call; NONE: the call was not seen. */
static void make_memcpy(struct model *model, uint32_t index, uint64_t bytes, uint32_t call)
{
	model->gpu[index].kind = MODEL_MEMCPY;
	model->gpu[index].memcpy_kind = 8;
	model->gpu[index].bytes = bytes;
	model->gpu[index].call = call;
}

static void of_lines_with_equally_many_bytes_the_one_that_had_them_first_is_named(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].kind = MODEL_KERNEL;
	make_memcpy(model, 0, 10, 0); /* model.py:42 has 10 */
	make_memcpy(model, 1, 30, 1); /* train.py:24 has 30 */
	make_memcpy(model, 2, 20, 0); /* model.py:42 reaches 30 later */
	make_memcpy(model, 3, 0, 1);
	analyze_model(&all, model, ANALYSES(ANALYZE_MEMCPYS));
	assert_int_equal(all.memcpys.count, 1);
	assert_int_equal(all.memcpys.rows[0].count, 4);
	assert_line(&all, all.memcpys.rows[0].line, "train.py:24 train_step");
	analyses_free(&all);
	model_free(model);
}

static void memcpys_without_times_count_with_their_bytes_and_not_in_the_rate(void **state)
{
	struct model *model = sample_model(1, 2);
	struct analyses all;

	for (uint32_t i = 0, found = 0; i < model->gpu_count; i++)
		if (model->gpu[i].kind == MODEL_MEMCPY && !found++)
			model->gpu[i].end_ns = model->gpu[i].start_ns;
	analyze_model(&all, model, ANALYSES(ANALYZE_MEMCPYS));
	assert_int_equal(all.memcpys.rows[0].bytes, 2000000);
	assert_int_equal(all.memcpys.rows[0].timed_bytes, 1000000);
	assert_int_equal(all.memcpys.rows[0].ns, 50000);
	analyses_free(&all);
	model_free(model);
}

static void a_gpu_is_busy_once_where_operations_overlap(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_UTILIZATION));
	assert_int_equal(all.utilization.rows.count, 1);
	assert_int_equal(all.utilization.rows.items[0].busy_ns, 20 * 290000);
	assert_int_equal(all.utilization.rows.items[0].outside_ns, 0);
	assert_int_equal(all.utilization.rows.items[0].kernel_ns, 20 * 235000);
	assert_int_equal(all.utilization.rows.items[0].launches, 60);
	analyses_free(&all);
	model_free(model);
}

static void what_runs_outside_of_the_recording_makes_no_gpu_busy(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	model->start_ns = model->gpu[0].start_ns + 40000;
	model->end_ns = model->gpu[0].start_ns + 90000;
	analyze_model(&all, model, ANALYSES(ANALYZE_UTILIZATION));
	assert_int_equal(all.utilization.rows.items[0].busy_ns, 50000);
	assert_int_equal(all.utilization.rows.items[0].outside_ns, 290000 - 50000);
	analyses_free(&all);
	model_free(model);
}

static void gpus_are_in_the_order_of_their_numbers(void **state)
{
	struct model *model = sample_model(1, 1);
	struct analyses all;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].device = 10 - i;
	analyze_model(&all, model, ANALYSES(ANALYZE_UTILIZATION));
	assert_int_equal(all.utilization.rows.count, model->gpu_count);
	for (uint32_t i = 1; i < model->gpu_count; i++)
		assert_true(all.utilization.rows.items[i - 1].device < all.utilization.rows.items[i].device);
	analyses_free(&all);
	model_free(model);
}

static void threads_that_put_work_on_a_gpu_are_counted_once(void **state)
{
	struct model *model = sample_model(1, 5);
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_THREADS));
	assert_int_equal(all.threads.count, 2);
	analyses_free(&all);
	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].stack == NONE)
			model->calls[i].class = GPT_CLASS_SYNC;
	analyze_model(&all, model, ANALYSES(ANALYZE_THREADS));
	assert_int_equal(all.threads.count, 1);
	analyses_free(&all);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_has_its_time_and_the_line_that_launches_most_of_it),
		cmocka_unit_test(of_lines_with_equal_time_the_first_that_launched_a_kernel_is_named),
		cmocka_unit_test(memcpys_are_summed_by_direction_and_memsets_apart),
		cmocka_unit_test(of_lines_with_equally_many_bytes_the_one_that_had_them_first_is_named),
		cmocka_unit_test(memcpys_without_times_count_with_their_bytes_and_not_in_the_rate),
		cmocka_unit_test(a_gpu_is_busy_once_where_operations_overlap),
		cmocka_unit_test(what_runs_outside_of_the_recording_makes_no_gpu_busy),
		cmocka_unit_test(gpus_are_in_the_order_of_their_numbers),
		cmocka_unit_test(threads_that_put_work_on_a_gpu_are_counted_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
