/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples of running threads and their waits: attaches the programs, and, where the user left both to gputrace
 * (activity_adapts), keeps what they cost a thread below a hundredth of its time.  The programs measure that with their
 * own clocks (bpf/here.bpf.h).  Where it is more:
 *
 *  - the rate of samples falls back to the usual one, if it had risen,
 *  - then the shortest wait that is recorded rises, twice; shorter ones cost little then,
 *  - then neither is recorded for a while.
 *
 * The rate rises where GPUs have gaps that are too short for the usual one.  Where the cost has fallen to a part of
 * that, the shortest wait falls again, and the rate may rise again; after each time that this was too early, the next
 * try comes later.  Every change for cost is noted in the log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/load/links.h"

struct attach;

struct activity {
	struct links clock, switches; /* samples; waits */
	bool adapts;
	bool rate_fell;	 /* it cost too much: it does not rise */
	bool paused;	 /* at paused_ns, for pause_ns */
	unsigned raised; /* how often the shortest wait rose, and did not fall again */
	unsigned raised_most, rate_falls, returns, pauses;
	uint64_t most_cost_ns; /* that a thread paid in one window so far */
	uint64_t start_ns, paused_ns, pause_ns, paused_sum_ns;
	uint64_t lowered_ns, return_ns;	     /* when the cost was last lowered, and how long that stays at least */
	uint64_t raised_sum_ns, rate_sum_ns; /* how long the shortest wait was raised, the rate could not rise */
	uint64_t counted_ns;		     /* when that was last counted */
	uint64_t short_gaps_ns;		     /* as last reported */
	uint64_t gaps_checked_ns, gaps_at_check_ns; /* when the rate was last decided, and by that sum */
	char online[256];			    /* the CPUs that have clocks, as the kernel lists them */
	uint64_t online_checked_ns;
	bool noted_cpus; /* the log has a note that CPUs came or went */
};

/* Called once all processes that are followed from the start are known. */
void activity_start(struct attach *attach);

void activity_tick(struct attach *attach, uint64_t now_ns);

/* Detaches, and notes what was left out. */
void activity_stop(struct attach *attach);

void activity_close(struct activity *activity);
