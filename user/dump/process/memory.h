/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a process's memory without a time limit: for the child that looks at it (look.h), which may block on a page.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

bool memory_read(pid_t pid, uint64_t address, void *to, size_t bytes);

/* From here on process_read_memory, too, reads this process's memory as memory_read does. */
void memory_begin(pid_t pid);

/* Room for pages: 4 MB or 134 MB. */
enum memory_room {
	MEMORY_SMALL,
	MEMORY_LARGE,
};

/*
 * From here on each page of the process is read once: for what stands still, or who reads many small objects.  A page
 * that has no room replaces another.  The next call forgets the pages; the first one says how much room there is.
 * False: no memory.
 */
bool memory_keep_pages(pid_t pid, enum memory_room room);

/* From here on, reads of that process's memory are of what is there now, and leave the kept pages alone; or no more. */
void memory_read_now(bool now);

/* From here on none are kept. */
void memory_forget_pages(void);

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
