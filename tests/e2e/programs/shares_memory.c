/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* shares_memory LIBCUDA: a process and a child that shares its memory (CLONE_VM) wait; prints "child PID"; the child
 * ends first. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int wait_for_input(void *unused)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	static char stack[1 << 20] __attribute__((aligned(16)));
	int status, child;

	if (argc != 2 || !dlopen(argv[1], RTLD_NOW))
		return 1;
	child = clone(wait_for_input, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	printf("child %d\n", child);
	fflush(stdout);
	wait_for_input(NULL);
	waitpid(child, &status, 0);
	return 0;
}
