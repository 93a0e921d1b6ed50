/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Divides time by what ran in it: operations come in the order of their starts, each of one of three kinds, and pieces
 * of time go out in order, each with the operations that ran in all of it.  Time in which nothing ran goes out in no
 * piece.  Of several operations of one kind the piece has the one that began first.
 *
 * Linear in the operations.  What is kept are those that still run.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"

/* What an operation is; where several run, the first of these counts. */
enum sweep_kind {
	SWEEP_COMPUTATION,
	SWEEP_COMMUNICATION,
	SWEEP_COPY,
	SWEEP_KINDS,
};

/* Whose time it is: numbers of the caller. */
struct sweep_owner {
	uint32_t part[3];
};

struct sweep_piece {
	uint64_t from_ns, to_ns;
	const struct sweep_owner *owners[SWEEP_KINDS]; /* NULL: none of that kind ran; one of them is not NULL */
};

typedef void sweep_take(void *context, const struct sweep_piece *piece);

/* A part of an operation in which no earlier one of its kind ran. */
struct sweep_segment {
	uint64_t from_ns, to_ns;
	struct sweep_owner owner;
};

/* Segments of a kind that end after sweep.now_ns: items[next] and on, in order, without overlap. */
struct sweep_queue {
	ARRAY(struct sweep_segment) segments;
	size_t next;
	uint64_t until_ns; /* end of the last one */
};

/* Starts zeroed. */
struct sweep {
	struct sweep_queue queues[SWEEP_KINDS];
	uint64_t now_ns; /* all pieces up to here went out */
};

/* An operation; none that comes later starts earlier.  The pieces before its start go out. */
void sweep_add(struct sweep *sweep, enum sweep_kind kind, uint64_t start_ns, uint64_t end_ns, struct sweep_owner owner,
	       sweep_take *take, void *context);

/* Gives out the pieces before that time. */
void sweep_until(struct sweep *sweep, uint64_t until_ns, sweep_take *take, void *context);

void sweep_free(struct sweep *sweep);
