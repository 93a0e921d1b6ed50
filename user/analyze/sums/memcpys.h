/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction: how much, how fast, from which memory, and the line that asks for most. */
#ifndef GPUTRACE_ANALYZE_MEMCPYS_H
#define GPUTRACE_ANALYZE_MEMCPYS_H

#include "analyze/events.h"
#include "analyze/lines.h"

#define MEMCPY_KINDS 256u	  /* CUpti_ActivityMemcpyKind: what a byte can hold */
#define MEMCPY_KIND_MEMSET 256u	  /* after them */
#define MEMCPY_TIMED (1ull << 63) /* in the number of one that has times */

struct memcpy_row {
	uint32_t kind;	  /* CUpti_ActivityMemcpyKind, or MEMCPY_KIND_MEMSET */
	uint32_t line;	  /* with most bytes; of equals the first that had so many */
	uint32_t process; /* of that line: index, PROCESS_MANY */
	uint64_t bytes, ns, count;
	uint64_t pageable_bytes; /* from or to memory that slows a memcpy down */
	uint64_t timed_bytes;	 /* of those that have times */
	uint64_t timed_bytes_ns; /* their time: ns but for those whose bytes are not known */
	uint64_t sized;		 /* how many's bytes are known */
};

struct memcpys {
	struct memcpy_row sums[MEMCPY_KINDS + 1];
	struct tally callers; /* kind, caller, process; ns: bytes, more: number of the memcpy that made it so many */
	uint64_t number;
	struct memcpy_row *rows; /* by kind */
	size_t count;
};

void memcpys_free(struct memcpys *memcpys);
void memcpys_add_gpu(struct memcpys *memcpys, const struct gpu_event *event);
void memcpys_finish(struct memcpys *memcpys, struct lines *lines);

/* What it does with a trace (analyses.h). */
#define ANALYSIS_MEMCPYS(X)                                                                                            \
	X(MEMCPYS, gpu, memcpys_add_gpu(&all->memcpys, event))                                                         \
	X(MEMCPYS, finish, memcpys_finish(&all->memcpys, event->lines))                                                \
	X(MEMCPYS, free, memcpys_free(&all->memcpys))

#endif
