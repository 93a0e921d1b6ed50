/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What makes a flight recorder write by itself is seen in agents' batches, however their records are ordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gputrace/agent.h>

#include "base/array.h"
#include "capture/trigger.h"
#include "log_builder.h"

#define PID 41230
#define MS 1000000ull
#define SECOND_NS 1000000000ull
#define IDLE_NS (200 * MS)

struct work {
	uint64_t start_ms, end_ms;
	uint32_t pid, device;
};

/* Begins a batch, which is not the first record; returns where it is. */
static size_t begin_batch(struct log_builder *log, uint32_t pid, uint64_t time_ns)
{
	size_t at;

	log_launch(log, pid, 9, time_ns, 0, 1);
	at = log->size;
	log_batch(log, pid, 9, time_ns);
	return at;
}

/* Shows the trigger a batch for each. */
static void show(struct trigger *trigger, const struct work *works, size_t count, uint64_t now_ns)
{
	for (size_t i = 0; i < count; i++) {
		struct log_builder batch = {0};
		size_t at = begin_batch(&batch, works[i].pid, now_ns);

		log_agent_kernel(&batch, (struct gpt_agent_kernel){.start_wall_ns = works[i].start_ms * MS,
								   .end_wall_ns = works[i].end_ms * MS,
								   .device = works[i].device});
		log_batch_end(&batch);
		trigger_see(trigger, (const struct gpt_record *)(batch.data + at), now_ns);
		log_free(&batch);
	}
}

#define SHOW(trigger, now_ns, ...)                                                                                     \
	show(trigger, (const struct work[]){__VA_ARGS__},                                                              \
	     sizeof((const struct work[]){__VA_ARGS__}) / sizeof(struct work), now_ns)

static struct trigger *idle_trigger(void)
{
	return trigger_new(&(struct trigger_options){.idle_ns = IDLE_NS});
}

static bool is_taken(struct trigger *trigger, uint64_t now_ns)
{
	struct trigger_event event;

	return trigger_take(trigger, now_ns, &event);
}

static void a_gap_counts_when_nothing_in_it_was_reported_for_a_second(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct trigger_event event;

	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {410, 420, PID, 0});
	assert_false(is_taken(trigger, SECOND_NS));
	assert_false(is_taken(trigger, 2 * SECOND_NS - 1));
	assert_true(trigger_take(trigger, 2 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 left GPU 0 without work for 0.300 s");
	assert_false(is_taken(trigger, 3 * SECOND_NS));
	trigger_free(trigger);
}

static void a_shorter_gap_does_not_count(void **state)
{
	struct trigger *trigger = idle_trigger();

	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {309, 320, PID, 0}, {330, 520, PID, 0}, {719, 720, PID, 0});
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

static void work_that_is_reported_later_fills_its_gap(void **state)
{
	struct trigger *trigger = idle_trigger();

	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {410, 420, PID, 0}, {250, 260, PID, 0});
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	SHOW(trigger, SECOND_NS, {1000, 1010, PID, 0}, {1005, 1600, PID, 0}); /* 420 to 1000 is one, and stays */
	assert_true(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

static void of_a_gap_the_longer_part_stays(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct trigger_event event;

	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {1110, 1120, PID, 0}, {310, 320, PID, 0}, {1100, 1110, PID, 0},
	     {90, 120, PID, 0}, {1321, 1322, PID, 0});
	assert_true(trigger_take(trigger, 9 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 left GPU 0 without work for 0.780 s");
	trigger_free(trigger);
}

static void gpus_and_processes_are_told_apart(void **state)
{
	struct trigger *trigger = idle_trigger();

	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {410, 420, PID, 1}, {410, 420, PID + 1, 0}, {300, 310, PID, 0});
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	SHOW(trigger, SECOND_NS, {620, 621, PID, 1});
	assert_true(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

/* More GPUs and gaps than are watched; times that make no sense. */
static void a_process_that_lies_costs_no_more_memory(void **state)
{
	struct trigger *trigger = idle_trigger();

	for (uint32_t i = 0; i < 10000; i++)
		SHOW(trigger, SECOND_NS, {1 + i * 1000ull, 2 + i * 1000ull, PID, i % 999}, {9, 3, PID, i},
		     {0, 0, PID, i}, {1ull << 40, 1ull << 41, PID, 7});
	for (unsigned i = 0; is_taken(trigger, 9 * SECOND_NS); i++)
		assert_true(i < 1000);
	trigger_free(trigger);
}

static void show_memory(struct trigger *trigger, uint8_t kind)
{
	struct gpt_agent_torch_memory memory = {
		.hdr = {.size = sizeof(memory), .type = GPT_AGENT_TORCH_MEMORY}, .kind = kind, .bytes = 4096};
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, 1);

	log_raw(&batch, &memory, sizeof(memory));
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
	log_free(&batch);
}

static void memory_that_runs_out_counts_at_once_if_it_is_wanted(void **state)
{
	struct trigger *idle = idle_trigger(), *trigger = trigger_new(&(struct trigger_options){.oom = true});
	struct trigger_event event;

	show_memory(trigger, GPT_AGENT_TORCH_MEMORY_ALLOCATED);
	assert_false(is_taken(trigger, 1));
	show_memory(trigger, GPT_AGENT_TORCH_MEMORY_OUT);
	show_memory(idle, GPT_AGENT_TORCH_MEMORY_OUT);
	assert_true(trigger_take(trigger, 1, &event));
	assert_string_equal(event.why, "pid 41230 had not enough memory for 4096 bytes of PyTorch's");
	assert_false(is_taken(trigger, 1));
	assert_false(is_taken(idle, 9 * SECOND_NS));
	SHOW(trigger, SECOND_NS, {100, 110, PID, 0}, {410, 420, PID, 0});
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
	trigger_free(idle);
}

/* ---- steps --------------------------------------------------------------------------------------------------------
 */

#define STEP 1
#define OPTIMIZER 2
#define OTHER 3

/* Names as PyTorch gives them; what they are called is all that the trigger knows of them. */
static struct trigger *named_trigger(const struct trigger_options *options)
{
	struct trigger *trigger = trigger_new(options);
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, 1);

	log_agent_op_name(&batch, STEP, "ProfilerStep#7");
	log_agent_op_name(&batch, OPTIMIZER, "Optimizer.step#SGD.step");
	log_agent_op_name(&batch, OTHER, "aten::mm");
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
	log_free(&batch);
	return trigger;
}

static struct trigger *step_trigger(uint64_t step_ns, unsigned percent)
{
	return named_trigger(&(struct trigger_options){.step_ns = step_ns, .step_percent = percent});
}

static void show_op(struct trigger *trigger, uint32_t tid, uint32_t name, uint64_t start_ms, uint64_t end_ms)
{
	struct gpt_agent_op op = {
		.start_ns = start_ms * MS, .end_ns = end_ms * MS, .tid = tid, .name = name, .sequence = -1};
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, 1);

	log_agent_op(&batch, &op);
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
	log_free(&batch);
}

static void a_step_of_the_profiler_lasts_as_long_as_its_op(void **state)
{
	struct trigger *trigger = step_trigger(100 * MS, 0);
	struct trigger_event event;

	assert_non_null(trigger_lacks(trigger));
	show_op(trigger, 9, OTHER, 0, 5000);
	assert_non_null(trigger_lacks(trigger));
	show_op(trigger, 9, STEP, 0, 100);
	assert_false(is_taken(trigger, 1));
	assert_null(trigger_lacks(trigger));
	show_op(trigger, 9, STEP, 100, 201);
	assert_true(trigger_take(trigger, 1, &event));
	assert_string_equal(event.why, "a step of pid 41230 took 0.101 s");
	assert_int_equal(event.to_ns, 1); /* no time from after now is believed */
	assert_false(is_taken(trigger, 1));
	trigger_free(trigger);
}

static void steps_are_counted_without_a_file_for_any(void **state)
{
	struct trigger *trigger = named_trigger(&(struct trigger_options){.counts_steps = true});
	struct trigger_steps steps = {0};

	assert_false(trigger_steps(trigger, &steps));
	show_op(trigger, 9, STEP, 0, 100);
	show_op(trigger, 8, STEP, 100, 350);
	show_op(trigger, 8, STEP, 0, 3600001); /* no step takes so long: a process may say anything */
	assert_true(trigger_steps(trigger, &steps));
	assert_int_equal(steps.count, 2);
	assert_int_equal(steps.sum_ns, 350 * MS);
	assert_int_equal(steps.ns[0], 100 * MS);
	assert_int_equal(steps.ns[1], 250 * MS);
	assert_false(trigger_steps(trigger, &steps));
	assert_false(is_taken(trigger, 1));
	for (unsigned i = 0; i < TRIGGER_STEPS_KEPT; i++)
		show_op(trigger, 9, STEP, 0, 1);
	assert_true(trigger_steps(trigger, &steps));
	assert_int_equal(steps.count, TRIGGER_STEPS_KEPT + 2);
	assert_true(every_of(TRIGGER_STEPS_KEPT, i, steps.ns[i] == MS));
	trigger_free(trigger);
}

static void a_step_of_an_optimizer_is_from_its_end_to_its_next_end(void **state)
{
	struct trigger *trigger = step_trigger(100 * MS, 0);
	struct trigger_event event;

	show_op(trigger, 9, OPTIMIZER, 4990, 5000); /* the start of its step is not known */
	show_op(trigger, 8, OPTIMIZER, 5290, 5300); /* nor of this one, on another thread */
	show_op(trigger, 9, OPTIMIZER, 5090, 5100);
	assert_false(is_taken(trigger, 1));
	show_op(trigger, 9, OPTIMIZER, 5300, 5310);
	assert_true(trigger_take(trigger, 6 * SECOND_NS, &event));
	assert_int_equal(event.from_ns, 5100 * MS);
	assert_int_equal(event.to_ns, 5310 * MS);
	assert_string_equal(event.why, "a step of pid 41230 took 0.210 s");
	trigger_free(trigger);
}

static void where_the_profiler_says_steps_an_optimizer_says_none(void **state)
{
	struct trigger *trigger = step_trigger(100 * MS, 0);

	for (uint64_t i = 0; i < 5; i++) {
		show_op(trigger, 9, OPTIMIZER, 300 * i + 80, 300 * i + 90);
		show_op(trigger, 9, STEP, 300 * i, 300 * i + 100);
		(void)(i ? is_taken(trigger, 1) : 0);
	}
	show_op(trigger, 9, OPTIMIZER, 5000, 5010);
	assert_false(is_taken(trigger, 1));
	trigger_free(trigger);
}

static void a_step_that_takes_more_than_its_part_of_the_median_counts(void **state)
{
	struct trigger *trigger = step_trigger(0, 150);
	struct trigger_event event;
	uint64_t at = 0;

	show_op(trigger, 9, STEP, 0, 5000); /* the median is not known yet */
	for (unsigned i = 0; i < 100; i++, at += 100)
		show_op(trigger, 9, STEP, at, at + (i % 3 ? 100 : 90));
	show_op(trigger, 9, STEP, at, at + 150);
	assert_false(is_taken(trigger, 1));
	show_op(trigger, 9, STEP, at, at + 151);
	assert_true(trigger_take(trigger, 1, &event));
	assert_string_equal(event.why, "a step of pid 41230 took 0.151 s, the median is 0.100 s");
	trigger_free(trigger);
}

/* The profiler of another process has a name for each of its steps. */
static void an_optimizer_is_known_however_many_steps_a_profiler_names(void **state)
{
	struct trigger *trigger = step_trigger(100 * MS, 0);
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, 1);

	log_agent_op_name(&batch, 5, "Optimizer.step#AdamW.step");
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
	log_free(&batch);
	for (uint32_t i = 0; i < 1000; i++) {
		at = begin_batch(&batch, PID + 1, 1);
		log_agent_op_name(&batch, 10 + i, "ProfilerStep#1");
		log_batch_end(&batch);
		trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
		log_free(&batch);
	}
	show_op(trigger, 9, 5, 0, 1);
	show_op(trigger, 9, 5, 10, 200);
	assert_true(is_taken(trigger, 1));
	trigger_free(trigger);
}

static void names_and_threads_beyond_the_tables_replace_old_ones(void **state)
{
	struct trigger *trigger = step_trigger(100 * MS, 0);

	for (uint32_t i = 0; i < 1000; i++) {
		struct log_builder batch = {0};
		size_t at = begin_batch(&batch, PID, 1);

		log_agent_op_name(&batch, 10 + i, "ProfilerStep#1");
		log_batch_end(&batch);
		trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 1);
		log_free(&batch);
		show_op(trigger, 100 + i, 10 + i, 0, 50);
	}
	assert_false(is_taken(trigger, 1));
	show_op(trigger, 5, 1009, 0, 500);
	assert_true(is_taken(trigger, 1));
	trigger_free(trigger);
}

/* Another profiler's buffers have CLOCK_MONOTONIC where an agent's have the wall clock. */
static void a_gap_in_foreign_buffers_is_at_its_time(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, SECOND_NS);
	struct trigger_event event;

	((struct gpt_agent_batch *)(batch.data + at))->hdr.flags = GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC;
	log_agent_kernel(&batch, (struct gpt_agent_kernel){.start_wall_ns = 5000 * MS, .end_wall_ns = 5100 * MS});
	log_agent_kernel(&batch, (struct gpt_agent_kernel){.start_wall_ns = 5400 * MS, .end_wall_ns = 5500 * MS});
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), 6 * SECOND_NS);
	log_free(&batch);
	/* The process's agent goes on, by the wall clock: that is no gap of years. */
	SHOW(trigger, 6 * SECOND_NS, {1700000000000, 1700000000010, PID, 0});
	assert_true(trigger_take(trigger, 8 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 left GPU 0 without work for 0.300 s");
	assert_int_equal(event.from_ns, 5100 * MS);
	assert_int_equal(event.to_ns, 5400 * MS);
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

/* A load of code by cuModuleLoadData, and what the driver compiled in it, in a batch of their own. */
static void show_load(struct trigger *trigger, uint32_t pid, uint64_t start_ns, uint64_t end_ns, uint64_t now_ns)
{
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, pid, now_ns);

	log_agent_api(&batch, (struct gpt_agent_api){
				      .start_ns = start_ns, .end_ns = end_ns, .api = GPT_API(GPT_DOMAIN_DRIVER, 19)});
	log_agent_api(&batch, (struct gpt_agent_api){.start_ns = end_ns,
						     .end_ns = end_ns + SECOND_NS,
						     .api = GPT_API(GPT_DOMAIN_RUNTIME, 211)}); /* a launch */
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), now_ns);
	log_free(&batch);
}

static void code_that_is_loaded_after_the_first_work_counts_once_it_is_over(void **state)
{
	struct trigger *trigger = trigger_new(&(struct trigger_options){.compile = true});
	struct trigger_event event;

	show_load(trigger, PID, 100 * MS, 200 * MS, SECOND_NS);
	assert_false(is_taken(trigger, 9 * SECOND_NS)); /* nothing waited for it */
	SHOW(trigger, SECOND_NS, {300, 310, PID, 0}, {5000, 5010, PID, 0});
	show_load(trigger, PID + 1, 400 * MS, 500 * MS, SECOND_NS);
	assert_false(is_taken(trigger, 9 * SECOND_NS)); /* neither a gap, nor another process */
	show_load(trigger, PID, 10000 * MS, 10100 * MS, 10 * SECOND_NS + 200 * MS);
	show_load(trigger, PID, 10500 * MS, 10600 * MS, 11 * SECOND_NS);
	assert_false(is_taken(trigger, 12 * SECOND_NS - 1));
	assert_true(trigger_take(trigger, 12 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 compiled or loaded code for a GPU, within 0.600 s");
	assert_int_equal(event.from_ns, 10000 * MS);
	assert_int_equal(event.to_ns, 10600 * MS);
	assert_false(is_taken(trigger, 20 * SECOND_NS));
	trigger_free(trigger);
}

static void compiling_that_does_not_end_counts_after_a_while(void **state)
{
	struct trigger *trigger = trigger_new(&(struct trigger_options){.compile = true});
	uint64_t now_ns = SECOND_NS;

	SHOW(trigger, SECOND_NS, {300, 310, PID, 0});
	for (; now_ns < SECOND_NS + TRIGGER_COMPILES_NS; now_ns += 500 * MS) {
		show_load(trigger, PID, now_ns - 10 * MS, now_ns, now_ns);
		assert_false(is_taken(trigger, now_ns));
	}
	assert_true(is_taken(trigger, now_ns));
	trigger_free(trigger);
}

static void code_that_was_loaded_before_work_that_was_reported_first_does_not_count(void **state)
{
	struct trigger *trigger = trigger_new(&(struct trigger_options){.compile = true});
	struct log_builder batch = {0};
	size_t at = begin_batch(&batch, PID, SECOND_NS);

	((struct gpt_agent_batch *)(batch.data + at))->hdr.flags = GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC;
	log_agent_kernel(&batch, (struct gpt_agent_kernel){.start_wall_ns = 500 * MS, .end_wall_ns = 510 * MS});
	log_batch_end(&batch);
	trigger_see(trigger, (const struct gpt_record *)(batch.data + at), SECOND_NS);
	log_free(&batch);
	show_load(trigger, PID, 100 * MS, 200 * MS, SECOND_NS);
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	show_load(trigger, PID, 600 * MS, 700 * MS, SECOND_NS);
	assert_true(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

/* The driver's times are CUPTI's, by the wall clock; what it takes from its cache is not compiled. */
static void what_the_driver_compiles_counts_and_its_cache_does_not(void **state)
{
	for (int compiles = 0; compiles < 2; compiles++) {
		struct trigger *trigger = trigger_new(&(struct trigger_options){.compile = true});
		struct log_builder batch = {0};
		size_t at = begin_batch(&batch, PID, SECOND_NS);

		((struct gpt_agent_batch *)(batch.data + at))->hdr.flags = GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC;
		log_agent_kernel(&batch, (struct gpt_agent_kernel){.start_wall_ns = 100 * MS, .end_wall_ns = 110 * MS});
		log_agent_jit(&batch, (struct gpt_agent_jit){.start_wall_ns = 200 * MS,
							     .end_wall_ns = 500 * MS,
							     .operation = compiles ? GPT_AGENT_JIT_COMPILE
										   : GPT_AGENT_JIT_CACHE_LOAD});
		log_batch_end(&batch);
		trigger_see(trigger, (const struct gpt_record *)(batch.data + at), SECOND_NS);
		log_free(&batch);
		assert_int_equal(is_taken(trigger, 3 * SECOND_NS), compiles);
		trigger_free(trigger);
	}
}

static void damaged_batches_are_left_out(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct gpt_agent_batch batch = {.hdr = {.size = sizeof(batch) - 8, .type = GPT_AGENT_BATCH}, .bytes = 4096};
	struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}};

	trigger_see(trigger, &batch.hdr, 1);
	trigger_see(trigger, &call.hdr, 1);
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_counts_when_nothing_in_it_was_reported_for_a_second),
		cmocka_unit_test(a_shorter_gap_does_not_count),
		cmocka_unit_test(work_that_is_reported_later_fills_its_gap),
		cmocka_unit_test(of_a_gap_the_longer_part_stays),
		cmocka_unit_test(gpus_and_processes_are_told_apart),
		cmocka_unit_test(a_process_that_lies_costs_no_more_memory),
		cmocka_unit_test(memory_that_runs_out_counts_at_once_if_it_is_wanted),
		cmocka_unit_test(a_step_of_the_profiler_lasts_as_long_as_its_op),
		cmocka_unit_test(steps_are_counted_without_a_file_for_any),
		cmocka_unit_test(a_step_of_an_optimizer_is_from_its_end_to_its_next_end),
		cmocka_unit_test(where_the_profiler_says_steps_an_optimizer_says_none),
		cmocka_unit_test(a_step_that_takes_more_than_its_part_of_the_median_counts),
		cmocka_unit_test(an_optimizer_is_known_however_many_steps_a_profiler_names),
		cmocka_unit_test(names_and_threads_beyond_the_tables_replace_old_ones),
		cmocka_unit_test(a_gap_in_foreign_buffers_is_at_its_time),
		cmocka_unit_test(code_that_is_loaded_after_the_first_work_counts_once_it_is_over),
		cmocka_unit_test(code_that_was_loaded_before_work_that_was_reported_first_does_not_count),
		cmocka_unit_test(compiling_that_does_not_end_counts_after_a_while),
		cmocka_unit_test(what_the_driver_compiles_counts_and_its_cache_does_not),
		cmocka_unit_test(damaged_batches_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
