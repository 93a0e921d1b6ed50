/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines that let a GPU idle, as rows; the last tests feed events one by one. */
#include "analyzed.h"
#include "analyze/why/idle_internal.h"
#include "idle_check.h"
#include "random_model.h"
#include "trace_cut.h"

static const struct idle_row *row_at(const struct analyses *all, enum why_cause cause, bool after)
{
	for (size_t i = 0; i < all->idle.count; i++)
		if (all->idle.rows[i].cause == cause && all->idle.rows[i].after == after)
			return &all->idle.rows[i];
	return NULL;
}

static const struct idle_row *row_of(const struct analyses *all, enum why_cause cause)
{
	return row_at(all, cause, false);
}

static uint64_t rows_ns(const struct idle *idle, enum why_cause cause)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < idle->count; i++)
		ns += idle->rows[i].cause == cause ? idle->rows[i].ns : 0;
	return ns;
}

static void a_gap_is_charged_to_the_late_launch_and_to_what_its_thread_waited_in(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	/*
	 * Between two steps the GPU idles for 660 us.  For 280 us of them the thread is still in cudaStreamSynchronize,
	 * for 40 us it collects garbage, and without the wait it would have been 320 us ahead.  In the last 16 us it
	 * has launched.
	 */
	analyze_model(&all, model, ANALYSES(ANALYZE_IDLE));
	assert_line(&all, row_of(&all, WHY_PYTHON)->line, "model.py:42 Block.forward");
	assert_int_equal(row_of(&all, WHY_PYTHON)->ns, 19 * 4000);
	assert_int_equal(row_of(&all, WHY_PYTHON)->count, 19);
	assert_line(&all, row_of(&all, WHY_SYNC)->line, "train.py:27 train_step");
	assert_line(&all, row_of(&all, WHY_SYNC)->launch_line, "model.py:42 Block.forward");
	assert_string_equal(api_name((uint16_t)row_of(&all, WHY_SYNC)->detail), "cudaStreamSynchronize");
	assert_int_equal(row_of(&all, WHY_SYNC)->ns, 19 * 280000);
	assert_line(&all, row_at(&all, WHY_SYNC, true)->line, "train.py:27 train_step");
	assert_int_equal(row_at(&all, WHY_SYNC, true)->ns, 19 * 320000);
	assert_int_equal(row_of(&all, WHY_GC)->ns, 19 * 40000);
	assert_int_equal(rows_ns(&all.idle, WHY_GPU), 20 * 50000 + 19 * 16000);
	analyses_free(&all);
	model_free(model);
}

static void time_outside_of_operations_follows_the_others_and_is_no_ones(void **state)
{
	struct model *model = sample_model(1, 2);
	uint64_t sum = 0;
	struct analyses all;

	analyze_model(&all, model, ANALYSES(ANALYZE_IDLE));
	assert_int_equal(all.idle.edges, 2);
	for (size_t i = 0; i < all.idle.count; i++) {
		assert_int_equal(idle_is_edge(all.idle.rows[i].cause), i + 2 >= all.idle.count);
		sum += idle_is_edge(all.idle.rows[i].cause) ? 0 : all.idle.rows[i].ns;
	}
	assert_int_equal(sum, all.idle.sum);
	assert_int_equal(row_of(&all, WHY_BEFORE)->ns, 1020000);
	assert_int_equal(row_of(&all, WHY_BEFORE)->line, NONE);
	assert_int_equal(row_of(&all, WHY_AFTER)->ns, 2 * SAMPLE_STEP - 360000);
	analyses_free(&all);
	model_free(model);
}

static void a_launch_that_was_not_seen_is_no_lines_time(void **state)
{
	struct model *model = sample_model(1, 2);
	struct analyses all;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].call = NONE;
	analyze_model(&all, model, ANALYSES(ANALYZE_IDLE));
	assert_null(row_of(&all, WHY_PYTHON));
	assert_null(row_of(&all, WHY_SYNC));
	assert_null(row_of(&all, WHY_GPU));
	assert_line(&all, row_of(&all, WHY_UNSEEN)->line, "(call not seen)");
	analyses_free(&all);
	model_free(model);
}

/* ---- every nanosecond once --------------------------------------------------------------------------------------- */

static int by_start(const void *left, const void *right)
{
	const struct model_gpu *a = left, *b = right;

	return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The time between a device's first and last operation that no operation covers, counted in the simplest way. */
static uint64_t idle_of_device(const struct model *model, uint32_t device)
{
	struct model_gpu *sorted = xmalloc(model->gpu_count * sizeof(*sorted));
	uint64_t idle_ns = 0, until_ns = 0;

	memcpy(sorted, model->gpu, model->gpu_count * sizeof(*sorted));
	qsort(sorted, model->gpu_count, sizeof(*sorted), by_start);
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &sorted[i];
		uint64_t start_ns = op->start_ns > model->start_ns ? op->start_ns : model->start_ns;

		if (op->device != device || !gpu_ns(op) || op->end_ns <= model->start_ns)
			continue;
		if (until_ns && start_ns > until_ns)
			idle_ns += start_ns - until_ns;
		if (op->end_ns > until_ns)
			until_ns = op->end_ns;
	}
	free(sorted);
	return idle_ns;
}

static uint64_t idle_of_all_devices(const struct model *model)
{
	uint64_t idle_ns = 0;

	for (uint32_t device = 0; device < 16; device++)
		idle_ns += idle_of_device(model, device);
	return idle_ns;
}

/*
 * Whether `why` has only time of gaps under this cause.  Under the others it adds copies and what other processes and
 * ranks keep GPUs from.
 */
static bool is_only_of_gaps(enum why_cause cause)
{
	return cause != WHY_COPY && cause != WHY_MANAGED && cause != WHY_PROCESS && cause != WHY_RANK;
}

static void assert_exact(const struct model *model, struct trace *trace)
{
	uint64_t sum = 0;
	struct analyses all;

	assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE), NULL), 0);
	for (enum why_cause cause = 0; cause < WHY_CAUSES; cause++) {
		sum += rows_ns(&all.idle, cause);
		if (is_only_of_gaps(cause))
			assert_int_equal(rows_ns(&all.idle, cause), all.why.sums[cause].ns);
	}
	assert_true(sum);
	assert_int_equal(sum, idle_of_all_devices(model));
	assert_int_equal(all.why.idle_ns, sum);
	analyses_free(&all);
}

static void rows_add_up_to_what_the_gpus_idled_and_why_has_the_same(void **state)
{
	for (uint64_t number = 1; number <= 60; number++) {
		struct model *model = random_model(number, number % 3 ? 150 : 1000);
		struct trace *cut = trace_cut_each(model, 40);

		model->end_ns = 0; /* the end of the last operation ends the window */
		assert_exact(model, WHOLE_TRACE(model));
		assert_exact(model, cut);
		trace_cut_free(cut);
		random_model_free(model);
	}
}

/* With and without a second GPU, samples and waits. */
static void no_call_is_charged_more_than_it_took_and_no_launch_what_came_after_it(void **state)
{
	for (uint64_t number = 1; number <= 120; number++) {
		struct model *model = random_model(number, number % 3 ? 150 : 1000);

		for (uint32_t i = 0; number % 2 && i < model->gpu_count; i++)
			model->gpu[i].device = 0;
		if (number % 4 < 2)
			model->sample_count = model->wait_count = 0;
		assert_string_equal(idle_check_model(model), "");
		random_model_free(model);
	}
}

/* Holds for any causes, wherever steps begin. */
static void idle_time_of_steps_and_outside_adds_up_to_the_rows_of_each_cause(void **state)
{
	const struct step_request bursts = {.source = STEP_BURST, .name = "2us", .gap_ns = 2000};
	uint64_t in_steps = 0;

	for (uint64_t number = 1; number <= 60; number++) {
		struct model *model = random_model(number, number % 3 ? 150 : 1000);
		struct trace *trace = WHOLE_TRACE(model);
		struct steps steps;
		struct analyses all;

		assert_int_equal(steps_find(&steps, trace, &bursts), 0);
		trace->steps = &steps;
		assert_int_equal(analyze(&all, trace, ANALYSES(ANALYZE_OPS, ANALYZE_STEPS, ANALYZE_IDLE), NULL), 0);
		for (enum why_cause cause = 0; all.idle.steps.sums && cause < WHY_CAUSES; cause++) {
			uint64_t ns = 0;

			for (uint32_t slot = 0; slot < STEP_SLOTS; slot++)
				ns += all.idle.steps.sums[slot][cause];
			assert_int_equal(ns, rows_ns(&all.idle, cause));
		}
		for (size_t i = 0; i < all.steps.list.count; i++)
			in_steps += idle_steps_all(&all.idle.steps, i).sum_ns;
		analyses_free(&all);
		steps_free(&steps);
		random_model_free(model);
	}
	assert_true(in_steps);
}

/* ---- events one by one ------------------------------------------------------------------------------------- */

static struct model_process process;
static struct model_thread thread;
static const struct model tables = {.processes = &process, .process_count = 1, .threads = &thread, .thread_count = 1};
static const struct window window = {.start_ns = 0, .end_ns = UINT64_MAX};
static void wait_in_call(struct idle *idle, uint64_t start_ns, uint64_t end_ns, uint64_t operations_from_ns)
{
	struct model_call call = {.start_ns = start_ns, .end_ns = end_ns, .stack = NONE, .class = GPT_CLASS_SYNC};

	idle_add_call(idle, &(struct call_event){
				    .call = &call, .caller = CALLER_UNSEEN, .operations_from_ns = operations_from_ns});
}

static void add_launch(struct idle *idle, const struct model_call *call)
{
	idle_add_call(idle, &(struct call_event){
				    .call = call, .caller = CALLER_UNSEEN, .operations_from_ns = call->start_ns});
}

static void add_kernel(struct idle *idle, const struct model_call *call, uint64_t start_ns, uint64_t end_ns,
		       uint32_t device)
{
	struct model_gpu op = {.start_ns = start_ns, .end_ns = end_ns, .device = device};

	idle_add_gpu(idle, &(struct gpu_event){.op = &op,
					       .launch = call,
					       .attributed = call,
					       .launch_caller = CALLER_UNSEEN,
					       .caller = CALLER_UNSEEN});
}

/* Feeds a launch and its kernel, with nothing between them. */
static void feed_run(struct idle *idle, uint64_t launch_ns, uint64_t start_ns, uint64_t end_ns, uint32_t device)
{
	struct model_call call = {.start_ns = launch_ns, .stack = NONE, .class = GPT_CLASS_LAUNCH};

	add_launch(idle, &call);
	add_kernel(idle, &call, start_ns, end_ns, device);
}

static uint64_t charged_to_waits(const struct idle *idle, bool after)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < idle->charges.count; i++) {
		struct idle_charge charge = idle_charge_made(idle, i);

		if (charge.what.part[1] == WHY_SYNC && charge.after == after)
			ns += charge.ns;
	}
	return ns;
}

static uint64_t waited_ns(const struct idle *idle)
{
	return charged_to_waits(idle, false);
}

static void waits_that_no_gap_can_reach_any_more_are_not_kept(void **state)
{
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	for (uint64_t i = 0, at = 1000000; i < 100000; i++, at += 100000) {
		feed_run(&idle, at, at + 10000, at + 20000, 0);
		wait_in_call(&idle, at + 1000, at + 90000, at + 100000);
	}
	assert_true(idle.threads.all[0]->activities.count < 200);
	assert_int_equal(waited_ns(&idle), 99999ull * 70000);
	idle_free(&idle);
}

static void waits_are_kept_as_long_as_a_device_has_been_idle(void **state)
{
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	feed_run(&idle, 1000000, 1000000, 1010000, 1);
	for (uint64_t i = 0, at = 2000000; i < 1000; i++, at += 100000) {
		feed_run(&idle, at, at + 10000, at + 20000, 0);
		wait_in_call(&idle, at + 1000, at + 90000, at + 100000);
	}
	assert_int_equal(waited_ns(&idle), 999ull * 70000);
	feed_run(&idle, 102000000, 102000000, 102010000, 1); /* counts all waits since the first kernel of device 1 */
	assert_int_equal(waited_ns(&idle), 999ull * 70000 + 1000ull * 89000);
	idle_free(&idle);
}

static void time_in_two_waits_at_once_is_charged_once(void **state)
{
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	feed_run(&idle, 1000000, 1000000, 1010000, 0);
	wait_in_call(&idle, 1020000, 1080000, 0);
	wait_in_call(&idle, 1030000, 1090000, 0);
	feed_run(&idle, 1100000, 1100000, 1110000, 0);
	assert_int_equal(waited_ns(&idle), 70000);
	idle_free(&idle);
}

static void a_wait_counts_for_a_later_gap_as_far_as_gpu_work_hid_it(void **state)
{
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	wait_in_call(&idle, 100000, 900000, 0); /* the GPU has no work yet */
	feed_run(&idle, 1000000, 1000000, 1010000, 0);
	feed_run(&idle, 1100000, 1100000, 1180000, 0);
	assert_int_equal(charged_to_waits(&idle, true), 0);
	wait_in_call(&idle, 1110000, 1170000, 0);
	feed_run(&idle, 1250000, 1250000, 1260000, 0);
	assert_int_equal(charged_to_waits(&idle, true), 60000);
	assert_int_equal(idle.sum, 90000 + 70000);
	idle_free(&idle);
}

static void a_wait_after_the_launch_is_the_launchs_time(void **state)
{
	const struct model_call call = {.start_ns = 1040000, .stack = NONE, .class = GPT_CLASS_LAUNCH};
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	feed_run(&idle, 1000000, 1000000, 1010000, 0);
	wait_in_call(&idle, 1020000, 1030000, 0);
	add_launch(&idle, &call);
	wait_in_call(&idle, 1050000, 1200000, 0);
	add_kernel(&idle, &call, 1100000, 1110000, 0);
	assert_int_equal(waited_ns(&idle), 10000);
	assert_int_equal(idle.sum, 90000);
	idle_free(&idle);
}

static void an_operation_may_come_before_the_call_that_launched_it(void **state)
{
	const struct model_call call = {.start_ns = 1101000, .stack = NONE, .class = GPT_CLASS_LAUNCH};
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	feed_run(&idle, 1000000, 1000000, 1010000, 0);
	wait_in_call(&idle, 1020000, 1080000, 0);
	add_kernel(&idle, &call, 1100000, 1110000, 0); /* too early by a clock error */
	add_launch(&idle, &call);
	assert_int_equal(waited_ns(&idle), 60000);
	assert_int_equal(idle.sum, 90000);
	idle_free(&idle);
}

static void a_thread_without_work_on_a_gpu_keeps_no_waits(void **state)
{
	struct idle idle;

	idle_init(&idle, &tables, &window, NULL, NULL);
	for (uint64_t i = 0; i < 10000; i++)
		wait_in_call(&idle, 1000 * i, 1000 * i + 900, UINT64_MAX);
	assert_true(idle.threads.all[0]->activities.count < 200);
	idle_free(&idle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_is_charged_to_the_late_launch_and_to_what_its_thread_waited_in),
		cmocka_unit_test(time_outside_of_operations_follows_the_others_and_is_no_ones),
		cmocka_unit_test(a_launch_that_was_not_seen_is_no_lines_time),
		cmocka_unit_test(rows_add_up_to_what_the_gpus_idled_and_why_has_the_same),
		cmocka_unit_test(no_call_is_charged_more_than_it_took_and_no_launch_what_came_after_it),
		cmocka_unit_test(idle_time_of_steps_and_outside_adds_up_to_the_rows_of_each_cause),
		cmocka_unit_test(waits_that_no_gap_can_reach_any_more_are_not_kept),
		cmocka_unit_test(waits_are_kept_as_long_as_a_device_has_been_idle),
		cmocka_unit_test(time_in_two_waits_at_once_is_charged_once),
		cmocka_unit_test(a_wait_counts_for_a_later_gap_as_far_as_gpu_work_hid_it),
		cmocka_unit_test(a_wait_after_the_launch_is_the_launchs_time),
		cmocka_unit_test(an_operation_may_come_before_the_call_that_launched_it),
		cmocka_unit_test(a_thread_without_work_on_a_gpu_keeps_no_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
