/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open addressing over rows of slots; see lookup.h. */
#include "base/lookup.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/array.h"

#define LOOKUP_FIRST_CAPACITY 256

/* Multiply and fold, as wyhash does: every bit of both factors reaches every bit of the result. */
static uint64_t mix_words(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Sixteen neighbouring keys share a row of sixteen slots: correlation ids count up, so the next one is found
 * in cache lines that are already there.  The hash picks where in the row they begin, as the low bits of addresses
 * do not differ.
 */
#define ROW 16

static size_t home_slot(const struct lookup *lookup, uint32_t space, uint64_t key)
{
	uint64_t hash = mix_words(key / ROW ^ lookup->seed, space ^ 0x9e3779b97f4a7c15ull ^ lookup->seed << 32);

	return (hash * ROW | ((key ^ hash >> 60) & (ROW - 1))) & lookup->mask;
}

/* The next place to look: the same column of the next row; after all rows the next column. */
static size_t next_slot(const struct lookup *lookup, size_t slot, size_t home)
{
	size_t next = (slot + ROW) & lookup->mask;

	if (next / ROW == home / ROW)
		next = next / ROW * ROW | ((next + 1) & (ROW - 1));
	return next;
}

static struct lookup_entry *find_slot(const struct lookup *lookup, uint32_t space, uint64_t key)
{
	size_t home = home_slot(lookup, space, key), slot = home;

	for (;;) {
		struct lookup_entry *entry = &lookup->entries[slot];

		if (!entry->space || (entry->key == key && entry->space == space))
			return entry;
		slot = next_slot(lookup, slot, home);
	}
}

#define HUGE_PAGE (2u << 20)

/* Zeroed.  Nearly every access to a large table touches another page: huge pages cost fewer TLB misses. */
static struct lookup_entry *new_entries(size_t count)
{
	size_t bytes = count * sizeof(struct lookup_entry);
	void *entries;

	if (bytes < 2 * HUGE_PAGE || posix_memalign(&entries, HUGE_PAGE, bytes))
		return xcalloc(count, sizeof(struct lookup_entry));
	madvise(entries, bytes, MADV_HUGEPAGE);
	return memset(entries, 0, bytes);
}

static void grow_lookup(struct lookup *lookup)
{
	struct lookup old = *lookup;
	size_t capacity = old.mask ? (old.mask + 1) * 2 : LOOKUP_FIRST_CAPACITY;

	lookup->seed = old.seed ?: hash_seed();
	lookup->entries = new_entries(capacity);
	lookup->mask = capacity - 1;
	for (size_t i = 0; old.mask && i <= old.mask; i++)
		if (old.entries[i].space)
			*find_slot(lookup, old.entries[i].space, old.entries[i].key) = old.entries[i];
	free(old.entries);
}

void lookup_init(struct lookup *lookup, uint64_t seed)
{
	memset(lookup, 0, sizeof(*lookup));
	lookup->seed = seed;
}

void lookup_free(struct lookup *lookup)
{
	free(lookup->entries);
	*lookup = (struct lookup){0};
}

uint32_t *lookup_get(const struct lookup *lookup, uint32_t space, uint64_t key)
{
	struct lookup_entry *entry;

	if (!lookup->mask)
		return NULL;
	entry = find_slot(lookup, space, key);
	return entry->space ? &entry->value : NULL;
}

uint32_t *lookup_put(struct lookup *lookup, uint32_t space, uint64_t key, uint32_t initial)
{
	struct lookup_entry *entry;

	/* at most half full: few steps to a free slot */
	if (!lookup->mask || lookup->count * 2 >= lookup->mask)
		grow_lookup(lookup);
	entry = find_slot(lookup, space, key);
	if (!entry->space) {
		*entry = (struct lookup_entry){.key = key, .space = space, .value = initial};
		lookup->count++;
	}
	return &entry->value;
}

/* Keeps the capacity, as about as many entries come again.  Halves it if less than a quarter was used. */
static size_t capacity_again(const struct lookup *lookup)
{
	size_t capacity = lookup->mask + 1;

	return capacity > LOOKUP_FIRST_CAPACITY && lookup->count * 4 < capacity ? capacity / 2 : capacity;
}

void lookup_empty(struct lookup *lookup)
{
	size_t capacity;

	if (!lookup->mask)
		return;
	capacity = capacity_again(lookup);
	if (capacity <= lookup->mask) {
		free(lookup->entries);
		lookup->entries = xmalloc(capacity * sizeof(*lookup->entries));
	}
	memset(lookup->entries, 0, capacity * sizeof(*lookup->entries));
	lookup->mask = capacity - 1;
	lookup->count = lookup->dropped = 0;
}

void lookup_move(struct lookup *lookup, const uint32_t *places)
{
	struct lookup old = *lookup;

	if (!old.mask)
		return;
	lookup_init(lookup, old.seed);
	lookup->mask = capacity_again(&old) - 1;
	lookup->entries = new_entries(lookup->mask + 1);
	for (size_t i = 0; i <= old.mask; i++) {
		const struct lookup_entry *entry = &old.entries[i];

		if (entry->space && places[entry->value] != UINT32_MAX)
			lookup_put(lookup, entry->space, entry->key, places[entry->value]);
	}
	free(old.entries);
}

void lookup_drop(struct lookup *lookup, uint32_t space, uint64_t key)
{
	uint32_t *value = lookup_get(lookup, space, key);

	if (!value || *value == UINT32_MAX)
		return;
	*value = UINT32_MAX;
	if (++lookup->dropped > LOOKUP_FIRST_CAPACITY && lookup->dropped > lookup->count / 2)
		lookup_shrink(lookup);
}

void lookup_shrink(struct lookup *lookup)
{
	struct lookup old = *lookup;

	lookup_init(lookup, old.seed);
	for (size_t i = 0; old.mask && i <= old.mask; i++)
		if (old.entries[i].space && old.entries[i].value != UINT32_MAX)
			lookup_put(lookup, old.entries[i].space, old.entries[i].key, old.entries[i].value);
	free(old.entries);
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	uint64_t hash = mix_words(seed ^ size, 0xa0761d6478bd642full), word = 0;

	for (; size >= 8; size -= 8, at += 8) {
		memcpy(&word, at, 8);
		hash = mix_words(hash ^ word, seed ^ 0xe7037ed1a0b428dbull);
	}
	word = 0;
	if (size)
		memcpy(&word, at, size);
	return mix_words(hash ^ word, seed ^ 0x8ebc6af09c88c6e3ull);
}

uint64_t hash_seed(void)
{
	static _Atomic uint64_t drawn;
	uint64_t seed = drawn, none = 0;

	if (seed)
		return seed;
	/* Fails only before the pool is initialised at boot; then any number must do. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)&seed;
	atomic_compare_exchange_strong(&drawn, &none, seed | 1);
	return drawn;
}
