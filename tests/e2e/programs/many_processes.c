/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Many cheap processes at a time: they share all memory and wait. The last one launches. Prints "loaded" and starts
 * them at the next line or the end of its standard input; prints "ready", and ends them at the next line or the end of
 * input.
 * many_processes LIBCUDART COUNT
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK 4096

struct dim3 {
	unsigned x, y, z;
};

static int (*cuda_launch)(const void *, struct dim3, struct dim3, void **, size_t, void *);
static int release[2];

static int wait_in_child(void *unused)
{
	char byte;

	return (int)read(release[0], &byte, 1);
}

static int launch_in_child(void *unused)
{
	const struct dim3 one = {1, 1, 1};

	for (int i = 0; i < 10; i++)
		cuda_launch((void *)0x1000, one, one, NULL, 0, NULL);
	return 0;
}

static void say(const char *what)
{
	char line[80];

	printf("%s\n", what);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return;
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[2]) : 0, status;
	char *stacks = malloc((size_t)(count + 16) * STACK);
	pid_t last;

	cuda_launch = (int (*)(const void *, struct dim3, struct dim3, void **, size_t, void *))dlsym(
		dlopen(argv[1], RTLD_NOW), "cudaLaunchKernel");
	if (!cuda_launch || !stacks || pipe(release))
		return 1;
	say("loaded");
	for (int i = 0; i < count; i++)
		if (clone(wait_in_child, stacks + (size_t)(i + 1) * STACK, CLONE_VM | CLONE_FILES | SIGCHLD, NULL) <
		    0) {
			perror("clone");
			return 1;
		}
	last = clone(launch_in_child, stacks + (size_t)(count + 16) * STACK, CLONE_VM | SIGCHLD, NULL);
	waitpid(last, &status, 0);
	say("ready");
	close(release[1]); /* the children share the file table: they read end of file */
	while (wait(NULL) > 0)
		;
	return status;
}
