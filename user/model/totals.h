/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Totals of a whole long trace, counted in pass 1 and available with the first part.  An output that is written part by
 * part needs them for numbers that must be unique in the whole file.
 */
#pragma once

#include "base/array.h"
#include "model/corr_set.h"

/* Of a process. */
struct process_totals {
	bool has_calls, has_gpu_work; /* in some part */
	bool corrs_repeat;	      /* two of its calls may share a correlation id */
	uint32_t highest_corr;	      /* none of its calls has a higher one */
};

struct model_totals {
	uint64_t calls, gpu_ops, syncs; /* upper bounds over all parts */
	struct process_totals *processes;
};

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

struct totals_process {
	struct process_totals totals;
	struct corr_set corrs;
};

/* Starts zeroed. */
struct totals {
	struct model_totals found; /* after totals_finish */
	ARRAY(struct totals_process) processes;
	uint32_t pages; /* of all sets */
};

/* Adds a call.  merged: the id may be an earlier call's, of which this one is a part. */
void totals_add_call(struct totals *totals, uint32_t process, uint32_t corr, bool merged);
void totals_add_gpu_work(struct totals *totals, uint32_t process);
void totals_add_sync(struct totals *totals);

/* processes: their number. */
void totals_finish(struct totals *totals, uint32_t processes);
void totals_free(struct totals *totals);
