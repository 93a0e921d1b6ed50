/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A child of fork has the locks as they were, and no thread that would unlock them: the loader's, the C library's,
 * CUPTI's, PyTorch's.  So a thread of the agent is inside this gate whenever it does not wait, and a fork waits until
 * no one is.  What the program's own threads do for the agent takes no such lock, or is inside, too.
 */
#ifndef GPUTRACE_AGENT_FORK_GATE_H
#define GPUTRACE_AGENT_FORK_GATE_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * From now on forks wait.  Outside of the gate, and not on a borrowed thread: before 2.36 glibc holds a lock
 * while the handlers before a fork run, and one of them may wait for what the borrowed thread has.
 */
void fork_gate_open(void);

/* In a child: called once each, in the order in which they were added; FORK_GATE_CHILDREN at most. */
#define FORK_GATE_CHILDREN 6u
void fork_gate_in_child(void (*forked)(void));

/* Waits while the program forks. */
void fork_gate_enter(void);
void fork_gate_leave(void);

/*
 * Between these a thread that is inside calls what may never return, as who has its lock may be gone with a fork.  A
 * fork waits for it as for one that is inside, but where that was in vain no other fork does.
 */
void fork_gate_begin_unsure(void);
void fork_gate_end_unsure(void);

/* Until futex_wake or futex_set, at most ns; at once back where the word is not `value`. */
void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void futex_wake(_Atomic uint32_t *word);

/* To 1, and wakes. */
void futex_set(_Atomic uint32_t *word);

/* Inside, outside while it waits: futex_wait, and until ns are over. */
void fork_gate_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void fork_gate_pause(uint64_t ns);

#endif
