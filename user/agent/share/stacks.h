/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The calling thread's Python stack, by the walker of bpf/; with what share.c needs of the thread. */
#ifndef GPUTRACE_AGENT_SHARE_STACKS_H
#define GPUTRACE_AGENT_SHARE_STACKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Before the first call of the others, and again for each further collector: memory for it, false where there is none.
 * pid: as the collector sees it.
 */
bool stacks_open(uint32_t pid);

/* The ring's data is someone else's from now on: the child of a fork. */
void stacks_forget(void);

/* Takes over what the collector knows of the Python, where that is new, as each stacks_take() does. */
void stacks_look(void);

/*
 * Returns enum gpt_stack_state and sets *id, which is 0 unless GPT_STACK_OK.  lost: the counter of stacks for which
 * there was no room.
 */
uint32_t stacks_take(uint64_t *id, uint32_t lost);

/* Makes the thread known to the collector at its first call. */
void stacks_announce_thread(void);

uint32_t stacks_pid(void);

/* No one listens: what was remembered goes back to the system, and the addresses stay. */
void stacks_release(void);

#endif
