/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What ends a long piece of work early, and writing to somebody who may not read. */
#ifndef GPUTRACE_CANCEL_H
#define GPUTRACE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The canceller sets both, the flag first. */
struct cancel {
	const atomic_int *flag; /* not 0: end it */
	int fd;			/* readable from then on; -1: no one waits for it */
};

/* NULL never is. */
bool is_cancelled(const struct cancel *cancel);

/*
 * Writes all of it.  0; -ECANCELED as soon as it is cancelled, also while a pipe, a terminal or a socket is full: what
 * was given to it then may still go out later.  Else -errno.
 */
int write_unless(int fd, const void *data, size_t bytes, const struct cancel *cancel);

#endif
