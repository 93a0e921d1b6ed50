/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/ring.h"

#include <stddef.h>
#include <sys/mman.h>

static struct own_ring *current;

void ring_open(struct own_ring *ring)
{
	__atomic_store_n(&current, ring, __ATOMIC_RELEASE);
}

void ring_forget(void)
{
	__atomic_store_n(&current, NULL, __ATOMIC_RELAXED);
}

static struct own_ring *opened_ring(void)
{
	return __atomic_load_n(&current, __ATOMIC_ACQUIRE);
}

static void set_head(struct gpt_share_head *head, uint32_t bytes, uint32_t flags)
{
	__atomic_store_n((uint64_t *)head, bytes | (uint64_t)flags << 32, __ATOMIC_RELEASE);
}

/* How full it was; produced: what was read before.  More than `bytes`: others have written and were read since then. */
static uint64_t fill_at(struct gpt_share_ring *memory, uint64_t produced)
{
	return produced - __atomic_load_n(&memory->reader.consumed, __ATOMIC_ACQUIRE);
}

void *ring_reserve(uint64_t bytes)
{
	struct own_ring *ring = opened_ring();
	struct gpt_share_ring *memory = ring ? &ring->shared : NULL;
	uint64_t need = sizeof(struct gpt_share_head) + gpt_padded(bytes), fill;
	__u64 produced, before;
	struct gpt_share_head *head;

	if (!memory)
		return NULL;
	produced = __atomic_load_n(&memory->writer.produced, __ATOMIC_RELAXED);
	do {
		while ((fill = fill_at(memory, produced)) > ring->bytes) {
			before = produced;
			produced = __atomic_load_n(&memory->writer.produced, __ATOMIC_ACQUIRE);
			if (produced == before) /* the collector says that it has read what no one wrote */
				return NULL;
		}
		if (need > ring->bytes - fill)
			return NULL;
	} while (!__atomic_compare_exchange_n(&memory->writer.produced, &produced, produced + need, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	head = (struct gpt_share_head *)(memory->data + (produced & (ring->bytes - 1) & ~7ull));
	set_head(head, (uint32_t)bytes, GPT_SHARE_SET | GPT_SHARE_BUSY);
	return head + 1;
}

void ring_submit(void *record)
{
	struct gpt_share_head *head = (struct gpt_share_head *)record - 1;

	set_head(head, head->bytes, GPT_SHARE_SET);
}

void ring_discard(void *record)
{
	struct gpt_share_head *head = (struct gpt_share_head *)record - 1;

	set_head(head, head->bytes, GPT_SHARE_SET | GPT_SHARE_DISCARD);
}

bool ring_is_nearly_full(void)
{
	struct own_ring *ring = opened_ring();
	uint64_t fill;

	if (!ring)
		return false;
	fill = fill_at(&ring->shared, __atomic_load_n(&ring->shared.writer.produced, __ATOMIC_ACQUIRE));
	return fill <= ring->bytes && fill > ring->bytes - gpt_detail_ring_rest(ring->bytes);
}

void ring_count(uint32_t which)
{
	struct own_ring *ring = opened_ring();

	if (ring && which < GPT_COUNTER_COUNT)
		__atomic_fetch_add(&ring->shared.writer.counters[which], 1, __ATOMIC_RELAXED);
}

const volatile struct gpt_share_reader *ring_reader(void)
{
	struct own_ring *ring = opened_ring();

	return ring ? &ring->shared.reader : NULL;
}

void ring_state(uint32_t state)
{
	struct own_ring *ring = opened_ring();

	if (ring)
		__atomic_store_n(&ring->shared.writer.state, state, __ATOMIC_RELEASE);
}

void ring_given_way(uint32_t number)
{
	struct own_ring *ring = opened_ring();

	if (ring)
		__atomic_store_n(&ring->shared.writer.given_way, number, __ATOMIC_RELEASE);
}

void ring_release(void)
{
	struct own_ring *ring = opened_ring();

	if (ring)
		madvise(ring->shared.data, ring->bytes, MADV_REMOVE);
}
