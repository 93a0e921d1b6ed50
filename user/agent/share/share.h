/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Sends the agent's records without BPF: into a ring in memory that the collector maps, too (gputrace/share.h). It does
 * the work of the uprobes' programs, on the same threads.
 *
 * Only share_join allocates, takes locks or waits.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Connects to the collector whose socket has that name; NULL: to the one that the environment names, once in a process.
 * Does nothing while another collector lives. Takes milliseconds, at most three seconds if the collector does not
 * answer (nine with a name); returns at once if there is none. On any thread that may wait; outside the fork gate
 * unless it is the program's. False: not tried, as the program's filters of system calls may kill it for that; whoever
 * gives a name has looked at them.
 */
bool share_join(const char *name);

/* As the functions of agent.h with these names; do nothing without such a collector. */
void share_call(uint32_t corr, uint32_t api);
void share_state(uint32_t state);
void share_batch(const void *data, uint64_t bytes);
void share_stack(uint32_t what, uint64_t number);

/* The id of the calling thread's stack, sent if it is new, or of its inherited stack; 0: none. */
uint64_t share_stack_id(void);

/* Sets the function that gives the inherited stack of a thread without Python frames; it is called at its calls. */
void share_inherit(uint64_t (*inherited)(void));

/*
 * Another profiler is about to register its buffers: the collector watches for its end, and only the latest report
 * counts. share_may_resume: it has finished, and the agent may register again. share_take_up: the agent has registered.
 */
void share_yield(void);
bool share_may_resume(void);
void share_take_up(void);

/* The session is over: returns its memory to the system, the ring's only if the collector has gone. */
void share_leave(void);

/* In the child of a fork: the ring is the parent's. */
void share_forked(void);
