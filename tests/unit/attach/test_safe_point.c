/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why no thread of a process may be borrowed, by what its only thread does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject/safe_point.h"
#include "built_library.h"
#include "process_state.h"

#define LOOKS 90000 /* of 1 ms each: the limit for programs that hang */

static char *library;

static void wait_always(void)
{
	for (;;)
		pause();
}

static void run_always(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void waits_on_a_small_stack(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = 64 << 10;
	setrlimit(RLIMIT_STACK, &limit);
	wait_always();
}

static void sleeps_in_an_allocator(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void (*sleep_in_it)(void) = handle ? (void (*)(void))dlsym(handle, "sleep_in_it") : NULL;

	if (sleep_in_it)
		sleep_in_it();
	_exit(1);
}

/* Chooses a thread of a child that does so, once it is in the call (-1: in none). */
static int choose_thread(void (*behave)(void), long call, const char **why)
{
	struct safe_codes codes = {0};
	struct entered_process process = {.codes = &codes, .restorer = 1}; /* no return address is 1 */
	struct safe_thread thread = {0};
	struct mappings mappings;
	pid_t child = fork();
	int result;

	assert_true(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		behave();
		_exit(1);
	}
	for (int i = 0; i < LOOKS && blocked_in(child) != call; i++)
		pause_a_little();
	assert_int_equal(mappings_read(child, &mappings), 0);
	process.pid = child;
	process.mappings = &mappings;
	result = safe_point_choose(&process, &thread, why);
	if (!result)
		assert_int_equal(thread.tid, child);
	mappings_free(&mappings);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return result;
}

static void a_thread_that_waits_is_chosen(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(choose_thread(wait_always, SYS_pause, &why), 0);
}

static void one_that_runs_is_not(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(choose_thread(run_always, -1, &why), -EAGAIN);
	assert_string_equal(why, "no thread of it is blocked in a harmless system call");
}

static void nor_one_whose_stack_has_no_room(void **state)
{
	const char *why;

	(void)state;
	assert_int_equal(choose_thread(waits_on_a_small_stack, SYS_pause, &why), -EAGAIN);
	assert_string_equal(why, "no thread with enough stack is blocked");
}

static void nor_one_that_sleeps_in_an_allocator(void **state)
{
	static const char source[] =
		"#include <time.h>\n"
		"void *malloc(size_t size) { return size ? (void *)0 : (void *)16; }\n"
		"void sleep_in_it(void) { struct timespec day = {86400, 0}; for (;;) nanosleep(&day, 0); }\n";
	const char *why;

	(void)state;
	library = build_file(tests_folder, "liballocates.so", source, NULL, "-shared -fPIC -fno-builtin");
	assert_int_equal(choose_thread(sleeps_in_an_allocator, SYS_clock_nanosleep, &why), -EAGAIN);
	assert_string_equal(why, "a thread sleeps in a library that has an allocator");
	free(library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_waits_is_chosen),
		cmocka_unit_test(one_that_runs_is_not),
		cmocka_unit_test(nor_one_whose_stack_has_no_room),
		cmocka_unit_test(nor_one_that_sleeps_in_an_allocator),
	};

	return cmocka_run_group_tests_name("attach/inject/safe_point", tests, make_tests_folder, remove_tests_folder);
}
