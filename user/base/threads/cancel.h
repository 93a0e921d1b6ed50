/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Cancels long work, and a write that blocks because no one reads. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* The canceller sets the flag first, then makes fd readable. */
struct cancel {
	const atomic_int *flag; /* not 0: cancelled */
	int fd;			/* readable once cancelled; -1: a write that blocks is not cancelled */
};

/* NULL: false. */
bool is_cancelled(const struct cancel *cancel);

/*
 * Writes all of the data.  Returns 0, -errno, or -ECANCELED as soon as it is cancelled, even while a pipe, a terminal
 * or a socket is full.  Data that was already handed to the descriptor may then still be written.
 */
int write_unless(int fd, const void *data, size_t bytes, const struct cancel *cancel);
