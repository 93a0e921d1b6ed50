/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recorder has no symbol: a function keeps the only pointer to it in a static variable; since 2.15 another function
 * keeps a map of recorders (FlightRecorder::get, getFlightRecorder, torch/csrc/distributed/c10d/FlightRecorder.hpp). So
 * each word of the library's data that points to the heap is followed.  An object there is a recorder if it has the
 * form of one: bounds of the ring, numbers of the entries, and in each entry strings that point into themselves.  The
 * program runs meanwhile: if the oldest entries are overwritten during the read, the next try reads fewer.
 */
#include "dump/process/flight_recorder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "dump/process/flight_ring.h"
#include "dump/process/memory.h"

#define PAGE 4096u
#define WORDS (PAGE / sizeof(uint64_t))
#define PAGE_IN_USE (3ull << 62) /* in memory or swapped out (Documentation/admin-guide/mm/pagemap.rst) */
#define PAGES_MAX 16384		 /* of a library's data */
#define BATCH 256		 /* objects per read */

static bool is_heap(const struct mappings *mappings, uint64_t word)
{
	const struct mapping *mapping = word && word % 16 == 0 ? mappings_at(mappings, word) : NULL;

	return mapping && mapping->writable && !mapping->inode && word + sizeof(struct recorder) <= mapping->end;
}

/* Skips a recorder that was found before: several words may point to it. */
static bool take_recorder(struct ring *ring, uint64_t address)
{
	for (unsigned i = 0; i < ring->found_count; i++)
		if (ring->found[i] == address)
			return true;
	ring->at = address;
	if (ring->found_count == RECORDERS_MAX || !ring_read(ring))
		return false;
	ring->found[ring->found_count++] = address;
	ring_take_groups(ring);
	return true;
}

/* Takes the recorders of backends with one of their own (2.15): a list of nodes, each with the backend's name. */
static void follow_registry(struct ring *ring, uint64_t address)
{
	struct registry_node node = {0};
	struct recorder recorder = {0};

	for (unsigned i = 0; i < RECORDERS_MAX; i++) {
		if (!is_heap(&ring->looker->mappings, address) ||
		    !memory_read(ring->pid, address, &node, sizeof(node)) ||
		    node.name.data != address + offsetof(struct registry_node, name.local) ||
		    node.name.length >= sizeof(node.name.local) || !is_heap(&ring->looker->mappings, node.recorder) ||
		    !memory_read(ring->pid, node.recorder, &recorder, sizeof(recorder)))
			return;
		if (is_recorder_like(&recorder))
			take_recorder(ring, node.recorder);
		address = node.next;
	}
}

/* Tries the objects to which words of the data point. */
static void try_objects(struct ring *ring, const uint64_t *addresses, unsigned count)
{
	union {
		struct recorder recorder;
		struct registry_node node;
	} objects[BATCH];
	struct iovec here[BATCH], there[BATCH];

	for (unsigned i = 0; i < count; i++) {
		here[i] = (struct iovec){&objects[i], sizeof(objects[i])};
		there[i] = (struct iovec){(void *)(uintptr_t)addresses[i], sizeof(objects[i])};
	}
	for (unsigned from = 0; from < count;) {
		ssize_t got = process_vm_readv(ring->pid, here + from, count - from, there + from, count - from, 0);
		unsigned whole = got > 0 ? (unsigned)((size_t)got / sizeof(objects[0])) : 0;

		for (unsigned i = from; i < from + whole; i++) {
			if (is_recorder_like(&objects[i].recorder))
				take_recorder(ring, addresses[i]);
			else if (objects[i].node.name.data == addresses[i] + offsetof(struct registry_node, name.local))
				follow_registry(ring, addresses[i]);
		}
		from += whole + 1; /* the call ends at an object that cannot be read */
	}
}

/* Pages that were never touched must not be read: reading would allocate them. */
static bool *pages_in_use(pid_t pid, uint64_t start, unsigned count)
{
	AUTO_FREE uint64_t *entries = xcalloc(count, sizeof(*entries));
	bool *used = xcalloc(count, sizeof(*used));
	char path[64];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = pread(fd, entries, count * sizeof(*entries), (off_t)(start / PAGE * sizeof(*entries)));
		close(fd);
	}
	for (unsigned i = 0; i < count; i++)
		used[i] = got != (ssize_t)(count * sizeof(*entries)) || entries[i] & PAGE_IN_USE;
	return used;
}

static void search_range(struct ring *ring, uint64_t start, uint64_t end)
{
	unsigned pages = (unsigned)((end - start) / PAGE < PAGES_MAX ? (end - start) / PAGE : PAGES_MAX), count = 0;
	bool *used = pages_in_use(ring->pid, start, pages);
	uint64_t words[WORDS], addresses[BATCH];

	for (unsigned i = 0; i < pages; i++) {
		if (!used[i] || !memory_read(ring->pid, start + (uint64_t)i * PAGE, words, sizeof(words)))
			continue;
		for (unsigned k = 0; k < WORDS; k++) {
			if (!is_heap(&ring->looker->mappings, words[k]))
				continue;
			addresses[count++] = words[k];
			if (count == BATCH) {
				try_objects(ring, addresses, count);
				count = 0;
			}
		}
	}
	try_objects(ring, addresses, count);
	free(used);
}

/* The library's .bss follows its data from the file. */
static void search_library(struct ring *ring, const char *name)
{
	const struct mappings *mappings = &ring->looker->mappings;
	const struct mapping *before = NULL;

	array_each (mapping, &mappings->list) {
		bool of_file = mapping->inode && !strcmp(path_base(mapping->path), name);
		bool follows = before && !mapping->inode && !*mapping->path && mapping->start == before->end;

		before = of_file ? mapping : NULL;
		if ((of_file || follows) && mapping->writable)
			search_range(ring, mapping->start, mapping->end);
	}
}

static bool has_library(const struct mappings *mappings, const char *name)
{
	return any_of(mappings->list.count, i,
		      mappings->list.items[i].inode && !strcmp(path_base(mappings->list.items[i].path), name));
}

void flight_recorder_read(struct looker *looker)
{
	/* ProcessGroupNCCL's recorder; gloo's, and others' through hooks, which see the end by the work itself. */
	static const struct {
		const char *library;
		bool has_events;
	} places[] = {{"libtorch_cuda.so", true}, {"libtorch_cpu.so", false}};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	looker->process->groups_at_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct ring ring = {.looker = looker, .pid = looker->process->pid, .has_events = places[i].has_events};

		if (!has_library(&looker->mappings, places[i].library))
			continue;
		looker->process->has_torch = true;
		if (ring_make_room(&ring))
			search_library(&ring, places[i].library);
		free(ring.places);
		free(ring.entries);
	}
}
