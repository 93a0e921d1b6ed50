/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reads of this process's memory by addresses that may be wrong: one that cannot be read is an error, and no signal. */
#ifndef GPUTRACE_AGENT_SHARE_OWN_MEMORY_H
#define GPUTRACE_AGENT_SHARE_OWN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* 0, or -1 where not all of it can be read.  By the kernel: 0.3 us and more. */
int own_memory_read(void *to, uint64_t bytes, uint64_t from);

/*
 * The same of what belongs to the calling thread as long as it runs, as its stack and its frames do: a page that the
 * kernel has read once is read without it.
 */
int own_memory_read_kept(void *to, uint64_t bytes, uint64_t from);

/*
 * Copies of the pages that one walk of a stack reads by the kernel.  A call costs more than the pages that it copies,
 * so all that the thread's last walk used are copied by one call when the next begins: a thread that launches in a loop
 * has its frames where they were.
 */
#define OWN_PAGE_BYTES 4096u
#define OWN_PAGES 16u

struct own_pages {
	uint32_t thread; /* whose last walk it was */
	uint32_t count;
	uint32_t used; /* a bit for each page */
	uint64_t numbers[OWN_PAGES];
	uint8_t copies[OWN_PAGES][OWN_PAGE_BYTES];
};

/* Begins a walk of this thread. */
void own_pages_begin(struct own_pages *pages, uint32_t thread);

/* As own_memory_read; what is longer than some pages is read as it is. */
int own_memory_read_paged(struct own_pages *pages, void *to, uint64_t bytes, uint64_t from);

/* Whether what is mapped there can be written. */
bool own_memory_is_writable(uint64_t address);

/* Called before the others.  by_call: process_vm_readv(2) may be called; else the kernel is asked by way of a file. */
void own_memory_begin(bool by_call);

/* The process's number as itself knows it. */
uint32_t own_memory_pid(void);

#endif
