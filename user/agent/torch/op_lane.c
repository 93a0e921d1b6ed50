/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* See op_lane.h.  Memory of a lane is never given back to the system whole: an op that is open holds a place in it. */
#include "agent/torch/op_lane.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/cupti/callbacks.h"
#include "agent/clock.h"
#include "agent/old_glibc.h"

__thread struct lane *lane_own LANE_STATIC_TLS;

static struct {
	struct lane *_Atomic lanes[LANES_MAX];
	_Atomic uint32_t count;
	_Atomic uint64_t homeless, homeless_ns; /* ops of threads without a lane, and the first of these */
	void (*wake_reader)(void);
	pthread_key_t key;
	bool has_key;
} all;

/* ---- a thread's -------------------------------------------------------------------------------- */

static void thread_ends(void *lane)
{
	lane_own = NULL;
	atomic_store(&((struct lane *)lane)->state, LANE_ENDED);
}

bool lanes_open(void (*wake_reader)(void))
{
	all.wake_reader = wake_reader;
	if (!all.has_key)
		all.has_key = !pthread_key_create(&all.key, thread_ends);
	return all.has_key;
}

static struct lane *take_over(void)
{
	uint32_t count = lanes_count(), free, i;
	struct lane *lane;

	for (i = 0; i < count; i++) {
		free = LANE_FREE;
		lane = lane_at(i);
		if (lane && atomic_compare_exchange_strong(&lane->state, &free, LANE_TAKEN))
			return lane;
	}
	return NULL;
}

static struct lane *make(void)
{
	struct lane *lane;
	uint32_t index;

	if (atomic_load(&all.count) >= LANES_MAX)
		return NULL;
	lane = mmap(NULL, sizeof(*lane), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (lane == MAP_FAILED)
		return NULL;
	atomic_store(&lane->state, LANE_TAKEN);
	index = atomic_fetch_add(&all.count, 1);
	if (index >= LANES_MAX) {
		munmap(lane, sizeof(*lane));
		return NULL;
	}
	lane->stacks = (uint64_t)(index + 1) << LANE_STACK_BITS;
	atomic_store(&all.lanes[index], lane);
	return lane;
}

static void keep_first(_Atomic uint64_t *first_ns)
{
	uint64_t none = 0;

	if (!atomic_load_explicit(first_ns, memory_order_relaxed))
		atomic_compare_exchange_strong(first_ns, &none, clock_now_ns());
}

struct lane *lane_of_new_thread(void)
{
	struct lane *lane = take_over();

	if (!lane)
		lane = make();
	if (lane && pthread_setspecific(all.key, lane)) {
		atomic_store(&lane->state, LANE_ENDED);
		lane = NULL;
	}
	lane_own = lane;
	if (lane)
		lane->tid = callbacks_thread_id();
	if (!lane) {
		atomic_fetch_add(&all.homeless, 1);
		keep_first(&all.homeless_ns);
	}
	return lane;
}

struct op_slot *lane_take_returned_slot(struct lane *lane)
{
	uint32_t made;
	struct op_slot *slot;

	lane->free_slot = atomic_exchange_explicit(&lane->returned, 0, memory_order_acquire);
	if (lane->free_slot) {
		slot = &lane->slots[lane->free_slot - 1];
		lane->free_slot = slot->next;
		return slot;
	}
	made = atomic_load_explicit(&lane->slots_made, memory_order_relaxed);
	if (made == LANE_SLOTS)
		return NULL;
	atomic_store_explicit(&lane->slots_made, made + 1, memory_order_release);
	slot = &lane->slots[made];
	slot->lane = lane;
	return slot;
}

void lane_return_slot(struct op_slot *slot)
{
	struct lane *lane = slot->lane;
	uint32_t number = (uint32_t)(slot - lane->slots) + 1;

	slot->next = atomic_load_explicit(&lane->returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&lane->returned, &slot->next, number, memory_order_release,
						      memory_order_relaxed))
		;
}

/* ---- the ring ---------------------------------------------------------------------------------- */

static uint8_t *chunk_at(const struct lane *lane, uint32_t chunk)
{
	return atomic_load_explicit(&lane->blocks[chunk / LANE_BLOCK_CHUNKS], memory_order_relaxed) +
	       chunk % LANE_BLOCK_CHUNKS * (size_t)LANE_CHUNK_BYTES;
}

/* False: there is no memory for it. */
static bool make_chunk(struct lane *lane)
{
	uint8_t *_Atomic *block = &lane->blocks[lane->chunks_made / LANE_BLOCK_CHUNKS];
	void *memory;

	if (!atomic_load_explicit(block, memory_order_relaxed)) {
		memory = mmap(NULL, LANE_BLOCK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return false;
		atomic_store_explicit(block, memory, memory_order_release);
	}
	lane->chunks_made++;
	return true;
}

/* What the reader has left is written first, and of that the latest. */
bool lane_enter_chunk(struct lane *lane, uint64_t tail)
{
	uint64_t read = atomic_load_explicit(&lane->head, memory_order_acquire) / LANE_CHUNK_BYTES;
	uint8_t chunk;

	for (; lane->chunks_back < read; lane->chunks_back++)
		lane->chunks_free[lane->chunks_free_count++] = lane->order[lane->chunks_back % LANE_CHUNKS];
	if (lane->chunks_free_count)
		chunk = lane->chunks_free[--lane->chunks_free_count];
	else if (lane->chunks_made < LANE_CHUNKS && make_chunk(lane))
		chunk = (uint8_t)(lane->chunks_made - 1);
	else
		return false;
	lane->order[tail / LANE_CHUNK_BYTES % LANE_CHUNKS] = chunk;
	lane->chunk = chunk_at(lane, chunk);
	return true;
}

/* Skips what is left of a chunk: the tail behind it. */
uint64_t lane_pad(struct lane *lane, uint64_t tail)
{
	uint32_t offset = (uint32_t)(tail % LANE_CHUNK_BYTES), left = LANE_CHUNK_BYTES - offset;

	*(struct op_entry *)(lane->chunk + offset) = (struct op_entry){left, OP_ENTRY_PAD};
	atomic_store_explicit(&lane->tail, tail + left, memory_order_release);
	return tail + left;
}

void lane_wake(struct lane *lane, uint64_t tail)
{
	lane->wake_at = tail + LANE_WAKE_BYTES;
	all.wake_reader();
}

void lane_lose(struct lane *lane)
{
	uint64_t lost = atomic_load_explicit(&lane->lost, memory_order_relaxed);

	atomic_store_explicit(&lane->lost, lost + 1, memory_order_relaxed);
	keep_first(&lane->lost_ns);
}

void lane_lose_inputs(struct lane *lane)
{
	uint64_t lost = atomic_load_explicit(&lane->inputs_lost, memory_order_relaxed);

	atomic_store_explicit(&lane->inputs_lost, lost + 1, memory_order_relaxed);
}

/* ---- the reader -------------------------------------------------------------------------------- */

uint32_t lanes_count(void)
{
	uint32_t count = atomic_load(&all.count);

	return count < LANES_MAX ? count : LANES_MAX;
}

struct lane *lane_at(uint32_t index)
{
	return atomic_load(&all.lanes[index]); /* NULL: its thread is about to put it there */
}

static const struct op_entry *entry_at(const struct lane *lane, uint64_t position)
{
	uint32_t chunk = lane->order[position / LANE_CHUNK_BYTES % LANE_CHUNKS];

	return (const struct op_entry *)(chunk_at(lane, chunk) + position % LANE_CHUNK_BYTES);
}

const struct op_entry *lane_next(struct lane *lane, uint64_t *position, uint64_t end)
{
	const struct op_entry *entry;

	while (*position < end) {
		entry = entry_at(lane, *position);
		if (entry->bytes < sizeof(*entry) || entry->bytes > end - *position) {
			*position = end; /* of a session before: its memory has gone */
			return NULL;
		}
		*position += entry->bytes;
		if (entry->kind != OP_ENTRY_PAD)
			return entry;
	}
	return NULL;
}

void lane_read_to(struct lane *lane, uint64_t position)
{
	atomic_store_explicit(&lane->head, position, memory_order_release);
}

void lane_recycle(struct lane *lane)
{
	uint32_t made = atomic_load_explicit(&lane->slots_made, memory_order_acquire), i;
	uint32_t ended = LANE_ENDED;

	if (atomic_load(&lane->state) != LANE_ENDED || atomic_load(&lane->tail) != atomic_load(&lane->head))
		return;
	for (i = 0; i < made; i++)
		if (atomic_load(&lane->slots[i].turn) & 1)
			return;
	atomic_compare_exchange_strong(&lane->state, &ended, LANE_FREE);
}

static void earliest(uint64_t *first_ns, uint64_t time_ns)
{
	if (time_ns && (!*first_ns || time_ns < *first_ns))
		*first_ns = time_ns;
}

uint64_t lanes_lost(uint64_t *first_ns)
{
	uint32_t count = lanes_count(), i;
	uint64_t lost = atomic_load(&all.homeless);
	struct lane *lane;

	*first_ns = atomic_exchange(&all.homeless_ns, 0);
	for (i = 0; i < count; i++) {
		lane = lane_at(i);
		if (!lane)
			continue;
		lost += atomic_load_explicit(&lane->lost, memory_order_relaxed);
		if (atomic_load_explicit(&lane->lost_ns, memory_order_relaxed))
			earliest(first_ns, atomic_exchange(&lane->lost_ns, 0));
	}
	return lost;
}

uint64_t lanes_inputs_lost(void)
{
	uint32_t count = lanes_count(), i;
	uint64_t lost = 0;

	for (i = 0; i < count; i++)
		if (lane_at(i))
			lost += atomic_load_explicit(&lane_at(i)->inputs_lost, memory_order_relaxed);
	return lost;
}

void lanes_empty(void)
{
	uint32_t count = lanes_count(), i;

	for (i = 0; i < count; i++)
		if (lane_at(i))
			lane_read_to(lane_at(i), atomic_load(&lane_at(i)->tail));
}

static void release(struct lane *lane)
{
	uint32_t i;
	uint8_t *block;

	for (i = 0; i < LANE_BLOCKS; i++) {
		block = atomic_load_explicit(&lane->blocks[i], memory_order_acquire);
		if (block)
			madvise(block, LANE_BLOCK_BYTES, MADV_DONTNEED);
	}
}

void lanes_release(void)
{
	uint32_t count = lanes_count(), i;

	for (i = 0; i < count; i++)
		if (lane_at(i))
			release(lane_at(i));
}
