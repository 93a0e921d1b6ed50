/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What `gputrace serve` counts, as a page for Prometheus (text format 0.0.4) and as lines for people.  Sums of windows
 * are added up, so that counters only grow; what is counted from the beginning on replaces what was there.  Labels are
 * numbers of GPUs and names from gputrace's own lists: nothing that a traced program can choose.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/file/sink.h"
#include "serve/totals.h"
#include "top/live_sums.h"

/* Why a window was not added up. */
enum unsummed {
	UNSUMMED_BUSY,	  /* the two before it were not added up yet */
	UNSUMMED_COST,	  /* left out for --sums-limit */
	UNSUMMED_FAILED,  /* it could not be, or took too long */
	UNSUMMED_DROPPED, /* the recording no longer had all of it */
	UNSUMMED_UNTIMED, /* no process reported times of its GPU work then */
	UNSUMMED,
};

#define METRICS_ONE(...) +1
enum { METRICS_AGENT_LOSSES = 0 GPT_AGENT_LOSSES(METRICS_ONE) };
#undef METRICS_ONE

struct metrics_gpu {
	struct live_gpu sums; /* gpu: its label, which it keeps */
	uint64_t no_work_ns;  /* idle time before the first operation of a window and after the last, without cause */
	uint64_t last_busy_ns, last_span_ns; /* of the latest window */
};

struct metrics {
	struct served_totals totals;
	bool has_profiles; /* they are written */
	uint64_t profiles, profiles_failed;
	uint64_t summed_ns, unsummed_ns[UNSUMMED];
	uint64_t agent_losses[METRICS_AGENT_LOSSES]; /* in the order of GPT_AGENT_LOSSES: the most that agents said */
	unsigned gpu_count;
	uint32_t gpus_left_out;
	struct metrics_gpu gpus[LIVE_GPUS_MOST];
};

void metrics_add_window(struct metrics *metrics, const struct live_sums *sums);
void metrics_put(const struct metrics *metrics, struct sink *page);

/* The same in a few lines, each with its line end. */
void metrics_put_status(const struct metrics *metrics, struct sink *lines);
