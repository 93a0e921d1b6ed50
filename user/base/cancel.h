/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cancels long work, and a write whose reader may not read. */
#ifndef GPUTRACE_CANCEL_H
#define GPUTRACE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The canceller sets both, the flag first. */
struct cancel {
	const atomic_int *flag; /* not 0: end it */
	int fd;			/* readable from then on; -1: no write is cancelled while it waits */
};

/* NULL: false. */
bool is_cancelled(const struct cancel *cancel);

/*
 * Writes all of the data.  0; -errno; -ECANCELED as soon as it is cancelled, even while a pipe, a terminal or a socket
 * is full.  Data that was already handed to the descriptor may then still be written.
 */
int write_unless(int fd, const void *data, size_t bytes, const struct cancel *cancel);

#endif
