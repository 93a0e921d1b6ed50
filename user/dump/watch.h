/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Since when processes that are looked at again and again do not get on.  A thread gets on when its Python stack is
 * another one, or when it ran for 2 % of the time; one that only wakes by a clock does not.
 */
#ifndef GPUTRACE_DUMP_WATCH_H
#define GPUTRACE_DUMP_WATCH_H

#include "dump/graph.h"
#include "dump/kernel.h"
#include "dump/ranks.h"

/* One that runs, or waits in a CUDA call, at one line may compute: so many times as long is a hang. */
#define WATCH_RUNS_TIMES 10

struct watched_thread {
	pid_t tid;
	struct thread_runs runs;
	uint64_t stack_hash;
	bool has_frames;		     /* that were read whole */
	uint64_t not_run_ns, same_frames_ns; /* the first look since which it has not run; has the same frames */
};

struct watched {
	pid_t pid, parent;
	uint64_t start_ticks;		      /* with the pid it says which process is meant */
	uint64_t still_ns, line_ns;	      /* since when no thread gets on; since when no stack is another one */
	uint64_t seen_ns;		      /* latest look */
	uint64_t judged_ns;		      /* latest whole look at it, 0: none; */
	bool hung;			      /* then */
	ARRAY(struct watched_thread) threads; /* of the latest look */
};

struct watch {
	ARRAY(struct watched) list;
};

enum watch_state {
	WATCH_GETS_ON,
	WATCH_STILL,   /* no thread of it or its descendants got on for the limit */
	WATCH_AT_LINE, /* no stack became another one for WATCH_RUNS_TIMES the limit */
};

/*
 * Compares looks (LOOK_STACKS, or deeper ones) with those before; what is not among them is forgotten.  The parent of a
 * process that has ended has got on: it may have waited for that.
 */
void watch_take(struct watch *watch, const look_list *looks, uint64_t now_ns);
void watch_free(struct watch *watch);

/*
 * Of a process with its descendants among the looks that were taken last.  For the limit after it was judged it is
 * WATCH_GETS_ON again; after it was judged to hang, until one of them has got on.
 */
enum watch_state watch_state_of(const struct watch *watch, const look_list *looks, pid_t pid, uint64_t limit_ns,
				uint64_t now_ns);
void watch_judged(struct watch *watch, pid_t pid, bool hangs, uint64_t now_ns);

/* Gives the threads of whole looks, which were taken last, how long the watch has known them where they are. */
void watch_say_since(const struct watch *watch, const look_list *looks);

/*
 * Whether one of a process and its descendants that stands still so hangs, by a whole look (LOOK_ALL): its first
 * thread waits, directly or by others, for something that was looked at or cannot come from outside.  Not: a server
 * that waits for a request, a program that sleeps.
 */
bool watch_is_hang(const look_list *looks, const struct graph *graph, const rank_list *ranks, pid_t pid,
		   enum watch_state state);

#endif
