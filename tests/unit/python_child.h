/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A child process in which to look for Python: start it, talk to it, examine it, end it. */
#pragma once

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "target/python/python.h"

struct child {
	pid_t pid;
	FILE *to, *from;
};

static inline void start_child(struct child *child, const char *const argv[], void (*instead)(const void *),
			       const void *argument)
{
	int to[2], from[2];

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		close(to[1]);
		close(from[0]);
		if (instead)
			instead(argument);
		else
			execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	child->to = fdopen(to[1], "w");
	child->from = fdopen(from[0], "r");
}

static inline void end_child(struct child *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	fclose(child->to);
	fclose(child->from);
}

static inline int find_python(pid_t pid, struct python_info *info, char *why, size_t why_size)
{
	struct mappings mappings;
	int err;

	assert_int_equal(mappings_read(pid, &mappings), 0);
	err = python_find(pid, &mappings, info, why, why_size);
	mappings_free(&mappings);
	return err;
}
