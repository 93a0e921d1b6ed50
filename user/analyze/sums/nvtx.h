/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time by NVTX range: a range has the work that was launched while it was open on the launching thread.  A backward
 * pass launches from threads of its own: its work counts for the thread that called backward(), where only one thread
 * can have called it.
 *
 * Kept besides sums: ranges that are open, or after which their thread has made no call yet.
 */
#pragma once

#include "analyze/events/events.h"
#include "base/array.h"
#include "base/lookup.h"
#include "base/tally.h"

/* Open ranges per thread; no program means to have more, and a target cannot make this slow. */
#define NVTX_OPEN_MAX 256u

struct nvtx_row {
	uint32_t name;		  /* model.strings; range_name_length() gives the length that is used */
	uint32_t domain;	  /* model.strings, NONE: the default domain */
	uint64_t ns, count;	  /* of GPU operations launched in it */
	uint64_t ranges, open_ns; /* number of ranges, and their total time */
};

struct nvtx_open {
	uint64_t end_ns; /* UINT64_MAX: continues in a later part */
	uint64_t number; /* model_span.number */
	uint32_t row;
};

/* The end of a range that had continued into a later part. */
struct nvtx_end {
	uint64_t number, end_ns;
};

struct nvtx_thread {
	ARRAY(struct nvtx_open) open;
	ARRAY(struct nvtx_open) begun; /* ranges since its latest call, by start */
	ARRAY(struct nvtx_end) ended;  /* not yet looked up in those two */
	size_t forget_at;	       /* at this count of begun, ranges that are over are dropped */
	bool has_ranges;
	uint32_t outermost;	  /* code of the outermost frame of its latest call, NONE */
	uint32_t next_of_process; /* model.threads: the next one that has ranges, NONE */
};

/* Names that share a row; the row is shown under the first name on the lowest thread. */
struct nvtx_name {
	uint32_t row_name; /* the name that identifies the row, NONE: not seen yet */
	uint32_t thread, name;
};

struct nvtx {
	const struct model *model;
	ARRAY(struct nvtx_name) names; /* by model.strings */
	struct lookup prefixes;	       /* (1, hash) to the first of the names that PyTorch numbers */
	struct tally keys;	       /* name, domain; numbered like rows until those are sorted */
	ARRAY(struct nvtx_row) rows;   /* most time first */
	struct nvtx_thread *threads;   /* by model.threads; NULL: none has ranges */
	uint32_t thread_count;
	uint32_t *first_of_process; /* by model.processes: a thread that has ranges, NONE */
	uint64_t covered_ns;	    /* GPU time launched inside some range */
	uint64_t left_out;	    /* ranges beyond NVTX_OPEN_MAX */
};

void nvtx_init(struct nvtx *all, const struct model *model);
void nvtx_free(struct nvtx *all);
void nvtx_begin_part(struct nvtx *all, const struct model *part);
void nvtx_add_range(struct nvtx *all, const struct range_event *event);
void nvtx_end_range(struct nvtx *all, const struct range_event *event);
void nvtx_add_call(struct nvtx *all, const struct call_event *event);
void nvtx_finish(struct nvtx *all);

/* Whether some thread has ranges, in any part. */
static inline bool nvtx_has_ranges(const struct nvtx *all)
{
	return all->threads != NULL;
}

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_NVTX(X)                                                                                               \
	X(NVTX, begin, nvtx_init(&all->nvtx, event->first))                                                            \
	X(NVTX, part, nvtx_begin_part(&all->nvtx, event->part))                                                        \
	X(NVTX, call, nvtx_add_call(&all->nvtx, event))                                                                \
	X(NVTX, range, nvtx_add_range(&all->nvtx, event))                                                              \
	X(NVTX, range_end, nvtx_end_range(&all->nvtx, event))                                                          \
	X(NVTX, finish, nvtx_finish(&all->nvtx))                                                                       \
	X(NVTX, free, nvtx_free(&all->nvtx))
