/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums of a span of a log as plain numbers, without pointers: for /metrics, and to be handed to another process. */
#pragma once

#include <stdint.h>

#include <gputrace/losses.h>

#include "analyze/why/causes.h"
#include "top/live_log.h"

/* The GPUs that have numbers, the first ones; other ones are counted. */
#define LIVE_GPUS_MOST 64u

struct live_gpu {
	uint32_t gpu;	  /* as in reports of this span: another GPU may have that number in another one */
	uint8_t uuid[16]; /* which it is; all 0: not known */
	uint64_t busy_ns, launches;
	uint64_t idle_ns[WHY_CAUSES]; /* between two operations, by enum why_cause */
};

struct live_sums {
	uint64_t span_ns; /* in which GPU times are known */
	uint32_t gpu_count, gpus_left_out;
	struct live_gpu gpus[LIVE_GPUS_MOST];
	/* what agents have lost, from the beginning of the recording on; of those that reported in the span */
#define LIVE_LOSS(member, ...) uint64_t member;
	GPT_AGENT_LOSSES(LIVE_LOSS)
#undef LIVE_LOSS
};

/* The busy and idle time is the report's of that span.  0 or -errno of reading. */
int live_log_sums(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, struct live_sums *sums);

/* Whether numbers can be right: they come from a process that has read what other programs wrote. */
bool live_sums_make_sense(const struct live_sums *sums);
