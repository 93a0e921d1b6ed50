/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Processes and threads by the kernel's numbers, which are reused.  A pid means the latest process that had it.  An
 * address space ("epoch") is the scope of numbers inside a process (addresses, stack ids, correlation ids); a new one
 * starts at each exec.
 */
#pragma once

#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"

struct process_state {
	uint32_t epoch;		    /* never 0 */
	uint32_t epoch_before;	    /* before the latest exec; 0: none */
	uint64_t exec_ns;	    /* of the latest exec */
	uint32_t clock;		    /* its track in wall_clock.h, NONE */
	uint64_t described_ns;	    /* of the latest description */
	uint64_t borrow_stopped_ns; /* when the agent reported that it no longer borrows CUPTI, 0: never */
	uint32_t earlier_corr;	    /* the highest reported id of a call from before the recording, 0: none */
	bool forked;		    /* it began with a fork: a further fork of this pid is another process */
};

/* How CUPTI may name a thread; 0: not known. */
struct thread_names {
	uint32_t own_tid; /* in the thread's own pid namespace */
	uint32_t pointer; /* lower half of pthread_self() */
};

struct process_table {
	struct string_pool *strings;
	ARRAY(struct model_process) list;
	ARRAY(struct process_state) states; /* parallel to list */
	ARRAY(struct model_thread) threads;
	ARRAY(uint32_t) open_calls;		 /* parallel to threads: the latest call seen by a symbol probe, NONE */
	ARRAY(struct thread_names) thread_names; /* parallel to threads */
	struct lookup by_pid;			 /* (1, pid) to the latest process */
	struct lookup by_tid;			 /* (process + 1, tid) to thread */
	struct lookup by_own_tid;		 /* (process + 1, thread_names.own_tid) to the latest thread */
	uint32_t last_epoch;
	/* The latest look-up, which is nearly always the next one, too.  pid 0: none. */
	struct {
		uint32_t pid, process;
	} last_process;
	struct lookup_latest last_threads; /* of by_tid */
};

void process_table_free(struct process_table *processes);

/* Index of the process that has this pid now, created if it is new. */
uint32_t process_table_find(struct process_table *processes, uint32_t pid);
/* The process that has the pid now, NONE: none that is known, or it has ended. */
uint32_t process_table_known(struct process_table *processes, uint32_t pid);
struct process_image process_table_image(struct process_table *processes, uint32_t pid);

/* Its process image at time_ns: a record of that time may come after a later exec. */
struct process_image process_table_image_at(struct process_table *processes, uint32_t pid, uint64_t time_ns);

/* The address space of a process at time_ns. */
static inline uint32_t epoch_at(const struct process_state *state, uint64_t time_ns)
{
	return time_ns < state->exec_ns && state->epoch_before ? state->epoch_before : state->epoch;
}

/* Whether it is known of the process that it was forked only after that time. */
bool process_began_after(const struct process_table *processes, uint32_t process, uint64_t time_ns);

uint32_t process_table_find_thread(struct process_table *processes, uint32_t process, uint32_t tid);

/* Whether a thread of the process has that number in its own pid namespace. */
bool process_table_has_own_tid(const struct process_table *processes, uint32_t process, uint32_t own_tid);

/* Events of processes and threads, in the order of the source. */
void process_table_add_thread(struct process_table *processes, const struct new_thread *thread);
void process_table_add_fork(struct process_table *processes, const struct gpt_process_event *fork);
void process_table_add_exec(struct process_table *processes, const struct gpt_process_event *exec);
void process_table_add_exit(struct process_table *processes, const struct gpt_process_event *exit);
void process_table_describe(struct process_table *processes, const struct new_description *description);

/* Names processes that were never described. */
void process_table_finish(struct process_table *processes);
