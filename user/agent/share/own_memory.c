/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/own_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/own_maps.h"

#define PAGE_BITS 12
#define PAGES 1024u /* remembered: a power of two */

static struct {
	pid_t pid;
	bool by_call;
	uint64_t pages[PAGES]; /* numbers of pages that were read, 0: none */
} own;

void own_memory_begin(bool by_call)
{
	own.pid = getpid();
	own.by_call = by_call;
}

uint32_t own_memory_pid(void)
{
	return (uint32_t)own.pid;
}

/* Opened each time: of a descriptor that stays open no one knows what the program makes of it. */
static int read_file(void *to, uint64_t bytes, uint64_t from)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = pread(fd, to, bytes, (off_t)from);
	close(fd);
	return got == (ssize_t)bytes ? 0 : -1;
}

int own_memory_read(void *to, uint64_t bytes, uint64_t from)
{
	struct iovec here = {.iov_base = to, .iov_len = bytes}, there = {.iov_base = (void *)from, .iov_len = bytes};

	if (!own.by_call)
		return read_file(to, bytes, from);
	return syscall(SYS_process_vm_readv, own.pid, &here, 1ul, &there, 1ul, 0ul) == (long)bytes ? 0 : -1;
}

static uint64_t *place_of(uint64_t page)
{
	return &own.pages[(page ^ page >> 10) & (PAGES - 1)];
}

static bool are_known(uint64_t first, uint64_t last)
{
	for (; first <= last; first++)
		if (__atomic_load_n(place_of(first), __ATOMIC_RELAXED) != first)
			return false;
	return true;
}

int own_memory_read_kept(void *to, uint64_t bytes, uint64_t from)
{
	uint64_t first = from >> PAGE_BITS, last = (from + bytes - 1) >> PAGE_BITS;

	if (last < first || !bytes)
		return -1;
	if (are_known(first, last)) {
		memcpy(to, (const void *)from, bytes);
		return 0;
	}
	if (own_memory_read(to, bytes, from))
		return -1;
	for (; first <= last; first++)
		__atomic_store_n(place_of(first), first, __ATOMIC_RELAXED);
	return 0;
}

/* A copy of the page, NULL where it cannot be read. */
static const uint8_t *copy_of(struct own_pages *pages, uint64_t page)
{
	uint32_t i;

	if (!page)
		return NULL;
	for (i = 0; i < pages->count; i++)
		if (pages->numbers[i] == page)
			return pages->copies[i];
	i = pages->count < OWN_PAGES ? pages->count : pages->next++ % OWN_PAGES;
	pages->numbers[i] = 0; /* a read that fails may have changed the copy */
	if (own_memory_read(pages->copies[i], OWN_PAGE_BYTES, page << PAGE_BITS))
		return NULL;
	pages->numbers[i] = page;
	if (pages->count == i)
		pages->count++;
	return pages->copies[i];
}

int own_memory_read_paged(struct own_pages *pages, void *to, uint64_t bytes, uint64_t from)
{
	uint64_t at = from & (OWN_PAGE_BYTES - 1), first = bytes;
	const uint8_t *copy;

	if (from + bytes < from)
		return -1;
	if (first > OWN_PAGE_BYTES - at)
		first = OWN_PAGE_BYTES - at;
	copy = copy_of(pages, from >> PAGE_BITS);
	if (!copy)
		return -1;
	memcpy(to, copy + at, first);
	return first == bytes ? 0 : own_memory_read_paged(pages, (uint8_t *)to + first, bytes - first, from + first);
}

struct search {
	uint64_t address;
	bool writable;
};

/* "start-end rwxp ..." */
static void look_at(char *line, void *context)
{
	struct search *search = context;
	char *at;
	uint64_t start = strtoull(line, &at, 16), end = *at ? strtoull(at + 1, &at, 16) : 0;

	if (search->address - start < end - start && end > start)
		search->writable = !strncmp(at, " rw", 3);
}

bool own_memory_is_writable(uint64_t address)
{
	struct search search = {.address = address};

	own_maps_each(look_at, &search);
	return search.writable;
}
