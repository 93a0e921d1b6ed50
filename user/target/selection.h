/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses processes by what is known of them: name, user, cgroup, container, pod.  Several values of one kind: any of
 * them; several kinds: all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"

enum selection_kind {
	SELECTION_COMM,	     /* name in the kernel (comm), or a pattern as of fnmatch(3) */
	SELECTION_USER,	     /* number of the real user */
	SELECTION_CGROUP,    /* path, of it and of those below it, or a pattern */
	SELECTION_CONTAINER, /* first digits of the id, name, or a pattern of the name */
	SELECTION_POD,	     /* uid, name, namespace/name, or a pattern of these */
	SELECTION_KINDS,
};

struct selection {
	ARRAY(char *) values[SELECTION_KINDS];
};

/* Texts as of struct process_place (container.h); none NULL. */
struct process_facts {
	const char *comm;
	uint32_t uid; /* UINT32_MAX: not known */
	const char *cgroup, *container, *container_name, *pod, *pod_name;
};

/* Adds values that commas separate.  -EINVAL: one is empty. */
int selection_add(struct selection *selection, enum selection_kind kind, const char *text);
void selection_free(struct selection *selection);
bool selection_is_empty(const struct selection *selection);

/* "processes with CUDA of user 1000, container web"; the caller frees it. */
char *selection_text(const struct selection *selection);

/* Whether the value is that of the process. */
bool selection_value_fits(enum selection_kind kind, const char *value, const struct process_facts *facts);
bool selection_fits(const struct selection *selection, const struct process_facts *facts);

/* Of a live process; what is dear to find out is only read if everything else fits. */
bool selection_fits_process(const struct selection *selection, pid_t pid);
