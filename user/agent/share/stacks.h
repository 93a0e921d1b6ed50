/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Takes the calling thread's Python stack, with the walker of bpf/; and what share.c needs of the thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Call it first, and again for each further collector. False: no memory. pid: as the collector sees it. */
bool stacks_open(uint32_t pid);

/* In the child of a fork: the ring's data is the parent's from now on. */
void stacks_forget(void);

/* Takes over new facts that the collector has about the Python, as each stacks_take() does. */
void stacks_look(void);

/*
 * Returns an enum gpt_stack_state and sets *id, which is 0 unless GPT_STACK_OK. lost: which counter to raise for stacks
 * without room.
 */
uint32_t stacks_take(uint64_t *id, uint32_t lost);

/* Makes the thread known to the collector at its first call. */
void stacks_announce_thread(void);

uint32_t stacks_pid(void);

/* Without a listener: returns the memory to the system; the addresses stay mapped. */
void stacks_release(void);
