/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reads this process's memory at addresses that may be invalid: such a read returns an error and raises no signal. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Returns 0, or -1 if not all of it can be read. A system call: 0.3 us and more. */
int own_memory_read(void *to, uint64_t bytes, uint64_t from);

/*
 * The same for memory that the calling thread keeps as long as it runs, such as its stack and frames: a page that the
 * kernel could read once is then read directly.
 */
int own_memory_read_kept(void *to, uint64_t bytes, uint64_t from);

/*
 * Copies of the pages that a stack walk reads through the kernel. A system call costs more than copying the pages, so
 * one call at the start of a walk copies all pages that the thread's last walk used: a thread that launches in a loop
 * has its frames at the same place.
 */
#define OWN_PAGE_BYTES 4096u
#define OWN_PAGES 16u

struct own_pages {
	uint32_t thread; /* whose last walk used them */
	uint32_t count;
	uint32_t used; /* a bit for each page */
	uint64_t numbers[OWN_PAGES];
	uint8_t copies[OWN_PAGES][OWN_PAGE_BYTES];
};

/* Begins a walk of this thread. */
void own_pages_begin(struct own_pages *pages, uint32_t thread);

/* As own_memory_read; reads longer than a few pages are not cached. */
int own_memory_read_paged(struct own_pages *pages, void *to, uint64_t bytes, uint64_t from);

/* Whether what is mapped there can be written. */
bool own_memory_is_writable(uint64_t address);

/*
 * Whether the program has set a filter of system calls since own_memory_begin: it may kill the caller of what reads
 * memory, so only own_memory_read_kept still reads. Not seen if there was a filter and no_new_privs before.
 */
bool own_memory_is_filtered(void);

/*
 * Call it first. by_call: the filters that the process has allow process_vm_readv(2); else, if it has any, memory is
 * read through a file.
 */
void own_memory_begin(bool by_call);

/* The pid in the process's own pid namespace. */
uint32_t own_memory_pid(void);
