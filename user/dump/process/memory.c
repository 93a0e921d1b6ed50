/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/memory.h"

#include <string.h>
#include <sys/uio.h>

#include "base/array.h"

#define PAGE_BYTES 4096ull /* of x86-64, all of which can be read if a part can */
#define PAGES 1024u

struct page {
	uint64_t address;
	uint64_t time; /* of the pages that are kept now, else not in use */
	uint8_t bytes[PAGE_BYTES];
};

static struct page *pages;
static uint64_t now; /* 0: none are kept */
static uint64_t times;

static bool read_memory(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec here = {to, bytes}, there = {(void *)(uintptr_t)address, bytes};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static const struct page *read_page(pid_t pid, uint64_t address)
{
	struct page *page = &pages[address / PAGE_BYTES % PAGES];

	if (page->time == now && page->address == address)
		return page;
	page->time = 0;
	if (!read_memory(pid, address, page->bytes, PAGE_BYTES))
		return NULL;
	page->address = address;
	page->time = now;
	return page;
}

bool memory_read(pid_t pid, uint64_t address, void *to, size_t bytes)
{
	uint8_t *at = to;

	if (!now)
		return read_memory(pid, address, to, bytes);
	while (bytes) {
		uint64_t start = address & ~(PAGE_BYTES - 1), skip = address - start;
		size_t part = bytes < PAGE_BYTES - skip ? bytes : (size_t)(PAGE_BYTES - skip);
		const struct page *page = read_page(pid, start);

		if (!page)
			return false;
		memcpy(at, page->bytes + skip, part);
		at += part;
		address += part;
		bytes -= part;
	}
	return true;
}

void memory_keep_pages(bool keep)
{
	if (keep && !pages)
		pages = xcalloc(PAGES, sizeof(*pages));
	now = keep ? ++times : 0;
}
