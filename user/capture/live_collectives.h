/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ranks that come late to collectives while they are recorded.  As gputrace merge has it: a rank comes when its kernel
 * begins, and the last one is late by its distance from the median rank.  Here only ranks of this machine are compared,
 * which share a clock, and only of communicators that were made while NCCL was followed: these have a name that all
 * ranks share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#include "capture/live_gaps.h"

/* Ranks have a bit. */
#define LIVE_RANKS 64u

/* Communicators; threads that have called NCCL and not launched yet; launches without a kernel; collectives. */
#define LIVE_COMMS 64u
#define LIVE_CALLERS 64u
#define LIVE_LAUNCHES 4096u
#define LIVE_COLLECTIVES 1024u

/* Which ranks are here is learned in the first collectives, unless it is all of them. */
#define LIVE_LEARNED 4u

struct live_collectives {
	struct live_comm {
		uint64_t comm_id; /* 0: free */
		uint64_t here;	  /* a bit for each rank that is recorded */
		uint64_t seen;	  /* a number, the greatest of the latest */
		int64_t first;	  /* number of its first collective that was seen */
		int32_t ranks;	  /* 0: not known */
	} comms[LIVE_COMMS];
	struct live_caller {
		uint32_t pid, tid;
		struct live_coming {
			uint64_t comm_id, time_ns;
			int64_t number;
			int32_t rank;
			uint8_t function;
		} coming;
	} callers[LIVE_CALLERS];
	struct live_nccl_launch {
		uint32_t pid, corr; /* corr 0: free */
		struct live_coming coming;
	} launches[LIVE_LAUNCHES];
	struct live_collective {
		uint64_t comm_id; /* 0: free */
		int64_t number;
		uint64_t came;		       /* a bit for each rank */
		uint64_t began_ns[LIVE_RANKS]; /* CLOCK_MONOTONIC */
		uint32_t pids[LIVE_RANKS];
	} collectives[LIVE_COLLECTIVES];
	unsigned next_caller;
	uint64_t count; /* of communicators' uses */
	bool has_compared;
};

struct live_late {
	uint64_t from_ns, to_ns; /* when the median rank came, and the last one */
	uint32_t pid;
	int32_t rank;
	int64_t number;
	uint8_t function; /* enum gpt_nccl_function */
};

/* A record of the kernel's: calls of NCCL, and those that launch. */
void live_collectives_see_call(struct live_collectives *collectives, const struct gpt_record *record);

/* GPU work; true: the last rank has come to a collective with it. */
bool live_collectives_see_work(struct live_collectives *collectives, const struct gpt_agent_batch *batch,
			       const struct live_work *work, struct live_late *late);

/* PyTorch's name of the operation. */
const char *live_collective_name(uint8_t function);
