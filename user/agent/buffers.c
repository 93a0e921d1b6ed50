/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A bitmap of free buffers and a stack of returned ones, both lock-free; see buffers.h. */
#include "agent/buffers.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define WORDS (BUFFERS_MAX / 64)
#define NO_BUFFER UINT32_MAX

static struct {
	uint8_t *base;	  /* BUFFERS_MAX buffers, usable up to `usable` */
	uint8_t *discard; /* for a CUPTI that cannot be refused: written by many, read by nobody */
	unsigned usable;  /* agent's thread only */
	bool may_refuse;
	atomic_bool open;	      /* hand out */
	_Atomic uint64_t free[WORDS]; /* bit set: ready to be handed out */
	_Atomic uint32_t returned;    /* index of the last one returned, NO_BUFFER: none */
	uint32_t next[BUFFERS_MAX];   /* of the stack of returned ones */
	size_t valid[BUFFERS_MAX];    /* bytes CUPTI wrote into a returned one */
	_Atomic uint64_t lent[WORDS]; /* bit set: CUPTI has it */
	_Atomic uint64_t refused;
	_Atomic uint32_t callbacks;
} pool = {.returned = NO_BUFFER};

static bool make_usable(unsigned count)
{
	unsigned i;

	if (mprotect(pool.base, (size_t)count * BUFFER_BYTES, PROT_READ | PROT_WRITE) != 0)
		return false;
	for (i = pool.usable; i < count; i++)
		atomic_fetch_or(&pool.free[i / 64], 1ull << (i % 64));
	pool.usable = count;
	return true;
}

bool buffers_open(void)
{
	size_t bytes = (size_t)(BUFFERS_MAX + 1) * BUFFER_BYTES;
	uint8_t *memory;

	if (pool.base)
		return true;
	memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	pool.base = memory;
	pool.discard = memory + (size_t)BUFFERS_MAX * BUFFER_BYTES;
	if (mprotect(pool.discard, BUFFER_BYTES, PROT_READ | PROT_WRITE) == 0 && make_usable(BUFFERS_FIRST))
		return true;
	munmap(memory, bytes);
	pool.base = NULL;
	return false;
}

void buffers_start(bool may_refuse)
{
	pool.may_refuse = may_refuse;
	atomic_store(&pool.refused, 0);
	atomic_store(&pool.open, true);
}

void buffers_stop(void)
{
	atomic_store(&pool.open, false);
}

void buffers_release(void)
{
	unsigned i;

	for (i = 0; i < pool.usable; i++)
		if (atomic_load(&pool.free[i / 64]) & (1ull << (i % 64)))
			madvise(pool.base + (size_t)i * BUFFER_BYTES, BUFFER_BYTES, MADV_DONTNEED);
	madvise(pool.discard, BUFFER_BYTES, MADV_DONTNEED);
}

static uint32_t take_free(void)
{
	uint64_t bits, bit;
	unsigned word;

	for (word = 0; word < WORDS; word++) {
		bits = atomic_load_explicit(&pool.free[word], memory_order_relaxed);
		while (bits) {
			bit = bits & -bits;
			if (atomic_compare_exchange_weak(&pool.free[word], &bits, bits & ~bit))
				return word * 64 + (uint32_t)__builtin_ctzll(bit);
		}
	}
	return NO_BUFFER;
}

void buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t index = NO_BUFFER;

	atomic_fetch_add(&pool.callbacks, 1);
	*max_records = 0; /* as many as fit */
	if (atomic_load(&pool.open)) {
		index = take_free();
		if (index == NO_BUFFER)
			atomic_fetch_add(&pool.refused, 1);
	}
	if (index != NO_BUFFER) {
		atomic_fetch_or(&pool.lent[index / 64], 1ull << (index % 64));
		*buffer = pool.base + (size_t)index * BUFFER_BYTES;
		*size = BUFFER_BYTES;
	} else {
		*buffer = pool.may_refuse ? NULL : pool.discard;
		*size = pool.may_refuse ? 0 : BUFFER_BYTES;
	}
	atomic_fetch_sub(&pool.callbacks, 1);
}

void buffers_done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	uint32_t index, head;
	uint64_t bit;

	(void)context;
	(void)stream;
	(void)size;
	atomic_fetch_add(&pool.callbacks, 1);
	if (buffer < pool.base || buffer >= pool.discard)
		goto out; /* discarded, or never ours */
	index = (uint32_t)((size_t)(buffer - pool.base) / BUFFER_BYTES);
	bit = 1ull << (index % 64);
	if (!(atomic_fetch_and(&pool.lent[index / 64], ~bit) & bit))
		goto out; /* given back twice */
	pool.valid[index] = valid < BUFFER_BYTES ? valid : BUFFER_BYTES;
	head = atomic_load(&pool.returned);
	do {
		pool.next[index] = head;
	} while (!atomic_compare_exchange_weak(&pool.returned, &head, index));
out:
	atomic_fetch_sub(&pool.callbacks, 1);
}

void buffers_take(void (*parse)(void *user, uint8_t *buffer, size_t valid), void *user)
{
	uint32_t index, next, oldest = NO_BUFFER;
	uint8_t *buffer;

	/* The whole stack at once (so no ABA), turned over: what came first is parsed first. */
	for (index = atomic_exchange(&pool.returned, NO_BUFFER); index != NO_BUFFER; index = next) {
		next = pool.next[index];
		pool.next[index] = oldest;
		oldest = index;
	}
	for (index = oldest; index != NO_BUFFER; index = next) {
		next = pool.next[index];
		buffer = pool.base + (size_t)index * BUFFER_BYTES;
		parse(user, buffer, pool.valid[index]);
		/* Where the records end must show in a buffer that does not come back (buffers_reclaim). */
		memset(buffer, 0, BUFFER_BYTES);
		atomic_fetch_or(&pool.free[index / 64], 1ull << (index % 64));
	}
}

void buffers_reclaim(void (*parse)(void *user, uint8_t *buffer, size_t valid), void *user)
{
	unsigned index;
	uint64_t bit;

	for (index = 0; index < pool.usable; index++) {
		bit = 1ull << (index % 64);
		if (!(atomic_fetch_and(&pool.lent[index / 64], ~bit) & bit))
			continue;
		parse(user, pool.base + (size_t)index * BUFFER_BYTES, BUFFER_BYTES);
		memset(pool.base + (size_t)index * BUFFER_BYTES, 0, BUFFER_BYTES);
		atomic_fetch_or(&pool.free[index / 64], bit);
	}
}

void buffers_grow(void)
{
	unsigned word, ready = 0;

	for (word = 0; word < WORDS; word++)
		ready += (unsigned)__builtin_popcountll(atomic_load(&pool.free[word]));
	if (ready < pool.usable / 2 && pool.usable < BUFFERS_MAX)
		make_usable(2 * pool.usable < BUFFERS_MAX ? 2 * pool.usable : BUFFERS_MAX);
}

unsigned buffers_held(void)
{
	unsigned word, held = 0;

	for (word = 0; word < WORDS; word++)
		held += (unsigned)__builtin_popcountll(atomic_load(&pool.lent[word]));
	return held;
}

bool buffers_in_callback(void)
{
	return atomic_load(&pool.callbacks) != 0;
}

uint64_t buffers_refused(void)
{
	return atomic_load(&pool.refused);
}
