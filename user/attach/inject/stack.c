/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel knows mappings, not stacks: one mapping may hold many small stacks. glibc puts a thread's descriptor at
 * the upper end of its stack and notes in it where that stack begins; a stack pointer between the two is on it. The
 * first thread's stack is the one that the kernel names [stack].
 *
 * A stack that a program cuts out of a thread's own (an array in a function) looks like the thread's own.
 */
#include "attach/inject/stack.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "attach/inject/thread_state.h"

#define PAGE 4096ULL
/* The gap that the kernel keeps between a growing stack and the mapping below it: stack_guard_gap, mm/mmap.c. */
#define GUARD_GAP (256 * PAGE)
#define SEARCHED (1u << 20) /* bytes of a stack searched upwards; seldom more are in use */
#define STACK_MAX (1ULL << 40)
/*
 * struct pthread of glibc for x86-64, nptl/descr.h, aligned to 64 bytes: tcbhead_t in 704 bytes (tcb and self, words 0
 * and 2, point to the descriptor itself), a list_t, the thread's number.
 */
#define ALIGNED 64u
#define WORD_SELF 2u
#define BYTE_TID 720u
/* From a descriptor to the end of its stack: 2,304 bytes with glibc 2.31, 2,368 with 2.36 to 2.43. */
#define TOP_MIN 1024u
#define TOP_MAX 8192u

uint64_t stack_room_to_grow(uint64_t sp, uint64_t start, uint64_t end, uint64_t limit, uint64_t below)
{
	uint64_t lowest = limit < end ? end - limit : 0;

	if (lowest < below + GUARD_GAP)
		lowest = below + GUARD_GAP;
	if (lowest > start)
		lowest = start; /* already mapped down to there */
	return sp > lowest ? sp - lowest : 0;
}

/* stackblock, stackblock_size and guardsize are consecutive in every version, but not at the same offset. */
int stack_of_descriptor(const uint64_t *words, uint64_t address, pid_t ns_tid, uint64_t sp, uint64_t *low)
{
	int32_t tid;

	memcpy(&tid, (const char *)words + BYTE_TID, sizeof(tid));
	if (words[0] != address || words[WORD_SELF] != address || tid != ns_tid || sp >= address)
		return 0;
	for (size_t i = BYTE_TID / 8 + 1; i + 2 < STACK_DESCRIPTOR_WORDS; i++) {
		uint64_t block = words[i], size = words[i + 1], guard = words[i + 2], top = block + size;

		if (block && size < STACK_MAX && block < sp && top > address + TOP_MIN && top <= address + TOP_MAX &&
		    guard < size && block + guard < sp) {
			*low = block + guard;
			return 1;
		}
	}
	return 0;
}

static bool read_descriptor(pid_t pid, uint64_t address, pid_t ns_tid, uint64_t sp, uint64_t *low)
{
	uint64_t words[STACK_DESCRIPTOR_WORDS];

	return !process_read_memory(pid, address, words, sizeof(words)) &&
	       stack_of_descriptor(words, address, ns_tid, sp, low);
}

/*
 * Searches upwards from the stack pointer, page by page: from glibc 2.42 on the stacks of many threads may be one
 * mapping, with unreadable guards in between (MADV_GUARD_INSTALL, Linux 6.13).
 */
static uint64_t search_descriptor(pid_t pid, pid_t ns_tid, const struct mapping *mapping, uint64_t sp, uint64_t *low)
{
	uint64_t words[PAGE / 8];

	for (uint64_t page = sp & ~(PAGE - 1); page < mapping->end && page < sp + SEARCHED; page += PAGE) {
		if (process_read_memory(pid, page, words, sizeof(words)))
			return 0;
		for (uint64_t at = 0; at < PAGE; at += ALIGNED)
			if (words[at / 8] == page + at && words[at / 8 + WORD_SELF] == page + at &&
			    read_descriptor(pid, page + at, ns_tid, sp, low))
				return page + at;
	}
	return 0;
}

/* Reads RLIMIT_STACK from /proc, as prlimit(2) needs CAP_SYS_RESOURCE for a process of another user. */
static uint64_t limit_of(pid_t pid)
{
	unsigned long long bytes = 0;
	char path[32], line[128];
	FILE *limits;

	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	limits = fopen(path, "re");
	while (limits && fgets(line, sizeof(line), limits) && sscanf(line, "Max stack size %llu", &bytes) != 1)
		if (!strncmp(line, "Max stack size", 14)) {
			bytes = RLIM_INFINITY;
			break;
		}
	if (limits)
		fclose(limits);
	return bytes;
}

uint64_t stack_find(pid_t pid, pid_t tid, const struct mappings *mappings, uint64_t sp, uint64_t fs_base,
		    uint64_t *room)
{
	struct thread_status status;
	const struct mapping *mapping = mappings_at(mappings, sp);
	uint64_t low = 0, descriptor = fs_base;

	*room = 0;
	if (!mapping || mapping->inode || !mapping->writable)
		return 0;
	if (mapping->first_stack) {
		if (tid != pid)
			return 0;
		*room = stack_room_to_grow(sp, mapping->start, mapping->end, limit_of(pid),
					   mapping > mappings->list.items ? mapping[-1].end : 0);
		return STACK_OF_PROCESS;
	}
	if (thread_status_read(pid, tid, &status))
		return 0;
	if (!descriptor)
		descriptor = search_descriptor(pid, status.ns_tid, mapping, sp, &low);
	else if (descriptor >= mapping->end || !read_descriptor(pid, descriptor, status.ns_tid, sp, &low))
		descriptor = 0;
	if (!descriptor)
		return 0;
	*room = sp - (low > mapping->start ? low : mapping->start);
	return descriptor;
}
