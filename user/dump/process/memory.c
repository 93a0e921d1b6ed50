/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "target/process.h"

#define PAGE 4096u /* of x86-64, all of which can be read if a part can */
#define PAGE_BITS 12

/* As powers of two. Chunks of several pages take fewer calls, but copy more than is read. */
static const struct room {
	unsigned chunk_bits, count_bits;
} rooms[] = {
	[MEMORY_SMALL] = {.chunk_bits = PAGE_BITS, .count_bits = 10},
	[MEMORY_LARGE] = {.chunk_bits = PAGE_BITS + 2, .count_bits = 13},
};

struct chunk {
	uint64_t address;
	uint64_t generation; /* of the chunks that are kept now, else not in use */
	uint8_t readable;    /* a bit for each page */
};

static struct {
	struct room room;
	struct chunk *chunks;
	uint8_t *bytes; /* of all chunks */
	pid_t pid;	/* whose pages are kept; 0: no one's */
	bool is_passed; /* memory_read_now */
	uint64_t generation;
} cache;

static size_t copy_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static void fill_chunk(struct chunk *chunk, uint8_t *bytes, uint64_t address)
{
	size_t got = copy_memory(cache.pid, address, bytes, 1u << cache.room.chunk_bits);

	chunk->address = address;
	chunk->generation = cache.generation;
	chunk->readable = (uint8_t)((1u << got / PAGE) - 1);
	for (unsigned page = (unsigned)(got / PAGE) + 1; page << PAGE_BITS < 1u << cache.room.chunk_bits; page++)
		if (copy_memory(cache.pid, address + page * PAGE, bytes + page * PAGE, PAGE) == PAGE)
			chunk->readable |= (uint8_t)(1u << page);
}

static bool read_kept(uint64_t address, uint8_t *to, size_t bytes)
{
	const struct room *room = &cache.room;

	if (address + bytes < address)
		return false;
	while (bytes) {
		size_t offset = address & ((1u << room->chunk_bits) - 1), part = PAGE - offset % PAGE;
		size_t index = address >> room->chunk_bits & ((1u << room->count_bits) - 1);
		struct chunk *chunk = &cache.chunks[index];
		uint8_t *kept = cache.bytes + (index << room->chunk_bits);

		if (chunk->generation != cache.generation || chunk->address != address - offset)
			fill_chunk(chunk, kept, address - offset);
		if (!(chunk->readable >> offset / PAGE & 1))
			return false;
		part = part < bytes ? part : bytes;
		memcpy(to, kept + offset, part);
		to += part;
		address += part;
		bytes -= part;
	}
	return true;
}

bool memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	return pid == cache.pid && !cache.is_passed ? read_kept(address, to, bytes)
						    : copy_memory(pid, address, to, bytes) == bytes;
}

static int read_for_process(void *context, uint64_t address, void *buffer, size_t bytes)
{
	return memory_read(*(const pid_t *)context, address, buffer, bytes) ? 0 : -EFAULT;
}

void memory_begin(pid_t pid)
{
	static pid_t begun;

	begun = pid;
	process_read_by(pid, read_for_process, &begun);
}

static bool make_room(const struct room *room)
{
	size_t count = 1u << room->count_bits, bytes = count << room->chunk_bits;
	void *base = mmap(NULL, bytes + count * sizeof(struct chunk), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return false;
	cache.room = *room;
	cache.bytes = base;
	cache.chunks = (void *)(cache.bytes + bytes);
	return true;
}

bool memory_keep_pages(pid_t pid, enum memory_room room)
{
	if (!cache.chunks && !make_room(&rooms[room]))
		return false;
	memory_begin(pid);
	cache.pid = pid;
	cache.generation++;
	return true;
}

void memory_read_now(bool now)
{
	cache.is_passed = now;
}

void memory_forget_pages(void)
{
	cache.pid = 0;
}
