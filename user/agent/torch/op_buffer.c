/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* See op_buffer.h. A buffer's memory is never returned to the system entirely: an open op holds a slot in it. */
#include "agent/torch/op_buffer.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/process/thread_id.h"
#include "agent/process/clock.h"
#include "agent/process/old_glibc.h"

__thread struct op_buffer *op_buffer_own OP_BUFFER_STATIC_TLS;

static struct {
	struct op_buffer *_Atomic buffers[OP_BUFFERS_MAX];
	_Atomic uint32_t count;
	_Atomic uint64_t homeless, homeless_ns; /* ops lost by threads without a buffer, and the time of the first */
	void (*wake_reader)(void);
	pthread_key_t key;
	bool has_key;
} all;

/* ---- a thread's -------------------------------------------------------------------------------- */

static void thread_ends(void *buffer)
{
	op_buffer_own = NULL;
	atomic_store(&((struct op_buffer *)buffer)->state, OP_BUFFER_ENDED);
}

bool op_buffers_open(void (*wake_reader)(void))
{
	all.wake_reader = wake_reader;
	if (!all.has_key)
		all.has_key = !pthread_key_create(&all.key, thread_ends);
	return all.has_key;
}

static struct op_buffer *take_over(void)
{
	uint32_t count = op_buffers_count(), free, i;
	struct op_buffer *buffer;

	for (i = 0; i < count; i++) {
		free = OP_BUFFER_FREE;
		buffer = op_buffer_at(i);
		if (buffer && atomic_compare_exchange_strong(&buffer->state, &free, OP_BUFFER_TAKEN))
			return buffer;
	}
	return NULL;
}

static struct op_buffer *make_buffer(void)
{
	struct op_buffer *buffer;
	uint32_t index;

	if (atomic_load(&all.count) >= OP_BUFFERS_MAX)
		return NULL;
	buffer =
		mmap(NULL, sizeof(*buffer), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buffer == MAP_FAILED)
		return NULL;
	atomic_store(&buffer->state, OP_BUFFER_TAKEN);
	index = atomic_fetch_add(&all.count, 1);
	if (index >= OP_BUFFERS_MAX) {
		munmap(buffer, sizeof(*buffer));
		return NULL;
	}
	buffer->stacks = (uint64_t)(index + 1) << OP_BUFFER_STACK_BITS;
	atomic_store(&all.buffers[index], buffer);
	return buffer;
}

static void keep_first(_Atomic uint64_t *first_ns)
{
	uint64_t none = 0;

	if (!atomic_load_explicit(first_ns, memory_order_relaxed))
		atomic_compare_exchange_strong(first_ns, &none, clock_now_ns());
}

struct op_buffer *op_buffer_of_new_thread(void)
{
	struct op_buffer *buffer = take_over();

	if (!buffer)
		buffer = make_buffer();
	if (buffer && pthread_setspecific(all.key, buffer)) {
		atomic_store(&buffer->state, OP_BUFFER_ENDED);
		buffer = NULL;
	}
	op_buffer_own = buffer;
	if (buffer)
		buffer->tid = thread_id();
	if (!buffer) {
		atomic_fetch_add(&all.homeless, 1);
		keep_first(&all.homeless_ns);
	}
	return buffer;
}

struct op_slot *op_buffer_take_returned_slot(struct op_buffer *buffer)
{
	uint32_t made;
	struct op_slot *slot;

	buffer->free_slot = atomic_exchange_explicit(&buffer->returned, 0, memory_order_acquire);
	if (buffer->free_slot) {
		slot = &buffer->slots[buffer->free_slot - 1];
		buffer->free_slot = slot->next;
		return slot;
	}
	made = atomic_load_explicit(&buffer->slots_made, memory_order_relaxed);
	if (made == OP_BUFFER_SLOTS)
		return NULL;
	atomic_store_explicit(&buffer->slots_made, made + 1, memory_order_release);
	slot = &buffer->slots[made];
	slot->buffer = buffer;
	return slot;
}

void op_buffer_return_slot(struct op_slot *slot)
{
	struct op_buffer *buffer = slot->buffer;
	uint32_t number = (uint32_t)(slot - buffer->slots) + 1;

	slot->next = atomic_load_explicit(&buffer->returned, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&buffer->returned, &slot->next, number, memory_order_release,
						      memory_order_relaxed))
		;
}

/* ---- the ring ---------------------------------------------------------------------------------- */

static uint8_t *chunk_at(const struct op_buffer *buffer, uint32_t chunk)
{
	return atomic_load_explicit(&buffer->blocks[chunk / OP_BUFFER_BLOCK_CHUNKS], memory_order_relaxed) +
	       chunk % OP_BUFFER_BLOCK_CHUNKS * (size_t)OP_BUFFER_CHUNK_BYTES;
}

/* False: no memory. */
static bool make_chunk(struct op_buffer *buffer)
{
	uint8_t *_Atomic *block = &buffer->blocks[buffer->chunks_made / OP_BUFFER_BLOCK_CHUNKS];
	void *memory;

	if (!atomic_load_explicit(block, memory_order_relaxed)) {
		memory = mmap(NULL, OP_BUFFER_BLOCK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (memory == MAP_FAILED)
			return false;
		atomic_store_explicit(block, memory, memory_order_release);
	}
	buffer->chunks_made++;
	return true;
}

/* Prefers chunks that the reader has released, the latest first. */
bool op_buffer_enter_chunk(struct op_buffer *buffer, uint64_t tail)
{
	uint64_t read = atomic_load_explicit(&buffer->head, memory_order_acquire) / OP_BUFFER_CHUNK_BYTES;
	uint8_t chunk;

	for (; buffer->chunks_back < read; buffer->chunks_back++)
		buffer->chunks_free[buffer->chunks_free_count++] =
			buffer->order[buffer->chunks_back % OP_BUFFER_CHUNKS];
	if (buffer->chunks_free_count)
		chunk = buffer->chunks_free[--buffer->chunks_free_count];
	else if (buffer->chunks_made < OP_BUFFER_CHUNKS && make_chunk(buffer))
		chunk = (uint8_t)(buffer->chunks_made - 1);
	else
		return false;
	buffer->order[tail / OP_BUFFER_CHUNK_BYTES % OP_BUFFER_CHUNKS] = chunk;
	buffer->chunk = chunk_at(buffer, chunk);
	return true;
}

/* Skips the rest of a chunk; returns the new tail. */
uint64_t op_buffer_pad(struct op_buffer *buffer, uint64_t tail)
{
	uint32_t offset = (uint32_t)(tail % OP_BUFFER_CHUNK_BYTES), left = OP_BUFFER_CHUNK_BYTES - offset;

	*(struct op_entry *)(buffer->chunk + offset) = (struct op_entry){left, OP_ENTRY_PAD};
	atomic_store_explicit(&buffer->tail, tail + left, memory_order_release);
	return tail + left;
}

void op_buffer_wake(struct op_buffer *buffer, uint64_t tail)
{
	buffer->wake_at = tail + OP_BUFFER_WAKE_BYTES;
	all.wake_reader();
}

void op_buffer_lose(struct op_buffer *buffer)
{
	uint64_t lost = atomic_load_explicit(&buffer->lost, memory_order_relaxed);

	atomic_store_explicit(&buffer->lost, lost + 1, memory_order_relaxed);
	keep_first(&buffer->lost_ns);
}

void op_buffer_lose_inputs(struct op_buffer *buffer)
{
	uint64_t lost = atomic_load_explicit(&buffer->inputs_lost, memory_order_relaxed);

	atomic_store_explicit(&buffer->inputs_lost, lost + 1, memory_order_relaxed);
}

/* ---- the reader -------------------------------------------------------------------------------- */

uint32_t op_buffers_count(void)
{
	uint32_t count = atomic_load(&all.count);

	return count < OP_BUFFERS_MAX ? count : OP_BUFFERS_MAX;
}

struct op_buffer *op_buffer_at(uint32_t index)
{
	return atomic_load(&all.buffers[index]); /* NULL: its thread has not stored it yet */
}

static const struct op_entry *entry_at(const struct op_buffer *buffer, uint64_t position)
{
	uint32_t chunk = buffer->order[position / OP_BUFFER_CHUNK_BYTES % OP_BUFFER_CHUNKS];

	return (const struct op_entry *)(chunk_at(buffer, chunk) + position % OP_BUFFER_CHUNK_BYTES);
}

const struct op_entry *op_buffer_next(struct op_buffer *buffer, uint64_t *position, uint64_t end)
{
	const struct op_entry *entry;

	while (*position < end) {
		entry = entry_at(buffer, *position);
		if (entry->bytes < sizeof(*entry) || entry->bytes > end - *position) {
			*position = end; /* of an earlier session: its memory was released */
			return NULL;
		}
		*position += entry->bytes;
		if (entry->kind != OP_ENTRY_PAD)
			return entry;
	}
	return NULL;
}

void op_buffer_read_to(struct op_buffer *buffer, uint64_t position)
{
	atomic_store_explicit(&buffer->head, position, memory_order_release);
}

void op_buffer_recycle(struct op_buffer *buffer)
{
	uint32_t made = atomic_load_explicit(&buffer->slots_made, memory_order_acquire), i;
	uint32_t ended = OP_BUFFER_ENDED;

	if (atomic_load(&buffer->state) != OP_BUFFER_ENDED || atomic_load(&buffer->tail) != atomic_load(&buffer->head))
		return;
	for (i = 0; i < made; i++)
		if (atomic_load(&buffer->slots[i].turn) & 1)
			return;
	atomic_compare_exchange_strong(&buffer->state, &ended, OP_BUFFER_FREE);
}

static void keep_earliest(uint64_t *first_ns, uint64_t time_ns)
{
	if (time_ns && (!*first_ns || time_ns < *first_ns))
		*first_ns = time_ns;
}

uint64_t op_buffers_lost(uint64_t *first_ns)
{
	uint32_t count = op_buffers_count(), i;
	uint64_t lost = atomic_load(&all.homeless);
	struct op_buffer *buffer;

	*first_ns = atomic_exchange(&all.homeless_ns, 0);
	for (i = 0; i < count; i++) {
		buffer = op_buffer_at(i);
		if (!buffer)
			continue;
		lost += atomic_load_explicit(&buffer->lost, memory_order_relaxed);
		if (atomic_load_explicit(&buffer->lost_ns, memory_order_relaxed))
			keep_earliest(first_ns, atomic_exchange(&buffer->lost_ns, 0));
	}
	return lost;
}

uint64_t op_buffers_inputs_lost(void)
{
	uint32_t count = op_buffers_count(), i;
	uint64_t lost = 0;

	for (i = 0; i < count; i++)
		if (op_buffer_at(i))
			lost += atomic_load_explicit(&op_buffer_at(i)->inputs_lost, memory_order_relaxed);
	return lost;
}

void op_buffers_empty(void)
{
	uint32_t count = op_buffers_count(), i;

	for (i = 0; i < count; i++)
		if (op_buffer_at(i))
			op_buffer_read_to(op_buffer_at(i), atomic_load(&op_buffer_at(i)->tail));
}

static void release_blocks(struct op_buffer *buffer)
{
	uint32_t i;
	uint8_t *block;

	for (i = 0; i < OP_BUFFER_BLOCKS; i++) {
		block = atomic_load_explicit(&buffer->blocks[i], memory_order_acquire);
		if (block)
			madvise(block, OP_BUFFER_BLOCK_BYTES, MADV_DONTNEED);
	}
}

void op_buffers_release(void)
{
	uint32_t count = op_buffers_count(), i;

	for (i = 0; i < count; i++)
		if (op_buffer_at(i))
			release_blocks(op_buffer_at(i));
}
