/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A bitmap of free buffers and a stack of returned ones, both lock-free; see buffers.h. */
#include "agent/cupti/buffers.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define WORDS (BUFFERS_MAX / 64)
#define NO_BUFFER UINT32_MAX
#define SCARCE (BUFFERS_MAX / 4)

static struct {
	uint8_t *base;	  /* BUFFERS_MAX buffers */
	uint8_t *discard; /* for a CUPTI that does not survive a refusal: written by many threads, never read */
	bool may_refuse;
	void (*scarce)(void);
	atomic_bool open;	      /* buffers may be handed out */
	_Atomic uint64_t free[WORDS]; /* bit set: ready to be handed out */
	_Atomic uint32_t returned;    /* index of the latest one returned, NO_BUFFER: none */
	uint32_t next[BUFFERS_MAX];   /* links of the stack of returned ones */
	uint32_t valid[BUFFERS_MAX];  /* bytes CUPTI wrote into a returned one */
	_Atomic uint64_t held[WORDS]; /* bit set: CUPTI has it */
	_Atomic uint32_t away;	      /* not free: CUPTI has it, or returned and not parsed yet */
	_Atomic uint32_t words_used;  /* words of free[] below this were used since the last trim */
	uint32_t words_kept;	      /* the same between the two trims before; agent's thread only */
	uint32_t words_touched;	      /* words below this may have memory; agent's thread only */
	_Atomic uint64_t refused;
	_Atomic uint32_t callbacks;
} pool = {.returned = NO_BUFFER};

bool buffers_open(void)
{
	size_t bytes = (size_t)(BUFFERS_MAX + 1) * BUFFER_BYTES;
	uint8_t *memory;
	unsigned word;

	if (pool.base)
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	madvise(memory, bytes, MADV_NOHUGEPAGE); /* a huge page would take 2 MB for the first byte */
	pool.base = memory;
	pool.discard = memory + (size_t)BUFFERS_MAX * BUFFER_BYTES;
	for (word = 0; word < WORDS; word++)
		atomic_store(&pool.free[word], UINT64_MAX);
	return true;
}

void buffers_start(bool may_refuse, void (*scarce)(void))
{
	pool.may_refuse = may_refuse;
	pool.scarce = scarce;
	atomic_store(&pool.refused, 0);
	atomic_store(&pool.open, true);
}

void buffers_stop(void)
{
	atomic_store(&pool.open, false);
}

/* Releases the memory of the word's free buffers; they are not handed out meanwhile. */
static void release_word(unsigned word)
{
	uint64_t bits = atomic_exchange(&pool.free[word], 0);
	unsigned first = 0, count;

	while (first < 64) {
		if (!(bits >> first & 1)) {
			first++;
			continue;
		}
		for (count = 1; first + count < 64 && (bits >> (first + count) & 1);)
			count++;
		madvise(pool.base + (size_t)(word * 64 + first) * BUFFER_BYTES, (size_t)count * BUFFER_BYTES,
			MADV_DONTNEED);
		first += count;
	}
	atomic_fetch_or(&pool.free[word], bits);
}

/* Releases from that word on. */
static void release_from(unsigned word)
{
	unsigned last = pool.words_touched, still = word;

	for (; word < last; word++) {
		release_word(word);
		if (atomic_load(&pool.free[word]) != UINT64_MAX)
			still = word + 1;
	}
	if (still < last)
		pool.words_touched = still;
}

void buffers_release(void)
{
	uint32_t used = atomic_exchange(&pool.words_used, 0);

	if (used > pool.words_touched)
		pool.words_touched = used;
	pool.words_kept = 0;
	release_from(0);
	madvise(pool.discard, BUFFER_BYTES, MADV_DONTNEED);
}

void buffers_trim(void)
{
	uint32_t used = atomic_exchange(&pool.words_used, 0), kept = pool.words_kept;

	pool.words_kept = used;
	if (used > pool.words_touched)
		pool.words_touched = used;
	if (!buffers_scarce())
		release_from(used > kept ? used : kept);
}

static void note_used(uint32_t word)
{
	uint32_t used = atomic_load_explicit(&pool.words_used, memory_order_relaxed);

	while (used <= word && !atomic_compare_exchange_weak(&pool.words_used, &used, word + 1))
		;
}

static void make_free(uint32_t index)
{
	atomic_fetch_or(&pool.free[index / 64], 1ull << (index % 64));
	atomic_fetch_sub(&pool.away, 1);
}

/* Takes the lowest free one, so that buffers in use are adjacent. */
static uint32_t take_free(void)
{
	uint64_t bits, bit;
	unsigned word;

	for (word = 0; word < WORDS; word++) {
		bits = atomic_load_explicit(&pool.free[word], memory_order_relaxed);
		while (bits) {
			bit = bits & -bits;
			if (!atomic_compare_exchange_weak(&pool.free[word], &bits, bits & ~bit))
				continue;
			note_used(word);
			return word * 64 + (uint32_t)__builtin_ctzll(bit);
		}
	}
	return NO_BUFFER;
}

void buffers_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
	uint32_t index = NO_BUFFER;
	bool scarce = false;

	atomic_fetch_add(&pool.callbacks, 1);
	*max_records = 0; /* as many as fit */
	if (atomic_load(&pool.open)) {
		index = take_free();
		if (index == NO_BUFFER)
			atomic_fetch_add(&pool.refused, 1);
	}
	if (index != NO_BUFFER) {
		scarce = (atomic_fetch_add(&pool.away, 1) + 1) % SCARCE == 0;
		atomic_fetch_or(&pool.held[index / 64], 1ull << (index % 64));
		*buffer = pool.base + (size_t)index * BUFFER_BYTES;
		*size = BUFFER_BYTES;
	} else {
		*buffer = pool.may_refuse ? NULL : pool.discard;
		*size = pool.may_refuse ? 0 : BUFFER_BYTES;
	}
	if (scarce && pool.scarce)
		pool.scarce();
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
		goto out; /* discarded, or never the agent's */
	index = (uint32_t)((size_t)(buffer - pool.base) / BUFFER_BYTES);
	bit = 1ull << (index % 64);
	if (!(atomic_fetch_and(&pool.held[index / 64], ~bit) & bit))
		goto out; /* given back twice */
	pool.valid[index] = valid < BUFFER_BYTES ? (uint32_t)valid : BUFFER_BYTES;
	head = atomic_load(&pool.returned);
	do {
		pool.next[index] = head;
	} while (!atomic_compare_exchange_weak(&pool.returned, &head, index));
out:
	atomic_fetch_sub(&pool.callbacks, 1);
}

void buffers_take(void (*parse_records)(void *user, uint8_t *buffer, size_t valid), void *user)
{
	uint32_t index, next, oldest = NO_BUFFER;
	uint8_t *buffer;

	/* Takes the whole stack at once (so no ABA) and reverses it: the first one returned is parsed first. */
	for (index = atomic_exchange(&pool.returned, NO_BUFFER); index != NO_BUFFER; index = next) {
		next = pool.next[index];
		pool.next[index] = oldest;
		oldest = index;
	}
	for (index = oldest; index != NO_BUFFER; index = next) {
		next = pool.next[index];
		buffer = pool.base + (size_t)index * BUFFER_BYTES;
		parse_records(user, buffer, pool.valid[index]);
		/* Zeros mark the end of the records in a buffer that is never returned (buffers_reclaim). */
		memset(buffer, 0, BUFFER_BYTES);
		make_free(index);
	}
}

void buffers_reclaim(void (*parse_records)(void *user, uint8_t *buffer, size_t valid), void *user)
{
	unsigned index;
	uint64_t bit;

	for (index = 0; index < BUFFERS_MAX; index++) {
		bit = 1ull << (index % 64);
		if (!(atomic_fetch_and(&pool.held[index / 64], ~bit) & bit))
			continue;
		parse_records(user, pool.base + (size_t)index * BUFFER_BYTES, BUFFER_BYTES);
		memset(pool.base + (size_t)index * BUFFER_BYTES, 0, BUFFER_BYTES);
		make_free(index);
	}
}

bool buffers_scarce(void)
{
	return atomic_load(&pool.away) >= SCARCE;
}

unsigned buffers_held(void)
{
	unsigned word, held = 0;

	for (word = 0; word < WORDS; word++)
		held += (unsigned)__builtin_popcountll(atomic_load(&pool.held[word]));
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
