/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How complete a trace is: what it has, what is missing and why.  Made from the receipt, not from events. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

enum complete_end {
	COMPLETE_ENDED,	    /* as intended */
	COMPLETE_TRUNCATED, /* the log ends before the trace did */
	COMPLETE_DISK_FULL,
	COMPLETE_FAILED, /* recording ended with an error */
};

/* Something that went wrong, and how often. */
struct complete_row {
	const char *name;  /* for programs */
	const char *words; /* after the count, for people */
	uint64_t count;	   /* not 0 */
};

#define COMPLETE_ROWS_MAX (MODEL_LOSSES + 13u + BAD_REASONS)
#define COMPLETE_SETS_MAX 16u

struct complete {
	enum complete_end end;
	const char *tool; /* another tool that recorded the trace: its losses and the error of its times are not known;
			     NULL: gputrace */
	bool has_gpu_times; /* launches were meant to have GPU times, or some have */
	uint64_t launches;  /* seen, including failed ones */
	uint64_t launches_failed;
	uint64_t launches_meant, launches_joined, launches_with_stack, launches_with_line, lost;
	uint64_t gpu_ns, gpu_ns_with_line, gpu_ns_with_function;
	uint64_t clock_error_ns;
	uint32_t complete, wanted; /* thousandths of a percent */
	struct complete_row rows[COMPLETE_ROWS_MAX];
	size_t count;
	uint64_t operations_foreign;	 /* GPU operations from foreign buffers */
	uint32_t borrowed, borrowed_pid; /* processes in which CUPTI was borrowed; pid of the last of them */
	uint64_t gaps, gap_ns;		 /* times in which another client had CUPTI: number, sum */
	uint64_t cut_launches, cut_processes, cut_ns; /* as in the receipt */
	uint32_t cut_pid, cut_signal;
	bool cut_alive;
	bool other_client_suspected;	     /* most launches have no record, and nothing else explains it */
	const char *sets[COMPLETE_SETS_MAX]; /* activity sets that some agent did not record */
	size_t set_count;
};

void complete_make(struct complete *complete, const struct model *model);
