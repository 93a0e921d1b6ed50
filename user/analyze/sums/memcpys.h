/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction: how much, how fast, from which memory, and the line that requests most. */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"

#define MEMCPY_KINDS 256u	  /* CUpti_ActivityMemcpyKind: the values of a byte */
#define MEMCPY_KIND_MEMSET 256u	  /* follows the memcpy kinds */
#define MEMCPY_TIMED (1ull << 63) /* flag in the number of a memcpy with times */

struct memcpy_row {
	uint32_t kind;	  /* CUpti_ActivityMemcpyKind, or MEMCPY_KIND_MEMSET */
	uint32_t line;	  /* with most bytes; of equal lines the first that reached so many */
	uint32_t process; /* of that line: index, PROCESS_MANY */
	uint64_t bytes, ns, count;
	uint64_t pageable_bytes; /* from or to memory that slows a memcpy down */
	uint64_t timed_bytes;	 /* of memcpys with times */
	uint64_t timed_bytes_ns; /* their time: ns without those of unknown size */
	uint64_t sized;		 /* memcpys of known size */
};

struct memcpys {
	struct memcpy_row sums[MEMCPY_KINDS + 1];
	struct tally callers; /* kind, caller, process; ns: bytes, more: number of the memcpy that reached them */
	uint64_t number;
	struct memcpy_row *rows; /* by kind */
	size_t count;
};

void memcpys_add_gpu(struct memcpys *memcpys, const struct gpu_event *event);
void memcpys_finish(struct memcpys *memcpys, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_MEMCPYS(X)                                                                                            \
	X(MEMCPYS, gpu, memcpys_add_gpu(&all->memcpys, event))                                                         \
	X(MEMCPYS, finish, memcpys_finish(&all->memcpys, event->lines))                                                \
	X(MEMCPYS, free, (tally_free(&all->memcpys.callers), free(all->memcpys.rows)))
