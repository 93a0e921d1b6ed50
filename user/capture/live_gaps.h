/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gaps between the GPU work of a process while it is recorded, from the work as agents report it.  Records of work come
 * in no order, as each thread has its own buffers: a gap counts when nothing in it was reported for a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#define LIVE_GAP_WAITS_NS 1000000000ull

/* The latest that work is reported after its end: the time until buffers are handed over, and that of waiting. */
#define LIVE_LATE_NS (30 * LIVE_GAP_WAITS_NS)

/*
 * The most pairs of process and GPU that are watched, and gaps that wait; of one process, which may say anything, less.
 */
#define LIVE_GPUS 256u
#define LIVE_GPUS_OF_PROCESS 64u
#define LIVE_GAPS 64u
#define LIVE_GAPS_OF_PROCESS 16u

/* A process's GPU, and the clock of times of its work: another profiler's buffers have another one than the agent's. */
struct live_place {
	uint32_t pid, device;
	bool is_monotonic; /* CLOCK_MONOTONIC; else CUPTI's, the wall clock in most cases */
};

struct live_gap {
	struct live_place place;
	uint64_t from_ns, to_ns;
	uint64_t seen_ns; /* CLOCK_MONOTONIC */
};

/* Zeroed but for least_ns: none. */
struct live_gaps {
	uint64_t least_ns; /* the shortest gap that counts, 0: none does */
	struct live_gap_gpu {
		struct live_place place;
		uint64_t first_ns, end_ns; /* of its work so far */
		uint64_t seen_ns;	   /* CLOCK_MONOTONIC: when the latest was reported */
	} gpus[LIVE_GPUS];
	struct live_gap gaps[LIVE_GAPS];
	unsigned gpu_count, gap_count;
};

/* How much later the clock of times of GPU work is than CLOCK_MONOTONIC. */
uint64_t live_wall_offset_ns(bool is_monotonic);

/* GPU work in a record of an agent's batch. */
struct live_work {
	uint32_t device, corr;
	uint64_t start_ns, end_ns;
};

/* False: the record is none that has ended. */
bool live_work_of(const struct gpt_record *record, struct live_work *work);

void live_gaps_see(struct live_gaps *gaps, const struct gpt_agent_batch *batch, const struct live_work *work,
		   uint64_t now_ns);

/* All that count at one time, in CLOCK_MONOTONIC. */
struct live_gaps_taken {
	unsigned count;
	bool makes_sense; /* the times can be right; those of other gaps are left out then */
	struct live_gap longest;
	uint64_t from_ns, to_ns; /* of all of them */
};

/* False: none does. */
bool live_gaps_take(struct live_gaps *gaps, uint64_t now_ns, struct live_gaps_taken *taken);

/*
 * Whether a GPU had work of the process before that.  While a program starts it loads code before it has any, and
 * nothing waits for that.  Records of calls may be reported after those of later work.
 */
bool live_gaps_have_work(const struct live_gaps *gaps, uint32_t pid, uint64_t before_ns);
