/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* gputrace's threads in another program's process, and what they wait for. */
#ifndef GPUTRACE_AGENT_OWN_THREAD_H
#define GPUTRACE_AGENT_OWN_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Detached, and inside the gate (fork_gate.h).  It blocks all signals: the application's handlers must not run on a
 * thread that it did not make.
 */
bool own_thread_start(void (*run)(void));

/* Why that one could not be made, as far as can be seen now: the limit's name. */
const char *own_thread_why_not(void);

/* Until futex_wake or futex_set, at most ns; at once back where the word is not `value`. */
void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns);
void futex_wake(_Atomic uint32_t *word);

/* To 1, and wakes. */
void futex_set(_Atomic uint32_t *word);

#endif
