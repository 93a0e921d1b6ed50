/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/memory_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define PAGE 4096u
#define CHUNK_PAGES 4u
#define CHUNK (CHUNK_PAGES * PAGE)
#define CHUNKS 8192u

struct chunk {
	uint64_t address; /* 0: none */
	uint8_t readable; /* a bit for each page */
};

struct memory_cache {
	pid_t pid;
	struct chunk chunks[CHUNKS];
	uint8_t bytes[CHUNKS][CHUNK];
};

struct memory_cache *memory_cache_new(pid_t pid)
{
	struct memory_cache *cache =
		mmap(NULL, sizeof(*cache), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (cache == MAP_FAILED)
		return NULL;
	cache->pid = pid;
	return cache;
}

static size_t copy(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

static void fill(const struct memory_cache *cache, struct chunk *chunk, uint8_t *bytes)
{
	size_t got = copy(cache->pid, chunk->address, bytes, CHUNK);

	chunk->readable = (uint8_t)((1u << got / PAGE) - 1);
	for (unsigned page = (unsigned)(got / PAGE) + 1; page < CHUNK_PAGES; page++)
		if (copy(cache->pid, chunk->address + page * PAGE, bytes + page * PAGE, PAGE) == PAGE)
			chunk->readable |= (uint8_t)(1u << page);
}

int memory_cache_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	struct memory_cache *cache = context;
	uint8_t *to = buffer;

	if (address + bytes < address)
		return -EFAULT;
	while (bytes) {
		uint64_t start = address & ~(uint64_t)(CHUNK - 1);
		uint64_t hash = start / CHUNK * 0x9e3779b97f4a7c15ULL;
		size_t index = hash >> 51, offset = (size_t)(address - start), some;
		struct chunk *chunk = &cache->chunks[index];

		if (!start)
			return -EFAULT;
		if (chunk->address != start) {
			chunk->address = start;
			fill(cache, chunk, cache->bytes[index]);
		}
		if (!(chunk->readable >> offset / PAGE & 1))
			return -EFAULT;
		some = PAGE - offset % PAGE;
		some = some < bytes ? some : bytes;
		memcpy(to, cache->bytes[index] + offset, some);
		to += some;
		address += some;
		bytes -= some;
	}
	return 0;
}
