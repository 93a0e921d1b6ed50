/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which steps of training are recorded, with the test's own libtorch_cpu: how they are counted and reported, and what
 * is observed in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/torch/observer.h"
#include "agent/torch/ops.h"
#include "agent/torch/schedule.h"
#include "agent_points.h"
#include "fake_torch.h"

static void *library;
static const struct fake_torch *torch;

static void set_schedule(const struct gpt_schedule *schedule)
{
	const uint32_t *field = &schedule->skip_first;
	unsigned short *bit = gputrace_agent_schedule_semaphores;

	for (unsigned i = 0; i < GPT_SCHEDULE_FIELDS; i++)
		for (unsigned j = 0; j < gpt_schedule_field_bits(i); j++)
			*bit++ = field[i] >> j & 1;
	gputrace_agent_schedule_semaphores[GPT_SCHEDULE_BEGUN] = schedule->active != 0;
}

static void start_observing(struct gpt_schedule schedule)
{
	set_schedule(&schedule);
	gputrace_agent_ops_semaphore = 1;
	ops_start();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
}

static void stop_listening(void)
{
	gputrace_agent_ops_semaphore = 0;
	UNTIL(ops_are(GPT_AGENT_OPS_STOPPED));
}

static int begin_test(void **state)
{
	char here[4096], path[5000];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	assert_true(length > 0);
	here[length] = '\0';
	*strrchr(here, '/') = '\0';
	snprintf(path, sizeof(path), "%s/fake_torch_2.14/libtorch_cpu.so", here);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	assert_non_null(library);
	torch = dlsym(library, "fake_torch");
	said.bytes = 0;
	return 0;
}

static int end_test(void **state)
{
	gputrace_agent_restart_semaphore = 0;
	if (gputrace_agent_ops_semaphore)
		stop_listening();
	set_schedule(&(struct gpt_schedule){0});
	dlclose(library);
	return 0;
}

static void run_op(const char *name, uint8_t scope)
{
	struct fake_op op;

	torch->begin(&op, name, scope, -1, 0);
	torch->finish(&op);
}

/* One iteration of training: an op, and the optimizer after it. */
static void run_iteration(const char *op)
{
	run_op(op, GPT_AGENT_OP_FUNCTION);
	run_op("Optimizer.step#SGD.step", GPT_AGENT_OP_USER_SCOPE);
}

/* The names of all reported ops, one after another. */
static const char *ops_reported(void)
{
	static char text[1024];
	const struct gpt_agent_op *op;
	const struct gpt_agent_name *name;

	text[0] = '\0';
	for (unsigned n = 0; (op = said_record(GPT_AGENT_OP, n)); n++)
		for (unsigned k = 0; (name = said_record(GPT_AGENT_NAME, k)); k++)
			if (name->id == op->name)
				snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.*s", *text ? " " : "",
					 (int)name->bytes, name->text);
	return text;
}

/* The reported steps: number, phase and cycle. */
static const char *steps_reported(void)
{
	static const char phases[] = {'-', 'w', 'a', '.'};
	static char text[1024];
	const struct gpt_agent_step *step;

	text[0] = '\0';
	for (unsigned n = 0; (step = said_record(GPT_AGENT_STEP, n)); n++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u%c%u", n ? " " : "",
			 (unsigned)step->number, phases[step->phase], step->cycle);
	return text;
}

/* ---- */

static void steps_are_counted_as_torch_profiler_schedule_counts(void **state)
{
	/* what torch.profiler.schedule of PyTorch 2.15 gives, from step 0 on */
	static const struct {
		struct gpt_schedule schedule;
		const char *phases;
	} rows[] = {
		{{.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 2}, "---waa-waa......"},
		{{.active = 1}, "aaaaaaaaaaaaaaaa"},
		{{.wait = 2, .active = 2}, "--aa--aa--aa--aa"},
		{{.skip_first = 3, .wait = 2, .warmup = 1, .active = 1, .repeat = 2, .skip_first_wait = 1},
		 "---wa--wa......."},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char phases[17] = "";
		uint32_t cycle;

		for (unsigned step = 0; step < 16; step++)
			phases[step] = "-wa."[gpt_schedule_phase(&rows[i].schedule, step, &cycle)];
		assert_string_equal(phases, rows[i].phases);
	}
}

static void only_ops_of_warm_up_and_active_steps_are_reported(void **state)
{
	start_observing((struct gpt_schedule){.wait = 1, .warmup = 1, .active = 1, .repeat = 2});
	for (int i = 0; i < 8; i++)
		run_iteration((const char *[]){"0", "1", "2", "3", "4", "5", "6", "7"}[i]);
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1w0 2a0 3-1 4w1 5a1 6.0");
	assert_string_equal(ops_reported(),
			    "1 Optimizer.step#SGD.step 2 Optimizer.step#SGD.step 4 Optimizer.step#SGD.step "
			    "5 Optimizer.step#SGD.step");
}

static void between_the_cycles_only_named_ranges_are_seen_and_after_them_nothing(void **state)
{
	struct fake_op op;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .repeat = 1});
	torch->begin(&op, "aten::add", GPT_AGENT_OP_FUNCTION, -1, 0);
	assert_null(op.end);
	torch->finish(&op);
	assert_true(schedule_rests());
	run_iteration("0");
	assert_false(schedule_rests());
	torch->begin(&op, "aten::add", GPT_AGENT_OP_FUNCTION, -1, 0);
	assert_non_null(op.end);
	torch->finish(&op);
	run_iteration("1");
	assert_true(schedule_rests());
	assert_int_equal(torch->callbacks(), 0);
}

static void the_op_that_begins_a_step_is_the_first_of_it(void **state)
{
	struct fake_op step;
	const struct gpt_agent_op *op;
	const struct gpt_agent_step *reported;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .repeat = 1});
	for (int i = 0; i < 3; i++) {
		torch->begin(&step, (const char *[]){"ProfilerStep#7", "ProfilerStep#8", "ProfilerStep#9"}[i],
			     GPT_AGENT_OP_USER_SCOPE, -1, 0);
		run_iteration("aten::add");
		torch->finish(&step);
	}
	stop_listening();
	assert_string_equal(steps_reported(), "7-0 8a0 9.0");
	assert_string_equal(ops_reported(), "aten::add Optimizer.step#SGD.step ProfilerStep#8");
	op = said_record(GPT_AGENT_OP, 2);
	reported = said_record(GPT_AGENT_STEP, 1);
	assert_true(reported->time_ns <= op->start_ns);
	assert_int_equal(reported->by, GPT_STEP_BY_PROFILER);
}

static void a_range_of_the_name_begins_a_step(void **state)
{
	struct fake_op outer, inner;

	start_observing((struct gpt_schedule){
		.wait = 1, .active = 1, .by = GPT_STEP_BY_RANGE, .name = gpt_schedule_hash("batch")});
	for (int i = 0; i < 3; i++) {
		torch->begin(&outer, "batch", GPT_AGENT_OP_USER_SCOPE, -1, 0);
		torch->begin(&inner, "batch", GPT_AGENT_OP_USER_SCOPE, -1, 0); /* inside a step it begins none */
		torch->finish(&inner);
		torch->finish(&outer);
		run_iteration("aten::add");
	}
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0 2-1");
}

/* As CUPTI's callbacks do it. */
static void call_capture(bool starts)
{
	if (schedule_capture(starts, 7))
		observer_follow_schedule();
}

static const struct gpt_schedule captures = {.wait = 1, .active = 1, .skip_first_wait = 1, .by = GPT_STEP_BY_CAPTURE};

static void what_lies_between_start_and_stop_of_the_profiler_is_recorded(void **state)
{
	start_observing(captures);
	run_iteration("before");
	call_capture(false); /* ends nothing */
	for (int i = 0; i < 2; i++) {
		call_capture(true);
		call_capture(true); /* the driver's call inside the runtime's */
		run_op(i ? "second" : "first", GPT_AGENT_OP_FUNCTION);
		call_capture(false);
		call_capture(false);
		run_iteration("outside");
	}
	stop_listening();
	assert_string_equal(steps_reported(), "0a0 0-1 1a1 1-2");
	assert_string_equal(ops_reported(), "first second");
}

static void a_range_that_begins_before_the_session_says_that_its_first_launches_are_missing(void **state)
{
	const struct gpt_agent_step *step;

	set_schedule(&captures);
	call_capture(true); /* waits for a session in vain */
	start_observing(captures);
	run_op("first", GPT_AGENT_OP_FUNCTION);
	call_capture(false);
	stop_listening();
	assert_string_equal(steps_reported(), "0a0 0-1");
	step = said_record(GPT_AGENT_STEP, 0);
	assert_int_equal(step->late, 1);
}

static void after_as_many_ranges_as_are_wanted_it_is_over(void **state)
{
	struct gpt_schedule one = captures;

	one.repeat = 1;
	start_observing(one);
	call_capture(true);
	run_op("first", GPT_AGENT_OP_FUNCTION);
	call_capture(false);
	call_capture(true);
	run_op("second", GPT_AGENT_OP_FUNCTION);
	stop_listening();
	assert_string_equal(steps_reported(), "0a0 0.0 1.0");
	assert_string_equal(ops_reported(), "first");
}

/* Runs steps of about a millisecond until the last one of `windows` has begun; returns how many began. */
static unsigned run_windows(uint32_t windows)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	const struct gpt_agent_step *step;
	unsigned count = 0;

	do {
		run_iteration("aten::add");
		nanosleep(&pause, NULL);
		for (; said_record(GPT_AGENT_STEP, count); count++)
			step = said_record(GPT_AGENT_STEP, count);
	} while (!count || step->cycle < windows);
	return count;
}

static void of_two_windows_one_is_recorded_from_its_first_step_on(void **state)
{
	struct gpt_schedule schedule = {.active = 1, .windows_ms = 100, .listener = 0x003ff};
	const struct gpt_agent_step *first, *step, *before = NULL;
	unsigned count, recorded = 0;

	start_observing(schedule);
	count = run_windows(4);
	stop_listening();
	first = said_record(GPT_AGENT_STEP, 0);
	for (unsigned i = 0; i < count; i++, before = step) {
		uint64_t window = gpt_schedule_window(&schedule, first->time_ns) - first->cycle;
		bool begins;

		step = said_record(GPT_AGENT_STEP, i);
		begins = !before || before->cycle != step->cycle;
		assert_int_equal(step->phase, !gpt_schedule_records_window(&schedule, window + step->cycle)
						      ? GPT_STEP_WAITING
					      : begins ? GPT_STEP_WARMUP
						       : GPT_STEP_ACTIVE);
		recorded += step->phase != GPT_STEP_WAITING;
	}
	assert_true(recorded && recorded < count);
	assert_int_equal(((const struct gpt_agent_schedule *)said_record(GPT_AGENT_SCHEDULE, 0))->windows_ms, 100);
}

static void *train_elsewhere(void *unused)
{
	run_iteration("elsewhere");
	return unused;
}

static void steps_are_those_of_one_thread_and_one_optimizer(void **state)
{
	pthread_t thread;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1});
	run_iteration("0");
	pthread_create(&thread, NULL, train_elsewhere, NULL);
	pthread_join(thread, NULL);
	run_op("Optimizer.step#Adam.step", GPT_AGENT_OP_USER_SCOPE);
	run_iteration("1");
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0 2-1");
}

static void the_first_step_can_be_recorded_from_the_begin_on(void **state)
{
	start_observing((struct gpt_schedule){.active = 1, .repeat = 1});
	run_iteration("0");
	run_iteration("1");
	stop_listening();
	assert_string_equal(ops_reported(), "0 Optimizer.step#SGD.step");
	assert_string_equal(steps_reported(), "0a0 1.0");
}

static void who_comes_without_a_schedule_has_everything_recorded(void **state)
{
	const struct gpt_agent_schedule *reported;

	start_observing((struct gpt_schedule){.wait = 100, .active = 1});
	run_iteration("0");
	gputrace_agent_restart_semaphore = 1;
	UNTIL((reported = said_record(GPT_AGENT_SCHEDULE, 1)) && reported->shared);
	run_iteration("1");
	stop_listening();
	assert_string_equal(ops_reported(), "1 Optimizer.step#SGD.step");
	assert_string_equal(steps_reported(), "0-0 1-0 2-0");
}

/* A backward pass as a detour of backward_passes.c sees it; ends: whether the detour sees its end. */
static bool run_backward(bool ends)
{
	static uint64_t last;
	volatile uint64_t mark = ++last;
	bool changed = schedule_pass_begins(&mark, (uint32_t)gettid());

	run_op("aten::mm", GPT_AGENT_OP_FUNCTION);
	if (ends)
		changed |= schedule_pass_ends(&mark, (uint32_t)gettid());
	if (changed)
		observer_follow_schedule();
	mark = 0;
	return changed;
}

static void the_end_of_a_backward_pass_begins_a_step(void **state)
{
	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .repeat = 1, .by = GPT_STEP_BY_BACKWARD});
	assert_int_equal(torch->callbacks(), 0); /* steps do not come from ops */
	run_backward(true);
	run_iteration("1");
	run_backward(true);
	run_iteration("2");
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0 2.0");
	assert_string_equal(ops_reported(), "1 Optimizer.step#SGD.step aten::mm");
}

static void a_pass_inside_of_one_begins_no_step(void **state)
{
	volatile uint64_t outer = 1000, inner = 1001;
	const volatile uint64_t *low = &outer < &inner ? &outer : &inner, *high = low == &outer ? &inner : &outer;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .by = GPT_STEP_BY_BACKWARD});
	schedule_pass_begins(high, (uint32_t)gettid());
	schedule_pass_begins(low, (uint32_t)gettid());
	schedule_pass_ends(low, (uint32_t)gettid());
	schedule_pass_ends(high, (uint32_t)gettid());
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0");
}

#define STACK_BYTES (256u << 10)
#define REUSED_TID 4711u

/* A pass on a thread that ends in the middle of it.  All such threads have the same id. */
static void *begin_pass(void *unused)
{
	volatile uint64_t mark = 1;

	schedule_pass_begins(&mark, REUSED_TID);
	return NULL;
}

static void run_on(void *stack)
{
	pthread_attr_t attributes;
	pthread_t thread;

	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK_BYTES), 0);
	assert_int_equal(pthread_create(&thread, &attributes, begin_pass, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
}

static void the_stack_of_a_thread_that_has_ended_is_not_read_for_another_with_its_id(void **state)
{
	char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(stacks, MAP_FAILED);
	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .by = GPT_STEP_BY_BACKWARD});
	run_on(stacks + STACK_BYTES);
	munmap(stacks + STACK_BYTES, STACK_BYTES);
	run_on(stacks); /* below the first one, where a pass inside that one would be */
	munmap(stacks, STACK_BYTES);
	stop_listening();
}

static void a_pass_that_ends_with_an_exception_begins_no_step_and_hides_none(void **state)
{
	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .by = GPT_STEP_BY_BACKWARD});
	run_backward(false);
	run_backward(true);
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0");
}

static void nothing_is_late_where_no_cupti_is_waited_for(void **state)
{
	const struct gpt_agent_step *step;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1});
	run_iteration("0");
	stop_listening();
	step = said_record(GPT_AGENT_STEP, 1);
	assert_int_equal(step->phase, GPT_STEP_ACTIVE);
	assert_int_equal(step->late, 0);
}

static void follow_resting(bool rests)
{
	uint32_t turn;

	schedule_cupti_rests(&turn);
	schedule_cupti_follows(rests, turn);
}

static void no_wake(void)
{
}

static void follow_at_once(void)
{
	uint32_t turn;
	bool rests = schedule_cupti_rests(&turn);

	schedule_cupti_follows(rests, turn);
}

static void an_active_step_that_begins_before_cupti_records_says_so(void **state)
{
	const struct gpt_agent_step *step;

	start_observing((struct gpt_schedule){.wait = 1, .active = 1});
	schedule_watch_cupti(no_wake);
	follow_resting(true); /* CUPTI rests, and keeps resting */
	run_iteration("0");
	schedule_watch_cupti(follow_at_once);
	run_iteration("1");
	run_iteration("2");
	schedule_watch_cupti(NULL);
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0 2-1 3a1");
	step = said_record(GPT_AGENT_STEP, 1);
	assert_int_equal(step->late, 1);
	step = said_record(GPT_AGENT_STEP, 3);
	assert_int_equal(step->late, 0);
}

static void the_schedule_is_reported_as_it_was_understood(void **state)
{
	const struct gpt_agent_schedule *reported;

	start_observing((struct gpt_schedule){.skip_first = 65535,
					      .wait = 1,
					      .warmup = 40000,
					      .active = 3,
					      .repeat = 5,
					      .skip_first_wait = 1,
					      .by = GPT_STEP_BY_BACKWARD,
					      .name = 0xdeadbeef});
	stop_listening();
	reported = said_record(GPT_AGENT_SCHEDULE, 0);
	assert_non_null(reported);
	assert_int_equal(reported->skip_first, 65535);
	assert_int_equal(reported->wait, 1);
	assert_int_equal(reported->warmup, 40000);
	assert_int_equal(reported->active, 3);
	assert_int_equal(reported->repeat, 5);
	assert_int_equal(reported->skip_first_wait, 1);
	assert_int_equal(reported->by, GPT_STEP_BY_BACKWARD);
	assert_int_equal(reported->shared, 0);
}

static void who_comes_when_another_has_left_has_the_schedule_that_it_asks_for(void **state)
{
	start_observing((struct gpt_schedule){.active = 2, .repeat = 1, .listener = 0x003ff});
	run_iteration("0");
	run_iteration("1");
	run_iteration("2");
	UNTIL(said_record(GPT_AGENT_STEP, 2));
	/* the count of listeners is never seen to fall */
	set_schedule(&(struct gpt_schedule){.wait = 1, .active = 1, .repeat = 1, .listener = 0xffc00});
	UNTIL(said_record(GPT_AGENT_SCHEDULE, 1));
	run_iteration("3");
	run_iteration("4");
	run_iteration("5");
	stop_listening();
	assert_string_equal(steps_reported(), "0a0 1a0 2.0 0-0 1a0 2.0");
	assert_string_equal(ops_reported(), "0 Optimizer.step#SGD.step 1 Optimizer.step#SGD.step "
					    "4 Optimizer.step#SGD.step");
}

static void no_step_is_counted_before_the_recording_begins(void **state)
{
	start_observing((struct gpt_schedule){.wait = 1, .active = 1, .repeat = 1});
	gputrace_agent_schedule_semaphores[GPT_SCHEDULE_BEGUN] = 0;
	stop_listening();
	said.bytes = 0;
	gputrace_agent_ops_semaphore = 1;
	ops_start();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
	run_iteration("before");
	run_iteration("before");
	gputrace_agent_schedule_semaphores[GPT_SCHEDULE_BEGUN] = 1;
	run_iteration("0");
	run_iteration("1");
	run_iteration("2");
	stop_listening();
	assert_string_equal(steps_reported(), "0-0 1a0 2.0");
	assert_string_equal(ops_reported(), "1 Optimizer.step#SGD.step");
}

#define WITH_TORCH(test) cmocka_unit_test_setup_teardown(test, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_counted_as_torch_profiler_schedule_counts),
		WITH_TORCH(only_ops_of_warm_up_and_active_steps_are_reported),
		WITH_TORCH(between_the_cycles_only_named_ranges_are_seen_and_after_them_nothing),
		WITH_TORCH(the_op_that_begins_a_step_is_the_first_of_it),
		WITH_TORCH(a_range_of_the_name_begins_a_step),
		WITH_TORCH(what_lies_between_start_and_stop_of_the_profiler_is_recorded),
		WITH_TORCH(after_as_many_ranges_as_are_wanted_it_is_over),
		WITH_TORCH(a_range_that_begins_before_the_session_says_that_its_first_launches_are_missing),
		WITH_TORCH(of_two_windows_one_is_recorded_from_its_first_step_on),
		WITH_TORCH(steps_are_those_of_one_thread_and_one_optimizer),
		WITH_TORCH(the_first_step_can_be_recorded_from_the_begin_on),
		WITH_TORCH(who_comes_without_a_schedule_has_everything_recorded),
		WITH_TORCH(the_end_of_a_backward_pass_begins_a_step),
		WITH_TORCH(a_pass_inside_of_one_begins_no_step),
		WITH_TORCH(the_stack_of_a_thread_that_has_ended_is_not_read_for_another_with_its_id),
		WITH_TORCH(a_pass_that_ends_with_an_exception_begins_no_step_and_hides_none),
		WITH_TORCH(nothing_is_late_where_no_cupti_is_waited_for),
		WITH_TORCH(an_active_step_that_begins_before_cupti_records_says_so),
		WITH_TORCH(the_schedule_is_reported_as_it_was_understood),
		WITH_TORCH(who_comes_when_another_has_left_has_the_schedule_that_it_asks_for),
		WITH_TORCH(no_step_is_counted_before_the_recording_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
