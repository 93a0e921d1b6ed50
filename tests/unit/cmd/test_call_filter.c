/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process with the filter of system calls can do, and what not (cmd/process/call_filter.h). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/process/call_filter.h"

/* Runs it in a child with the filter; returns the child's exit status, -1 if a signal ended it. */
static int filtered(int (*work)(void))
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(call_filter_set() ? work() : 99);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool is_refused(long result)
{
	return result < 0 && errno == EPERM;
}

/* 0: all are refused; else which is not. */
static int try_others(void)
{
	char name[] = "true", *words[] = {name, NULL};
	struct iovec bytes = {name, sizeof(name)};

	if (!is_refused(socket(AF_INET, SOCK_STREAM, 0)) || !is_refused(socket(AF_UNIX, SOCK_STREAM, 0)))
		return 1;
	if (!is_refused(execve("/bin/true", words, words + 1)))
		return 2;
	if (!is_refused(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL)))
		return 3;
	if (!is_refused(process_vm_readv(getppid(), &bytes, 1, &bytes, 1, 0)))
		return 4;
	if (!is_refused(kill(getppid(), SIGTERM)) || !is_refused(kill(getppid(), 0)))
		return 5;
	if (!is_refused(syscall(SYS_bpf, 0, NULL, 0)) || !is_refused(syscall(SYS_perf_event_open, NULL, 0, 0, 0, 0)))
		return 6;
	return is_refused(syscall(SYS_prctl + 0x40000000L, 0)) ? 0 : 7; /* as an x32 program */
}

static void what_it_does_not_need_is_refused(void **state)
{
	assert_int_equal(filtered(try_others), 0);
}

static void *do_nothing(void *context)
{
	return context;
}

/* What the server and its children do: a log from memory, threads, a child that is killed, a file. */
static int work(void)
{
	int log = open("/dev/zero", O_RDONLY | O_CLOEXEC), status;
	void *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pid_t child;

	if (log < 0 || memory == MAP_FAILED || pread(log, memory, 4096, 0) != 4096)
		return 1;
	if (pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL))
		return 2;
	child = fork();
	if (!child)
		for (;;)
			sleep(1);
	if (child < 0 || kill(child, SIGKILL) || waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		return 3;
	return 0;
}

static void what_it_needs_is_allowed(void **state)
{
	assert_int_equal(filtered(work), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_does_not_need_is_refused),
		cmocka_unit_test(what_it_needs_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
