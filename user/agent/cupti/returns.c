/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Dmitry Vyukov's bounded queue: each slot says whose turn it is (position: free for that writer; position +
 * 1: filled, for the reader).  See returns.h.
 */
#include "agent/cupti/returns.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

#define MASK (RETURNS_MAX - 1)

struct slot {
	struct call_return call;
	_Atomic uint32_t turn;
};

static struct {
	struct slot *slots;
	_Atomic uint32_t tail __attribute__((aligned(64))); /* writers */
	_Atomic uint64_t dropped;
	uint32_t head __attribute__((aligned(64))); /* the reader */
} queue;

bool returns_open(void)
{
	void *memory;

	if (queue.slots)
		return true;
	memory = mmap(NULL, RETURNS_MAX * sizeof(struct slot), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (memory == MAP_FAILED)
		return false;
	queue.slots = memory;
	return true;
}

void returns_reset(void)
{
	uint32_t i;

	for (i = 0; i < RETURNS_MAX; i++) /* touches every page */
		atomic_store_explicit(&queue.slots[i].turn, i, memory_order_relaxed);
	queue.head = 0;
	atomic_store(&queue.dropped, 0);
	atomic_store(&queue.tail, 0);
}

void returns_release(void)
{
	madvise(queue.slots, RETURNS_MAX * sizeof(struct slot), MADV_DONTNEED);
}

void returns_push(const struct call_return *call)
{
	uint32_t position = atomic_load_explicit(&queue.tail, memory_order_relaxed), tail;
	struct slot *slot;
	int32_t ahead;

	for (;;) {
		slot = &queue.slots[position & MASK];
		ahead = (int32_t)(atomic_load_explicit(&slot->turn, memory_order_acquire) - position);
		if (!ahead) {
			if (atomic_compare_exchange_weak_explicit(&queue.tail, &position, position + 1,
								  memory_order_relaxed, memory_order_relaxed))
				break;
			continue;
		}
		tail = atomic_load_explicit(&queue.tail, memory_order_relaxed);
		/* Full; or released under a late writer: the position is not taken, and yet not free. */
		if (ahead < 0 || tail == position) {
			returns_count_dropped();
			return;
		}
		position = tail;
	}
	slot->call = *call;
	atomic_store_explicit(&slot->turn, position + 1, memory_order_release);
}

bool returns_pop(struct call_return *call)
{
	struct slot *slot = &queue.slots[queue.head & MASK];

	if (atomic_load_explicit(&slot->turn, memory_order_acquire) != queue.head + 1)
		return false;
	*call = slot->call;
	atomic_store_explicit(&slot->turn, queue.head + RETURNS_MAX, memory_order_release);
	queue.head++;
	return true;
}

uint64_t returns_dropped(void)
{
	return atomic_load(&queue.dropped);
}

void returns_count_dropped(void)
{
	atomic_fetch_add_explicit(&queue.dropped, 1, memory_order_relaxed);
}
