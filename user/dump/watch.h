/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For how long processes have made no progress, by repeated looks.  A thread makes progress when its Python stack
 * changes, or when it runs for more than 2 % of the time; waking up by a timer is no progress.
 */
#pragma once

#include "dump/graph.h"
#include "dump/process/kernel.h"
#include "dump/ranks.h"

/* A process that runs, or waits in a CUDA call, at one line may compute: it hangs after this many times the limit. */
#define WATCH_RUNS_TIMES 10

struct watched_thread {
	pid_t tid;
	struct thread_runs runs;
	uint64_t stack_hash;
	bool has_frames;		     /* its frames were read completely */
	uint64_t not_run_ns, same_frames_ns; /* first look since which it has not run; has had the same frames */
};

struct watched {
	pid_t pid, parent;
	uint64_t start_ticks;		      /* with the pid it identifies the process */
	uint64_t still_ns, line_ns;	      /* latest progress of a thread; latest change of a stack */
	uint64_t seen_ns;		      /* latest look */
	uint64_t judged_ns;		      /* latest whole look at it, 0: none */
	bool hung;			      /* the verdict of that look */
	ARRAY(struct watched_thread) threads; /* of the latest look */
};

struct watch {
	ARRAY(struct watched) list;
};

enum watch_state {
	WATCH_GETS_ON,
	WATCH_STILL,   /* no thread of it or its descendants made progress for the limit */
	WATCH_AT_LINE, /* no stack changed for WATCH_RUNS_TIMES the limit */
};

/*
 * Compares looks (LOOK_STACKS, or deeper ones) with the earlier ones; processes that are not among them are forgotten.
 * The end of a process counts as progress of its parent, which may have waited for it.
 */
void watch_take(struct watch *watch, const look_list *looks, uint64_t now_ns);
void watch_free(struct watch *watch);

/*
 * The state of a process together with its descendants; looks: the ones taken last.  After a judgement it is
 * WATCH_GETS_ON for the time of the limit; after a judgement that it hangs, also until one of them makes progress.
 */
enum watch_state watch_state_of(const struct watch *watch, const look_list *looks, pid_t pid, uint64_t limit_ns,
				uint64_t now_ns);
void watch_judged(struct watch *watch, pid_t pid, bool hangs, uint64_t now_ns);

/* Sets in the threads of whole looks, the ones taken last, for how long the watch has seen them in the same place. */
void watch_say_since(const struct watch *watch, const look_list *looks);

/*
 * In WATCH_STILL: no thread of the process or its descendants moves, whatever its two latest looks have seen, as when
 * it waits for the same thing again and again with a time-out.
 */
void watch_settle(const look_list *looks, pid_t pid);

/*
 * Whether a process in that state, or one of its descendants, hangs, by a whole look (LOOK_ALL): its first thread
 * waits, directly or through others, for something that was looked at or cannot come from outside.  A server that waits
 * for a request, or a program that sleeps, does not hang.
 */
bool watch_is_hang(const look_list *looks, const struct graph *graph, const rank_list *ranks, pid_t pid,
		   enum watch_state state);
