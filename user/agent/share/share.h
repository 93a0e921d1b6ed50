/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The way of the agent's records where there is no BPF: into a ring in memory that the collector maps, too
 * (gputrace/share.h).  What a uprobe's program does there is done here, on the same threads.
 *
 * Nothing here allocates, takes a lock or waits, but for share_join.
 */
#ifndef GPUTRACE_AGENT_SHARE_SHARE_H
#define GPUTRACE_AGENT_SHARE_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Comes together with the collector whose socket has that name; NULL: with the one that the environment names, once in
 * a process.  Nothing while another one lives.  Takes milliseconds, at most three seconds where it does not answer
 * (nine with a name); at once back where there is none.  Any thread that may wait, outside of the fork gate
 * unless it is the program's.
 */
void share_join(const char *name);

/* As the functions of agent.h that have these names; nothing where no such collector listens. */
void share_call(uint32_t corr, uint32_t api);
void share_state(uint32_t state);
void share_batch(const void *data, uint64_t bytes);
void share_stack(uint32_t what, uint64_t number);

/* The stack of the calling thread, sent if it is new, or the one that it inherits; 0: it has none. */
uint64_t share_stack_id(void);

/* Who knows for which stack a thread without Python frames works: asked at its calls. */
void share_inherit(uint64_t (*inherited)(void));

/*
 * Another profiler is about to register its buffers: the collector looks when that has finished, and only what was said
 * last counts.  share_may_resume: it has, and the agent may register again.  share_take_up: that was done.
 */
void share_give_way(void);
bool share_may_resume(void);
void share_take_up(void);

/* The session is over: what it took of memory goes back to the system, the ring's only where the collector has gone. */
void share_leave(void);

/* In the child of a fork: the ring is the parent's. */
void share_forked(void);

#endif
