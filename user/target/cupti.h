/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which libcupti the agent would open in a process, found from outside. */
#pragma once

#include "target/process.h"

struct cupti_choice {
	char *path;	     /* in the process's own root; NULL: none was found */
	const char *why;     /* "is mapped", "lies beside its libcudart", ... */
	const char *refused; /* why the agent will not use the libcupti that was named; NULL: not refused */
	unsigned major;	     /* CUDA's major version, by the file name; 0: not known */
	unsigned runtime;    /* major version of the process's libcudart, 0: none is mapped */
};

/* given: the path that the user named, or NULL.  The same search as the agent's (user/agent/cupti/find_cupti.c), except
 * that the driver's version is not known here. */
void cupti_choose(pid_t pid, const struct mappings *mappings, const char *given, struct cupti_choice *out);
void cupti_choice_free(struct cupti_choice *choice);
