/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace in several files, each of one span of time and none larger than was asked for (--max-size).  The size of a
 * span is known only once it is written: a span that is too large is written again, shorter; the length of the next one
 * is estimated from the size of the last.
 */
#pragma once

#include <stdint.h>

struct pieces {
	uint64_t start_ns, end_ns; /* the time to divide */
	uint64_t most;		   /* the most bytes of a file */
	/*
	 * Writes file `number`, from 1 on, with what begins in [from, to); the first and the last also have what lies
	 * outside [start_ns, end_ns).  0; -EFBIG: it would be larger than `most`; -errno.  *bytes: its size.
	 */
	int (*write)(void *context, unsigned number, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes);
	void *context;
};

/* 0; -EFBIG: not even the shortest span fits; the -errno of write. */
int pieces_write(const struct pieces *pieces);
