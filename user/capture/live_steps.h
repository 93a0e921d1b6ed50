/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training while they run, from PyTorch's ops as agents report them: what torch.profiler calls a step, or from
 * the end of an optimizer's step to the end of its next one.  A report finds steps in the log, with more care
 * (model/steps/); this only has to know a slow one soon.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

/* Threads that make steps, names of steps, and steps of a thread of which the median is known. */
#define LIVE_THREADS 64u
#define LIVE_NAMES 256u
#define LIVE_STEPS 64u

/* Of torch.profiler's steps of a process, each of which has a name of its own, the latest. */
#define LIVE_PROFILED 4u

/* A median of fewer says little. */
#define LIVE_STEPS_LEAST 10u

struct live_thread {
	uint32_t pid, tid, name; /* name: of its optimizer, 0: none yet */
	uint64_t last_end_ns;	 /* of the last step */
	bool by_profiler;	 /* its steps are torch.profiler's */
	uint64_t lasted_ns[LIVE_STEPS];
	unsigned count; /* of its steps so far */
};

/* Zeroed: none. */
struct live_steps {
	struct live_name {
		uint32_t pid, name;
		bool of_profiler;
		uint64_t seen; /* greater than that of all before it; 0: free */
	} names[LIVE_NAMES];   /* free ones come last */
	uint64_t name_count;   /* in all; the latest are kept */
	struct live_thread threads[LIVE_THREADS];
	unsigned thread_count;
};

/* A step that has ended. */
struct live_step {
	uint64_t ns, end_ns;
	uint64_t median_ns; /* of the steps of its thread before it, 0: not known yet */
};

/* Any record of an agent's batch; true: a step has ended with it. */
bool live_steps_see(struct live_steps *steps, uint32_t pid, const struct gpt_record *record, struct live_step *step);
