/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two traces compared per step of training. */
#include <math.h>
#include <string.h>

#include "ops_log.h"

#include "analyze/analyze.h"
#include "analyze/steps/differences.h"
#include "analyze/sums/kernel_family.h"
#include "model/steps/steps.h"
#include "report/differences/differences.h"
#include "whole_trace.h"

#define STEP_US 100u
#define REPORTED_NS 900000000u /* the time at which the agent reports everything */
#define FORWARD 0x1000u
#define ADDED 0x2000u

enum { ADAM = 10, MM };

/* What the program looks like, and how long its work takes. */
struct program {
	uint32_t steps;
	uint32_t first_line; /* line of the function that launches */
	uint32_t gpu_us;     /* GPU time of each step */
	uint32_t jitter_us;  /* added in every second step */
	bool adds;	     /* a second function launches 10 us of work */
};

struct compared {
	struct model *model;
	struct trace_of_model of;
	struct steps steps;
	struct analyses all;
	struct per_step_tables tables;
};

static void put_op(struct ops_log *ops, uint32_t name, uint64_t start_us, uint64_t end_us)
{
	ops_log_op(ops, (struct gpt_agent_op){.start_ns = start_us,
					      .end_ns = end_us,
					      .name = name,
					      .sequence = -1,
					      .scope = name == ADAM ? GPT_AGENT_OP_USER_SCOPE : GPT_AGENT_OP_FUNCTION});
}

static void put_launch(struct ops_log *ops, uint64_t stack, uint64_t time_us, uint64_t gpu_us, uint32_t kernel)
{
	log_launch(&ops->log, PID, TID, time_us * 1000, stack, ++ops->corr);
	log_batch(&ops->log, PID, TID, REPORTED_NS);
	log_agent_kernel(&ops->log, (struct gpt_agent_kernel){.start_wall_ns = time_us * 1000 + 5000,
							      .end_wall_ns = (time_us + 5 + gpu_us) * 1000,
							      .corr = ops->corr,
							      .name = kernel});
}

/* Step 0 began before it was seen, so the program makes one step more than `steps`. */
static void run_program(struct compared *run, const struct program *program)
{
	struct ops_log ops = {0};
	uint64_t at_us = 100;

	log_begin(&ops.log, 10, 0);
	log_process(&ops.log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(&ops.log, PID, FORWARD, "forward", "/src/train.py", program->first_line);
	log_function(&ops.log, PID, ADDED, "added", "/src/train.py", 200);
	log_stack(&ops.log, PID, 1, 1, &(struct gpt_pyframe){.code = FORWARD, .lasti = 4});
	log_stack(&ops.log, PID, 2, 1, &(struct gpt_pyframe){.code = ADDED, .lasti = 2});
	log_batch(&ops.log, PID, TID, REPORTED_NS);
	log_agent_name(&ops.log, 1, "void gemm_128x64<float>(int)");
	log_agent_name(&ops.log, 2, "void gemm_64x64<float>(int)");
	log_agent_op_name(&ops.log, ADAM, "Optimizer.step#Adam.step");
	log_agent_op_name(&ops.log, MM, "aten::mm");
	for (uint32_t i = 0; i <= program->steps; i++) {
		log_batch(&ops.log, PID, TID, REPORTED_NS);
		put_op(&ops, MM, at_us + 5, at_us + 10);
		put_op(&ops, ADAM, at_us + STEP_US - 1, at_us + STEP_US);
		put_launch(&ops, 1, at_us + 6, program->gpu_us + (i % 2 ? program->jitter_us : 0), 1);
		if (program->adds)
			put_launch(&ops, 2, at_us + 40, 10, 2);
		at_us += STEP_US;
	}
	log_end(&ops.log, at_us * 1000);
	run->model = model_of(&ops.log);
	trace_of_model(&run->of, run->model);
	assert_int_equal(steps_find(&run->steps, &run->of.trace, &(struct step_request){0}), 0);
	run->of.trace.steps = program->steps ? &run->steps : NULL;
	assert_int_equal(analyze(&run->all, &run->of.trace, ANALYZE_PER_STEP_TABLES, NULL), 0);
	per_step_tables_make(&run->tables, &run->all);
}

static void end_run(struct compared *run)
{
	per_step_tables_free(&run->tables);
	analyses_free(&run->all);
	steps_free(&run->steps);
	model_free(run->model);
}

static void compare_programs(const struct program *before, const struct program *after,
			     void (*check)(const struct differences *all))
{
	struct compared runs[2];
	struct differences all;

	run_program(&runs[0], before);
	run_program(&runs[1], after);
	differences_make(&all, &runs[0].tables, &runs[1].tables);
	check(&all);
	differences_free(&all);
	end_run(&runs[0]);
	end_run(&runs[1]);
}

static void has_one_slower_line(const struct differences *all)
{
	const struct difference_row *row = &all->lines.list.items[0];

	assert_int_equal(all->before->steps, 100);
	assert_int_equal(all->lines.changed, 1);
	assert_int_equal(all->lines.list.count, 1);
	assert_string_equal(row->before->place, "train.py:12");
	assert_string_equal(row->after->place, "train.py:52");
	assert_true(fabs(row->cost.before - 20000) < 1);
	assert_true(fabs(row->cost.after - 30000) < 1);
	assert_true(fabs(row->count.before - 1) < 1e-9);
	assert_true(fabs(all->wall_ns.after - STEP_US * 1000) < 1);
}

static void a_line_that_moved_with_its_function_is_the_same_line(void **state)
{
	compare_programs(&(struct program){.steps = 100, .first_line = 10, .gpu_us = 20},
			 &(struct program){.steps = 100, .first_line = 50, .gpu_us = 30}, has_one_slower_line);
}

static void has_only_noise(const struct differences *all)
{
	assert_true(all->gpu_ns.after - all->gpu_ns.before > 0);
	assert_true(all->gpu_ns.noise > all->gpu_ns.after - all->gpu_ns.before);
	assert_int_equal(all->lines.changed, 0);
	assert_int_equal(all->lines.list.count, 1);
}

/* Every second of nine steps takes 10 us more: 20 or 30 us in one trace, 21 or 31 us in the other. */
static void less_than_what_steps_differ_by_is_noise(void **state)
{
	compare_programs(&(struct program){.steps = 9, .first_line = 10, .gpu_us = 20, .jitter_us = 10},
			 &(struct program){.steps = 9, .first_line = 10, .gpu_us = 21, .jitter_us = 10},
			 has_only_noise);
}

static void is_seen_among_many(const struct differences *all)
{
	assert_int_equal(all->lines.changed, 1);
	assert_true(all->gpu_ns.noise < 1000);
}

static void the_same_difference_is_seen_where_there_are_many_steps(void **state)
{
	compare_programs(&(struct program){.steps = 3000, .first_line = 10, .gpu_us = 20, .jitter_us = 10},
			 &(struct program){.steps = 3000, .first_line = 10, .gpu_us = 21, .jitter_us = 10},
			 is_seen_among_many);
}

static void has_a_new_line(const struct differences *all)
{
	assert_int_equal(all->lines.changed, 1);
	assert_null(all->lines.list.items[0].before);
	assert_string_equal(all->lines.list.items[0].after->place, "train.py:201");
	assert_true(isinf(difference_percent(&all->lines.list.items[0].cost)));
	assert_true(fabs(all->launches.after - 2) < 1e-9);
	/* another tile of the same kernel */
	assert_int_equal(all->kernels.list.count, 1);
	assert_string_equal(all->kernels.list.items[0].after->name, "gemm_#x#");
	assert_true(fabs(all->kernels.list.items[0].cost.after - 30000) < 1);
	assert_int_equal(all->ops.list.count, 2);
}

static void work_that_is_new_has_nothing_before(void **state)
{
	compare_programs(&(struct program){.steps = 20, .first_line = 10, .gpu_us = 20},
			 &(struct program){.steps = 20, .first_line = 10, .gpu_us = 20, .adds = true}, has_a_new_line);
}

static void is_of_all(const struct differences *all)
{
	assert_false(all->before->has_steps);
	assert_true(isnan(all->gpu_ns.noise));
	assert_true(difference_is_seen(&all->gpu_ns));
	assert_true(fabs(all->gpu_ns.before - 20000) < 1);
}

static void traces_without_steps_are_compared_whole_and_their_noise_is_not_known(void **state)
{
	compare_programs(&(struct program){.first_line = 10, .gpu_us = 20},
			 &(struct program){.first_line = 10, .gpu_us = 21}, is_of_all);
}

static void check_prints(const struct differences *all)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write_differences(
				 out, all,
				 &(struct differences_options){.before = {(const char *[]){"a.gpt"}, all->before, 1},
							       .after = {(const char *[]){"b.gpt"}, all->after, 1}}),
			 0);
	fclose(out);
	if (!strstr(text, "before: a.gpt, 2.0 ms, 20 steps\n"
			  "         20.0 us of GPU time are of no step\n"
			  "after:  b.gpt, 2.0 ms, 20 steps\n"
			  "         30.0 us of GPU time are of no step\n"
			  "\n"
			  "  a step                before  after  change            noise\n"
			  "  wall time, us          100.0  100.0       -         -    0.0\n"
			  "  median wall time, us   100.0  100.0       -         -    0.0\n"
			  "  GPU time, us            20.0   30.0   +10.0   +50.0 %    0.0\n"
			  "  median GPU time, us     20.0   30.0   +10.0   +50.0 %    0.0\n"
			  "  GPU idle, us            76.6   67.8    -8.8   -11.5 %    8.4\n"
			  "  launches                 1.0    2.0    +1.0  +100.0 %    0.0\n"
			  "  median step: GPU time +50.0 % (95 % interval +50.0 to +50.0 %)\n"
			  "\n"
			  "GPU time by line\n"))
		fail_msg("%s", text);
	assert_non_null(strstr(text, "train.py:201  added\n"));
	assert_non_null(strstr(text, "  1 did not change by more than the noise\n"));
	free(text);
}

static void the_report_has_the_step_and_what_changed(void **state)
{
	compare_programs(&(struct program){.steps = 20, .first_line = 10, .gpu_us = 20},
			 &(struct program){.steps = 20, .first_line = 10, .gpu_us = 20, .adds = true}, check_prints);
}

/* ---- medians ----------------------------------------------------------------------------------------------------- */

#define TRIALS 2000u

/* About normal: the sum of twelve uniform values; of a fixed sequence. */
static double next_normal(uint64_t *state)
{
	double sum = -6;

	for (int i = 0; i < 12; i++) {
		*state = *state * 6364136223846793005u + 1442695040888963407u;
		sum += (double)(*state >> 11) / (double)(1ull << 53);
	}
	return sum;
}

/* How often of TRIALS the interval of a median of so many steps, which are 100 in the median, has 100. */
static unsigned trials_with_the_truth(size_t steps, double slow_share)
{
	struct step_blocks_track track = {.count = steps, .blocks = steps};
	struct step_blocks all = {.count = (uint32_t)steps, .steps = steps};
	double values[STEP_BLOCKS];
	uint64_t state = steps;
	unsigned with = 0;

	array_push(&all.tracks, track);
	for (unsigned trial = 0; trial < TRIALS; trial++) {
		struct estimate found;

		for (size_t i = 0; i < steps; i++) {
			double apart = next_normal(&state);

			values[i] = 100 + (apart > 0 && fmod(apart * 1e4, 1) < slow_share ? 50 * apart : apart);
		}
		found = step_blocks_median(&all, values);
		with += fabs(found.mean - 100) <= estimate_noise_95(found.variance, found.weight);
	}
	array_free(&all.tracks);
	return with;
}

/* Steps that are slow beyond measure, as of a validation or a checkpoint, change nothing in it. */
static void the_interval_of_a_median_has_the_truth_in_95_of_100(void **state)
{
	for (size_t steps = MEDIAN_LEAST; steps <= STEP_BLOCKS; steps++) {
		assert_in_range(trials_with_the_truth(steps, 0), TRIALS * 92 / 100, TRIALS);
		assert_in_range(trials_with_the_truth(steps, 0.4), TRIALS * 92 / 100, TRIALS);
	}
	assert_in_range(trials_with_the_truth(40, 0), 0,
			TRIALS * 99 / 100); /* nor is it so wide that it says nothing */
}

static void of_few_steps_no_interval_is_known(void **state)
{
	struct step_blocks all = {.count = 5, .steps = 5};
	struct estimate found;

	array_push(&all.tracks, ((struct step_blocks_track){.count = 5, .blocks = 5}));
	found = step_blocks_median(&all, (double[]){5, 1, 900, 2, 3});
	assert_true(found.mean == 3 && isnan(found.variance));
	array_free(&all.tracks);
}

static void assert_family(const char *name, const char *expected)
{
	char *family = kernel_family(name);

	assert_string_equal(family, expected);
	free(family);
}

static void kernels_that_differ_in_types_and_tiles_are_a_family(void **state)
{
	assert_family("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float> >(int, float)",
		      "at::native::vectorized_elementwise_kernel");
	assert_family("void (anonymous namespace)::softmax<float>(float*)", "(anonymous namespace)::softmax");
	assert_family("ampere_sgemm_128x64_tn", "ampere_sgemm_#x#_tn");
	assert_family("triton_poi_fused_add_relu_3", "triton_poi_fused_add_relu_#");
	assert_family("gemm_60us", "gemm_60us");
	assert_family("<<<", "<<<");
	assert_family("", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_that_moved_with_its_function_is_the_same_line),
		cmocka_unit_test(less_than_what_steps_differ_by_is_noise),
		cmocka_unit_test(the_same_difference_is_seen_where_there_are_many_steps),
		cmocka_unit_test(work_that_is_new_has_nothing_before),
		cmocka_unit_test(traces_without_steps_are_compared_whole_and_their_noise_is_not_known),
		cmocka_unit_test(the_report_has_the_step_and_what_changed),
		cmocka_unit_test(the_interval_of_a_median_has_the_truth_in_95_of_100),
		cmocka_unit_test(of_few_steps_no_interval_is_known),
		cmocka_unit_test(kernels_that_differ_in_types_and_tiles_are_a_family),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
