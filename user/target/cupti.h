/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which libcupti the agent would open in a process, found from outside. */
#ifndef GPUTRACE_TARGET_CUPTI_H
#define GPUTRACE_TARGET_CUPTI_H

#include "target/process.h"

struct cupti_choice {
	char *path;	     /* in the process's own root; NULL: none was found */
	const char *why;     /* "is mapped", "lies beside its libcudart", ... */
	const char *refused; /* not NULL: why the one that was named will not be used */
	unsigned major;	     /* of CUDA, by its name; 0: not known */
	unsigned runtime;    /* major of the process's libcudart, 0: none is mapped */
};

/* given: named by the user, NULL. The agent's own search (user/agent/cupti/find_cupti.c), but for what only the driver
 * knows: its version. */
void cupti_choose(pid_t pid, const struct mappings *mappings, const char *given, struct cupti_choice *out);
void cupti_choice_free(struct cupti_choice *choice);

#endif
