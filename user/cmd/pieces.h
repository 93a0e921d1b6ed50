/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace in several files, each of a span of it and none larger than was asked for (--max-size).  How large a span
 * gets is known when it is written: one that is too large is written again, shorter; the next one is as long as fits
 * by the size of the last.
 */
#ifndef GPUTRACE_PIECES_H
#define GPUTRACE_PIECES_H

#include <stdint.h>

struct pieces {
	uint64_t start_ns, end_ns; /* what to divide */
	uint64_t most;		   /* bytes of a file */
	/*
	 * Writes file `number`, from 1 on, of what begins in [from, to); the first and the last also have what lies
	 * outside of all.  -EFBIG: it gets larger than that; -errno.  *bytes: how large it is.
	 */
	int (*write)(void *context, unsigned number, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes);
	void *context;
};

/* 0; -EFBIG: not even the shortest span fits; the -errno of write. */
int pieces_write(const struct pieces *pieces);

#endif
