/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes that hang on their GPU while they are recorded: a call of CUDA's does not return, nothing more is launched,
 * and no work ends.  A thread has one such call at a time, its latest.  Times are those at which records were seen.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/cuda_api.h>
#include <gputrace/record.h>

#define LIVE_PROCESSES 256u
#define LIVE_OPEN_CALLS 8192u /* threads whose latest call is known */

struct live_hangs {
	struct live_process {
		uint32_t pid;	   /* 0: free */
		uint64_t moved_ns; /* its latest launch, or when work was reported to have ended */
		bool has_work;	   /* some has ended */
		bool is_reported;  /* it hangs, and was returned */
	} processes[LIVE_PROCESSES];
	/* In both tables an entry is at most 15 places after that of its hash. */
	struct live_thread_call {
		uint32_t pid, tid; /* pid 0: free */
		uint32_t corr;	   /* 0: it has returned */
		uint16_t api;
		uint64_t since_ns;
	} threads[LIVE_OPEN_CALLS];
	struct live_open_call {
		uint32_t pid, corr; /* corr 0: free */
		uint32_t thread;    /* index of threads */
	} calls[LIVE_OPEN_CALLS];
	uint8_t classes[GPT_API(GPT_DOMAIN_RUNTIME + 1, 0)]; /* by api: enum gpt_api_class */
	uint64_t rests_until_ns; /* what hangs until then hangs with what was returned last */
	uint64_t next_ns;	 /* when to look again */
};

void live_hangs_init(struct live_hangs *hangs);

/* Any record of the kernel's: calls that begin, and processes that end. */
void live_hangs_see(struct live_hangs *hangs, const struct gpt_record *record, uint64_t now_ns);

/* Any record of an agent's batch: calls that have returned, and work that has ended. */
void live_hangs_see_agent(struct live_hangs *hangs, uint32_t pid, const struct gpt_record *record, bool is_work,
			  uint64_t now_ns);

struct live_hang {
	uint32_t pid, tid;
	uint16_t api;	   /* the call */
	uint64_t since_ns; /* nothing has moved */
};

/* Whether a process has hung for that long, and was not returned since it last moved. */
bool live_hangs_take(struct live_hangs *hangs, uint64_t longest_ns, uint64_t now_ns, struct live_hang *hang);

/* The processes with GPU work that are known, at most `most`; returns how many. */
unsigned live_hangs_processes(const struct live_hangs *hangs, uint32_t *pids, unsigned most);

/* The function's name; "a CUDA call": it is none of cuda_api.h. */
const char *live_call_name(uint16_t api);
