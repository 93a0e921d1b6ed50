/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a process's memory without a time limit: for the child that looks at it (look.h), which may block on a page.
 */
#ifndef GPUTRACE_DUMP_MEMORY_H
#define GPUTRACE_DUMP_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

bool memory_read(pid_t pid, uint64_t address, void *to, size_t bytes);

/*
 * From here on each page is read once, of one process: for what stands still.  The next call forgets the pages; false:
 * and no more are kept.
 */
void memory_keep_pages(bool keep);

/* 0: not readable. */
static inline uint64_t memory_word(pid_t pid, uint64_t address)
{
	uint64_t word;

	return memory_read(pid, address, &word, sizeof(word)) ? word : 0;
}

static inline uint32_t memory_int(pid_t pid, uint64_t address)
{
	uint32_t word;

	return memory_read(pid, address, &word, sizeof(word)) ? word : 0;
}

#endif
