/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Copies of a process's memory, page by page, for who reads many small objects of it: a page is read once.  What was
 * read may have changed since.  For the child that looks at a process (look.h), which ends soon after.
 */
#ifndef GPUTRACE_DUMP_MEMORY_CACHE_H
#define GPUTRACE_DUMP_MEMORY_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_cache;

/* NULL: no memory.  It takes at most 130 MB; a page that has no room replaces another. */
struct memory_cache *memory_cache_new(pid_t pid);

/* 0 or -EFAULT; to be given to process_read_by. */
int memory_cache_read(void *cache, uint64_t address, void *buffer, size_t bytes);

#endif
