/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/own_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "agent/process/own_maps.h"

#define PAGE_BITS 12
#define PAGES 1024u /* remembered pages: a power of two */

static struct {
	pid_t pid;
	bool by_call;
	int asked, answer;     /* a prctl(2) that shows a new filter by another answer than this; asked 0: none does */
	bool filtered;	       /* a filter came after the collector had looked */
	uint64_t pages[PAGES]; /* numbers of pages that could be read, 0: none */
} own;

/*
 * A first filter changes PR_GET_SECCOMP. A further one does not, but without CAP_SYS_ADMIN the thread then has
 * no_new_privs, too, which a container's filter may leave clear: seccomp(2). If both are set already nothing shows a
 * new filter; then memory is read by calls that few filters forbid.
 */
void own_memory_begin(bool by_call)
{
	bool filter = prctl(PR_GET_SECCOMP);

	own.pid = getpid();
	own.filtered = false;
	own.asked = filter ? PR_GET_NO_NEW_PRIVS : PR_GET_SECCOMP;
	own.answer = prctl(own.asked, 0, 0, 0, 0);
	if (own.answer)
		own.asked = 0;
	own.by_call = (by_call || !filter) && own.asked;
}

bool own_memory_is_filtered(void)
{
	if (!own.filtered && own.asked && prctl(own.asked, 0, 0, 0, 0) != own.answer)
		own.filtered = true;
	return own.filtered;
}

uint32_t own_memory_pid(void)
{
	return (uint32_t)own.pid;
}

/*
 * Opens the file each time: the program could close or replace a descriptor that stays open. It is in the program's
 * table: a thread with a table of its own needs close_range(2), which a filter may forbid, and without a filter
 * process_vm_readv(2) reads.
 */
static int64_t copy_by_file(uint8_t *to, const struct iovec *there, uint32_t count)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int64_t got = 0;

	if (fd < 0)
		return -1;
	for (uint32_t i = 0; i < count; i++) {
		size_t bytes = there[i].iov_len;

		if (pread(fd, to + got, bytes, (off_t)there[i].iov_base) != (ssize_t)bytes)
			break;
		got += (int64_t)bytes;
	}
	close(fd);
	return got;
}

/* Copies the pieces in order; returns the bytes of those before the first unreadable one, or -1. */
static int64_t copy_pieces(void *to, uint64_t bytes, const struct iovec *there, uint32_t count)
{
	struct iovec here = {.iov_base = to, .iov_len = bytes};

	if (own_memory_is_filtered())
		return -1;
	if (!own.by_call)
		return copy_by_file(to, there, count);
	return syscall(SYS_process_vm_readv, own.pid, &here, 1ul, there, (unsigned long)count, 0ul);
}

int own_memory_read(void *to, uint64_t bytes, uint64_t from)
{
	struct iovec there = {.iov_base = (void *)from, .iov_len = bytes};

	return copy_pieces(to, bytes, &there, 1) == (int64_t)bytes ? 0 : -1;
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

/*
 * The kernel copies a new signal mask before it looks at what to do with it, so nothing changes for a wrong request. C
 * libraries make this call for each thread that they start: a program with threads cannot do without it.
 */
static bool is_mapped(uint64_t page)
{
	return syscall(SYS_rt_sigprocmask, ~0, page << PAGE_BITS, NULL, 8ul) && errno == EINVAL;
}

/* Reads pages that stay mapped, under a filter: only whether they are mapped is asked. */
static int read_mapped(void *to, uint64_t bytes, uint64_t from, uint64_t first, uint64_t last)
{
	for (; first <= last; first++)
		if (!is_mapped(first))
			return -1;
	memcpy(to, (const void *)from, bytes);
	return 0;
}

int own_memory_read_kept(void *to, uint64_t bytes, uint64_t from)
{
	uint64_t first = from >> PAGE_BITS, last = (from + bytes - 1) >> PAGE_BITS;

	if (last < first || !bytes || !first) /* page 0 is the mark of a free place, and never mapped */
		return -1;
	if (are_known(first, last)) {
		memcpy(to, (const void *)from, bytes);
		return 0;
	}
	if (own_memory_is_filtered() ? read_mapped(to, bytes, from, first, last) : own_memory_read(to, bytes, from))
		return -1;
	for (; first <= last; first++)
		__atomic_store_n(place_of(first), first, __ATOMIC_RELAXED);
	return 0;
}

/* ---- pages of a walk -------------------------------------------------------------------------------------------- */

#define PAGED_BYTES (4 * OWN_PAGE_BYTES)

/* Copies the pages from `first` on; drops the first unreadable one and all after it. */
static void copy_pages(struct own_pages *pages, uint32_t first)
{
	uint32_t count = pages->count - first;
	struct iovec there[OWN_PAGES];
	int64_t got;

	if (!count)
		return;
	for (uint32_t i = 0; i < count; i++)
		there[i] = (struct iovec){.iov_base = (void *)(pages->numbers[first + i] << PAGE_BITS),
					  .iov_len = OWN_PAGE_BYTES};
	got = copy_pieces(pages->copies[first], (uint64_t)count * OWN_PAGE_BYTES, there, count);
	pages->count = first + (got > 0 ? (uint32_t)(got / OWN_PAGE_BYTES) : 0);
}

void own_pages_begin(struct own_pages *pages, uint32_t thread)
{
	uint32_t count = 0;

	if (pages->thread == thread)
		for (uint32_t i = 0; i < pages->count; i++)
			if (pages->used >> i & 1)
				pages->numbers[count++] = pages->numbers[i];
	pages->thread = thread;
	pages->count = count;
	pages->used = 0;
	copy_pages(pages, 0);
}

/* Returns OWN_PAGES if there is no copy. */
static uint32_t index_of(const struct own_pages *pages, uint64_t page)
{
	for (uint32_t i = 0; i < pages->count; i++)
		if (pages->numbers[i] == page)
			return i;
	return OWN_PAGES;
}

/* Copies the missing pages with one call. */
static void have_pages(struct own_pages *pages, uint64_t first, uint64_t last)
{
	uint32_t count = pages->count, missing = 0;

	for (uint64_t page = first; page <= last; page++)
		missing += index_of(pages, page) == OWN_PAGES;
	if (!missing)
		return;
	if (count + missing > OWN_PAGES)
		count = pages->count = pages->used = 0;
	for (uint64_t page = first; page <= last; page++)
		if (index_of(pages, page) == OWN_PAGES)
			pages->numbers[pages->count++] = page;
	copy_pages(pages, count);
}

int own_memory_read_paged(struct own_pages *pages, void *to, uint64_t bytes, uint64_t from)
{
	uint64_t first = from >> PAGE_BITS, last = (from + bytes - 1) >> PAGE_BITS;
	uint8_t *at = to;

	if (!bytes || last < first)
		return -1;
	if (bytes > PAGED_BYTES)
		return own_memory_read(to, bytes, from);
	have_pages(pages, first, last);
	for (uint64_t page = first; page <= last; page++) {
		uint32_t i = index_of(pages, page);
		uint64_t begin = page == first ? from & (OWN_PAGE_BYTES - 1) : 0, part = OWN_PAGE_BYTES - begin;

		if (i == OWN_PAGES)
			return -1;
		if (part > bytes)
			part = bytes;
		memcpy(at, pages->copies[i] + begin, part);
		pages->used |= 1u << i;
		at += part;
		bytes -= part;
	}
	return 0;
}

/* ---- what is mapped --------------------------------------------------------------------------------------------- */

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
