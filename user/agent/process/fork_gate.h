/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A forked child inherits the state of locks (the loader's, the C library's, CUPTI's, PyTorch's), but no thread that
 * would unlock them. So a thread of the agent is inside this gate whenever it does not wait, and a fork waits until the
 * gate is empty. Agent code on the program's own threads takes no such lock, or is inside, too.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

/*
 * From now on forks wait. Call it outside the gate, and not on a borrowed thread: before 2.36 glibc holds a lock while
 * the handlers before a fork run, and one of them may wait for a lock of the borrowed thread.
 */
void fork_gate_open(void);

/* Adds a function to be called in the child, in order of addition; FORK_GATE_CHILDREN at most. */
#define FORK_GATE_CHILDREN 6u
void fork_gate_in_child(void (*forked)(void));

/* Waits while the program forks. */
void fork_gate_enter(void);
void fork_gate_leave(void);

/*
 * Between these a thread inside the gate calls a function that may never return, as the holder of its lock may be gone
 * with a fork. A fork waits for that thread, too; once such a wait has timed out, later forks do not wait for it.
 */
void fork_gate_begin_unsure(void);
void fork_gate_end_unsure(void);

/* Waits for futex_wake or futex_set, at most ns; returns at once if the word is not `value`. */
void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void futex_wake(_Atomic uint32_t *word);

/* Sets the word to 1 and wakes. */
void futex_set(_Atomic uint32_t *word);

/* Called inside the gate, outside it while they wait: futex_wait, and a sleep of ns. */
void fork_gate_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void fork_gate_pause(uint64_t ns);
