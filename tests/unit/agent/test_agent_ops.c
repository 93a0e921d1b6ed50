/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The session of PyTorch's ops, with the test's own libtorch_cpu: what is reported, when, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/process/clock.h"
#include "agent/torch/op_buffer.h"
#include "agent/torch/ops.h"
#include "agent/torch/torch.h"
#include "agent_points.h"
#include "fake_torch.h"
#include "sanitizers.h"

#define LOADED(version) "fake_torch_" version "/libtorch_cpu.so"

static void *library;
static const struct fake_torch *torch;

static void load_torch(const char *name)
{
	char here[4096], path[5000];
	ssize_t length = readlink("/proc/self/exe", here, sizeof(here) - 1);

	assert_true(length > 0);
	here[length] = '\0';
	*strrchr(here, '/') = '\0';
	snprintf(path, sizeof(path), "%s/%s", here, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		print_error("%s\n", dlerror());
	assert_non_null(library);
	torch = dlsym(library, "fake_torch");
	assert_non_null(torch);
}

static void begin_listening(void)
{
	gputrace_agent_ops_semaphore = 1;
	ops_start();
}

static void start_observing(void)
{
	load_torch(LOADED("2.14"));
	begin_listening();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
}

/* Stops listening, and waits until the agent has sent all that it must send. */
static void stop_listening(void)
{
	gputrace_agent_ops_semaphore = 0;
	UNTIL(ops_are(GPT_AGENT_OPS_STOPPED) || ops_are(GPT_AGENT_OPS_REFUSED));
}

static int begin_test(void **state)
{
	said.bytes = 0;
	said.stack_count = 0;
	library = NULL;
	return 0;
}

static int end_test(void **state)
{
	if (gputrace_agent_ops_semaphore)
		stop_listening();
	if (library)
		dlclose(library);
	return 0;
}

static const struct gpt_agent_op *said_op(unsigned n)
{
	return said_record(GPT_AGENT_OP, n);
}

static bool is_named(const struct gpt_agent_op *op, const char *text, size_t bytes)
{
	const struct gpt_agent_name *name;

	for (unsigned n = 0; (name = said_record(GPT_AGENT_NAME, n)); n++)
		if (name->id == op->name && (const void *)name < (const void *)op)
			return name->id & GPT_AGENT_NAME_OF_OP && name->bytes == bytes &&
			       !memcmp(name->text, text, bytes);
	return false;
}

static unsigned reported_names(void)
{
	unsigned n = 0;

	while (said_record(GPT_AGENT_NAME, n))
		n++;
	return n;
}

static void run_op(const char *name)
{
	struct fake_op one;

	torch->begin(&one, name, GPT_AGENT_OP_FUNCTION, -1, 0);
	torch->finish(&one);
}

/* ---- */

static void an_op_is_reported_with_its_times_thread_name_and_numbers(void **state)
{
	uint64_t before, after;
	struct fake_op one;

	start_observing();
	before = clock_now_ns();
	torch->begin(&one, "AddmmBackward0", GPT_AGENT_OP_BACKWARD_FUNCTION, 77, 3);
	torch->finish(&one);
	after = clock_now_ns();
	stop_listening();
	assert_non_null(said_op(0));
	assert_true(before <= said_op(0)->start_ns && said_op(0)->start_ns <= said_op(0)->end_ns &&
		    said_op(0)->end_ns <= after);
	assert_int_equal(said_op(0)->sequence, 77);
	assert_int_equal(said_op(0)->forward_thread, 3);
	assert_true(said_op(0)->thread > 0);
	assert_int_equal(said_op(0)->tid, gettid());
	assert_int_equal(said_op(0)->end_tid, gettid());
	assert_int_equal(said_op(0)->scope, GPT_AGENT_OP_BACKWARD_FUNCTION);
	assert_int_equal(said_op(0)->flags, 0);
	assert_true(is_named(said_op(0), "AddmmBackward0", 14));
	assert_null(said_op(1));
}

/* The op without a forward thread has the shorter entry in the ring. */
static void an_op_without_a_forward_thread_is_reported_like_one_with_it(void **state)
{
	struct fake_op one;

	start_observing();
	for (uint64_t forward = 0; forward < 2; forward++) {
		torch->begin(&one, "aten::mul", GPT_AGENT_OP_FUNCTION, 77, forward);
		torch->finish(&one);
	}
	stop_listening();
	for (unsigned n = 0; n < 2; n++) {
		assert_non_null(said_op(n));
		assert_true(said_op(n)->start_ns > 0 && said_op(n)->start_ns <= said_op(n)->end_ns);
		assert_true(is_named(said_op(n), "aten::mul", 9));
		assert_int_equal(said_op(n)->sequence, 77);
		assert_int_equal(said_op(n)->forward_thread, n);
		assert_int_equal(said_op(n)->thread, said_op(0)->thread);
		assert_int_equal(said_op(n)->tid, gettid());
		assert_int_equal(said_op(n)->end_tid, gettid());
		assert_int_equal(said_op(n)->scope, GPT_AGENT_OP_FUNCTION);
		assert_int_equal(said_op(n)->inputs, 0);
		assert_int_equal(said_op(n)->stack, 0);
		assert_int_equal(said_op(n)->flags, 0);
	}
	assert_null(said_op(2));
}

static void a_stack_is_taken_of_an_op_with_a_number_where_that_is_wanted(void **state)
{
	struct fake_op forward, backward, plain;

	start_observing();
	gputrace_agent_forward_lines_semaphore = 1;
	torch->begin(&forward, "aten::mm", GPT_AGENT_OP_FUNCTION, 7, 0);
	torch->finish(&forward);
	torch->begin(&backward, "MmBackward0", GPT_AGENT_OP_BACKWARD_FUNCTION, 7, 1);
	torch->finish(&backward);
	torch->begin(&plain, "aten::empty", GPT_AGENT_OP_FUNCTION, -1, 0);
	torch->finish(&plain);
	torch->begin(&forward, "aten::add", GPT_AGENT_OP_FUNCTION, 8, 0);
	torch->finish(&forward);
	gputrace_agent_forward_lines_semaphore = 0;
	torch->begin(&forward, "aten::sub", GPT_AGENT_OP_FUNCTION, 9, 0);
	torch->finish(&forward);
	stop_listening();
	assert_int_equal(said.stack_count, 3);
	assert_int_equal(said.stacks_of[0], GPT_STACK_OF_OP);
	assert_int_equal(said_op(0)->stack, said.stacks[0]);
	assert_int_equal(said_op(1)->stack, said.stacks[1]);
	assert_int_equal(said_op(2)->stack, 0);
	assert_int_equal(said_op(3)->stack, said.stacks[2]);
	assert_int_equal(said_op(4)->stack, 0);
	assert_int_not_equal(said.stacks[0], said.stacks[1]);
}

static void run_named(const char *name)
{
	struct fake_op one;

	torch->begin(&one, name, GPT_AGENT_OP_USER_SCOPE, -1, 0);
	torch->finish(&one);
}

static unsigned reported_ops(const char *name)
{
	unsigned count = 0;

	for (unsigned n = 0; said_op(n); n++)
		count += is_named(said_op(n), name, strlen(name));
	return count;
}

/* Runs ops of both kinds until one of the program's own is reported together with `others` of the others. */
static void wait_until_reported(unsigned others)
{
	unsigned named, before;

	do {
		named = reported_ops("step");
		before = reported_ops("aten::add");
		run_op("aten::add");
		run_named("step");
		UNTIL(reported_ops("step") > named);
	} while (reported_ops("aten::add") - before != others);
}

static void where_all_listeners_lower_their_detail_only_what_the_program_names_is_reported(void **state)
{
	start_observing();
	wait_until_reported(1);
	gputrace_agent_ops_off_semaphore = 1;
	wait_until_reported(0);
	gputrace_agent_ops_semaphore = 2; /* another listener wants all */
	wait_until_reported(1);
	gputrace_agent_ops_semaphore = 1;
	wait_until_reported(0);
	gputrace_agent_ops_off_semaphore = 0;
	wait_until_reported(1);
	stop_listening();
	assert_int_equal(last_ops()->lost, 0);
}

/* The test's libtorch_cpu has ops, but lacks the functions that show where their inputs are. */
static void ops_are_reported_without_inputs_where_those_cannot_be_read(void **state)
{
	gputrace_agent_shapes_semaphore = 1;
	start_observing();
	run_op("aten::add");
	stop_listening();
	gputrace_agent_shapes_semaphore = 0;
	assert_int_equal(said_op(0)->inputs, 0);
	assert_string_equal(last_ops()->text + strlen(last_ops()->text) + 1,
			    "no inputs of ops: PyTorch 2.14.1 has not all functions that say how it keeps them");
}

static void what_is_inside_comes_first_and_a_name_once(void **state)
{
	struct fake_op outer, inner;

	start_observing();
	for (int i = 0; i < 2; i++) {
		torch->begin(&outer, "aten::linear", GPT_AGENT_OP_FUNCTION, -1, 0);
		torch->begin(&inner, "aten::addmm", GPT_AGENT_OP_FUNCTION, -1, 0);
		torch->finish(&inner);
		torch->finish(&outer);
	}
	stop_listening();
	assert_true(is_named(said_op(0), "aten::addmm", 11) && is_named(said_op(3), "aten::linear", 12));
	assert_true(said_op(1)->start_ns <= said_op(0)->start_ns && said_op(0)->end_ns <= said_op(1)->end_ns);
	assert_int_equal(said_op(0)->sequence, -1);
	assert_int_equal(reported_names(), 2);
	assert_int_equal(last_ops()->reported, 4);
	assert_int_equal(last_ops()->lost, 0);
}

static void *finish_there(void *one)
{
	torch->finish(one);
	return NULL;
}

static void an_op_that_ends_on_another_thread_is_no_part_of_the_nesting(void **state)
{
	struct fake_op one, two;
	pthread_t thread;

	start_observing();
	torch->begin(&one, "rpc", GPT_AGENT_OP_USER_SCOPE, -1, 0);
	assert_int_equal(pthread_create(&thread, NULL, finish_there, &one), 0);
	pthread_join(thread, NULL);
	torch->begin(&two, "future", GPT_AGENT_OP_USER_SCOPE, -1, 0);
	torch->make_async(&two);
	torch->finish(&two);
	stop_listening();
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(said_op(n)->flags, GPT_AGENT_OP_ASYNC);
		assert_int_equal(said_op(n)->scope, GPT_AGENT_OP_USER_SCOPE);
		assert_int_equal(said_op(n)->tid, gettid());
		assert_true((said_op(n)->end_tid == said_op(n)->tid) == is_named(said_op(n), "future", 6));
	}
	assert_true(is_named(said_op(0), "rpc", 3) || is_named(said_op(1), "rpc", 3));
}

static void what_is_open_when_no_one_listens_any_more_is_reported_as_open(void **state)
{
	struct fake_op one;

	start_observing();
	torch->begin(&one, "step", GPT_AGENT_OP_USER_SCOPE, -1, 0);
	stop_listening();
	assert_int_equal(said_op(0)->flags, GPT_AGENT_OP_OPEN);
	assert_true(is_named(said_op(0), "step", 4));
	torch->finish(&one);
	run_op("late");
	assert_null(said_op(1));
}

static void an_end_without_a_begin_is_nothing(void **state)
{
	struct fake_op before;

	load_torch(LOADED("2.14"));
	torch->begin(&before, "before", GPT_AGENT_OP_FUNCTION, -1, 0);
	begin_listening();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
	torch->finish(&before);
	torch->begin(&before, "first session", GPT_AGENT_OP_FUNCTION, -1, 0);
	stop_listening();
	said.bytes = 0;
	begin_listening();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
	torch->finish(&before);
	stop_listening();
	assert_null(said_op(0));
}

static void the_observer_goes_with_the_last_listener(void **state)
{
	start_observing();
	assert_int_equal(torch->callbacks(), 1);
	stop_listening();
	assert_int_equal(torch->callbacks(), 0);
}

static void somebody_who_comes_later_hears_the_names_too(void **state)
{
	start_observing();
	run_op("aten::add");
	UNTIL(said_op(0));
	said.bytes = 0;
	gputrace_agent_ops_semaphore = 2;
	UNTIL(said_record(GPT_AGENT_NAME, 0));
	run_op("aten::add");
	gputrace_agent_ops_semaphore = 1;
	stop_listening();
	assert_true(is_named(said_op(0), "aten::add", 9));
	assert_int_equal(reported_names(), 1);
}

/*
 * Sets the bits of a listener's number in the semaphores to `by`.  They are the last bits before the one for the start.
 */
static void add_number(uint32_t number, unsigned short by)
{
	unsigned short *bits = gputrace_agent_schedule_semaphores + GPT_SCHEDULE_BITS - GPT_LISTENER_BITS;

	for (unsigned i = 0; i < GPT_LISTENER_BITS; i++)
		bits[i] = number >> i & 1 ? by : bits[i];
}

static void two_who_were_there_first_and_are_counted_as_one_are_heard(void **state)
{
	add_number(0x003ff, 1);
	add_number(0x00ffc, 1);
	start_observing();
	run_op("aten::add");
	stop_listening();
	add_number(0xfffff, 0);
	assert_true(is_named(said_op(0), "aten::add", 9));
}

static void a_pytorch_that_is_loaded_later_is_observed(void **state)
{
	begin_listening();
	UNTIL(ops_are(GPT_AGENT_OPS_WAITING));
	load_torch(LOADED("2.14"));
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
	run_op("aten::add");
	stop_listening();
	assert_int_equal(last_ops()->version, 2 << 16 | 14 << 8 | 1);
	assert_true(is_named(said_op(0), "aten::add", 9));
}

static void assert_refused(const char *why)
{
	const char *text;

	begin_listening();
	UNTIL(ops_are(GPT_AGENT_OPS_REFUSED));
	text = last_ops()->text;
	assert_string_equal(text + strlen(text) + 1, why);
	run_op("aten::add");
	stop_listening();
	assert_null(said_op(0));
	assert_int_equal(torch->callbacks(), 0);
}

static void a_version_that_is_not_known_is_refused_by_name(void **state)
{
	load_torch(LOADED("2.99"));
	assert_refused("PyTorch 2.99.1 is not known to this gputrace");
}

static void a_layout_that_is_not_the_versions_is_refused(void **state)
{
	load_torch(LOADED("shifted"));
	assert_refused("the ops of PyTorch 2.14.1 are not laid out as in its headers");
}

static void one_without_a_function_that_an_observer_needs_is_refused(void **state)
{
	load_torch(LOADED("lacking"));
	assert_refused("PyTorch 2.14.1 does not export what an observer needs");
}

static void a_name_of_100_kb_is_cut_at_a_character_and_marked(void **state)
{
	static char name[100001], other[100001];
	const struct gpt_agent_name *reported;

	memset(name, 'x', 100000);
	memcpy(name + OP_NAME_MAX - 1, "\xc3\xa9", 2); /* a character that crosses the limit */
	memset(other, 'y', 100000);
	start_observing();
	run_op(name);
	run_op(other);
	run_op("it \"says\" \\");
	stop_listening();
	reported = said_record(GPT_AGENT_NAME, 0);
	assert_int_equal(reported->bytes, OP_NAME_MAX - 1 + 3);
	assert_memory_equal(reported->text, name, OP_NAME_MAX - 1);
	assert_memory_equal(reported->text + OP_NAME_MAX - 1, "...", 3);
	assert_int_equal(reported_names(), 3);
	assert_true(is_named(said_op(2), "it \"says\" \\", 11));
}

static void what_has_no_room_is_counted(void **state)
{
	struct fake_op *open = calloc(OP_BUFFER_SLOTS + 10, sizeof(*open));

	start_observing();
	for (unsigned i = 0; i < OP_BUFFER_SLOTS + 10; i++)
		torch->begin(&open[i], "deep", GPT_AGENT_OP_FUNCTION, -1, 0);
	for (unsigned i = OP_BUFFER_SLOTS + 10; i-- > 0;)
		torch->finish(&open[i]);
	stop_listening();
	assert_int_equal(last_ops()->reported, OP_BUFFER_SLOTS);
	assert_int_equal(last_ops()->lost, 10);
	free(open);
}

static void *run_one(void *unused)
{
	run_op("aten::add");
	return unused;
}

static void threads_that_come_and_go_share_what_the_first_had(void **state)
{
	pthread_t thread;

	start_observing();
	for (unsigned i = 1; i <= OP_BUFFERS_MAX + 8; i++) {
		assert_int_equal(pthread_create(&thread, NULL, run_one, NULL), 0);
		pthread_join(thread, NULL);
		if (i % 256 == 0)
			UNTIL(said_op(i - 1));
	}
	stop_listening();
	assert_int_equal(last_ops()->reported, OP_BUFFERS_MAX + 8);
	assert_int_equal(last_ops()->lost, 0);
}

#if !ADDRESS_SANITIZER /* it ends a program that has no address space left */
static void a_thread_that_cannot_be_made_is_reported_with_the_limit_and_later_made(void **state)
{
	struct rlimit before, none;

	load_torch(LOADED("2.14"));
	gputrace_agent_ops_semaphore = 1;
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	ops_start();
	ops_start();
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_true(ops_are(GPT_AGENT_OPS_REFUSED));
	assert_non_null(strstr(last_ops()->text + strlen(last_ops()->text) + 1,
			       "no thread: its stack has no room in the address space, RLIMIT_AS (ulimit -v)"));
	assert_null(said_record(GPT_AGENT_OPS, 1)); /* reported once */
	ops_start();
	UNTIL(ops_are(GPT_AGENT_OPS_OBSERVING));
	stop_listening();
}
#endif

static void a_forked_child_says_nothing_and_takes_the_observer_away(void **state)
{
	size_t before;
	int status;
	pid_t child;

	start_observing();
	run_op("parent");
	UNTIL(said_op(0));
	child = fork();
	if (!child) {
		before = said.bytes;
		run_op("child");
		UNTIL(torch->callbacks() == 0);
		_exit(said.bytes == before ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	run_op("parent");
	stop_listening();
	assert_int_equal(last_ops()->reported, 2);
}

static void a_forked_child_whose_list_of_callbacks_a_thread_had_that_is_gone_runs_its_ops(void **state)
{
	int status;
	pid_t child;

	start_observing();
	child = fork();
	if (!child) {
		alarm(PATIENCE_MS / 1000);
		torch->stop_list();
		run_op("child");
		run_op("child");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	stop_listening();
}

static int run_in_grandchild(int (*run_it)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(run_it());
	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static int has_no_observer(void)
{
	return torch->list_is_held() ? 1 : torch->callbacks() ? 2 : 0;
}

static void a_grandchild_has_no_observer_that_its_parent_is_just_taking_away(void **state)
{
	int status;
	pid_t child;

	start_observing();
	child = fork();
	if (!child) {
		torch->slow_list();
		run_op("child");
		UNTIL(torch->list_is_held());
		torch->release();
		_exit(run_in_grandchild(has_no_observer));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	stop_listening();
}

static int do_nothing(void)
{
	return 0;
}

/* A fork waits one second at most.  If all of these forks waited, the test would run out of patience. */
static void only_one_fork_waits_for_who_waits_for_ever(void **state)
{
	int status, left = 2 * PATIENCE_MS / 1000;
	pid_t child;

	start_observing();
	child = fork();
	if (!child) {
		alarm(PATIENCE_MS / 1000);
		torch->stop_list();
		run_op("child");
		UNTIL(torch->list_is_held());
		while (left && !run_in_grandchild(do_nothing))
			left--;
		_exit(left != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	stop_listening();
}

static void the_version_is_in_the_names_of_debians_files(void **state)
{
	assert_int_equal(torch_version_of_name("/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13"), 1 << 16 | 13 << 8);
	assert_int_equal(torch_version_of_name("libtorch_cpu.so.2.14.1"), 2 << 16 | 14 << 8);
	assert_int_equal(torch_version_of_name("/x/libtorch_cpu.so"), 0);
	assert_int_equal(torch_version_of_name("/x.1/libtorch_cpu.so.2"), 0);
	assert_int_equal(torch_version_of_name("libtorch_cpu.so.99999999999999999999.1"), 0);
}

static void the_version_is_in_the_file_that_wheels_have(void **state)
{
	assert_int_equal(torch_version_of_text("__all__ = ['x']\n__version__ = '1.13.1+cu117'\ndebug = False\n"),
			 1 << 16 | 13 << 8 | 1);
	assert_int_equal(torch_version_of_text("__version__ = '2.10.0'"), 2 << 16 | 10 << 8);
	assert_int_equal(torch_version_of_text("__version__ = '2.4.1"), 2 << 16 | 4 << 8 | 1);
	assert_int_equal(torch_version_of_text("__version__ = '2.4"), 0);
	assert_int_equal(torch_version_of_text("__version__ = '2.999.1'"), 0);
	assert_int_equal(torch_version_of_text("__version__ = '"), 0);
	assert_int_equal(torch_version_of_text("__version__ = 'x.y.z'"), 0);
	assert_int_equal(torch_version_of_text(""), 0);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
#if !ADDRESS_SANITIZER
		/* must be the first: later threads get the stacks of ended ones */
		behaviour(a_thread_that_cannot_be_made_is_reported_with_the_limit_and_later_made),
#endif
		behaviour(an_op_is_reported_with_its_times_thread_name_and_numbers),
		behaviour(an_op_without_a_forward_thread_is_reported_like_one_with_it),
		behaviour(a_stack_is_taken_of_an_op_with_a_number_where_that_is_wanted),
		behaviour(where_all_listeners_lower_their_detail_only_what_the_program_names_is_reported),
		behaviour(ops_are_reported_without_inputs_where_those_cannot_be_read),
		behaviour(what_is_inside_comes_first_and_a_name_once),
		behaviour(an_op_that_ends_on_another_thread_is_no_part_of_the_nesting),
		behaviour(what_is_open_when_no_one_listens_any_more_is_reported_as_open),
		behaviour(an_end_without_a_begin_is_nothing),
		behaviour(the_observer_goes_with_the_last_listener),
		behaviour(two_who_were_there_first_and_are_counted_as_one_are_heard),
		behaviour(somebody_who_comes_later_hears_the_names_too),
		behaviour(a_pytorch_that_is_loaded_later_is_observed),
		behaviour(a_version_that_is_not_known_is_refused_by_name),
		behaviour(a_layout_that_is_not_the_versions_is_refused),
		behaviour(one_without_a_function_that_an_observer_needs_is_refused),
		behaviour(a_name_of_100_kb_is_cut_at_a_character_and_marked),
		behaviour(what_has_no_room_is_counted),
		behaviour(threads_that_come_and_go_share_what_the_first_had),
		behaviour(a_forked_child_says_nothing_and_takes_the_observer_away),
		behaviour(a_forked_child_whose_list_of_callbacks_a_thread_had_that_is_gone_runs_its_ops),
		behaviour(a_grandchild_has_no_observer_that_its_parent_is_just_taking_away),
		behaviour(only_one_fork_waits_for_who_waits_for_ever),
		behaviour(the_version_is_in_the_names_of_debians_files),
		behaviour(the_version_is_in_the_file_that_wheels_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
