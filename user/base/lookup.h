/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash table from (space, key) to a 32-bit index, for things identified by numbers or by a hash of their bytes.  Open
 * addressing without deletion: an entry's value changes; lookup_shrink and lookup_move rebuild the table.
 * The numbers come from targets, so the hash is seeded: a target cannot choose keys that collide.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct lookup_entry {
	uint64_t key;
	uint32_t space; /* never 0 in a used entry */
	uint32_t value;
};

struct lookup {
	struct lookup_entry *entries;
	size_t mask;  /* capacity - 1, 0: nothing allocated */
	size_t count; /* used entries */
	size_t dropped;
	uint64_t seed; /* 0: not drawn yet */
};

/* With a seed of the caller's; zeroed, a table is empty, too, and gets hash_seed(). */
void lookup_init(struct lookup *lookup, uint64_t seed);

/* Leaves it empty. */
void lookup_free(struct lookup *lookup);

/* The value at (space, key), NULL when there is none; valid until the next lookup_put. space > 0. */
uint32_t *lookup_get(const struct lookup *lookup, uint32_t space, uint64_t key);

/* As lookup_get, but adds an entry with the value `initial` when there is none. */
uint32_t *lookup_put(struct lookup *lookup, uint32_t space, uint64_t key, uint32_t initial);

#define LOOKUP_LATEST 64u

/*
 * A cache of what was found last, for a few keys that are looked up again and again (the threads of a program, its
 * kernels).  Zeroed: empty.  The caller zeroes it after every lookup_put that changes a value.
 */
struct lookup_latest {
	struct lookup_entry entries[LOOKUP_LATEST]; /* each key has one slot; space 0: empty */
};

/* As lookup_get, through the cache; valid until the next look-up. */
static inline const uint32_t *lookup_get_latest(const struct lookup *lookup, struct lookup_latest *latest,
						uint32_t space, uint64_t key)
{
	struct lookup_entry *entry = &latest->entries[(key ^ key >> 4) % LOOKUP_LATEST];
	const uint32_t *found;

	if (entry->space == space && entry->key == key)
		return &entry->value;
	found = lookup_get(lookup, space, key);
	if (found)
		*entry = (struct lookup_entry){.key = key, .space = space, .value = *found};
	return found;
}

/* Removes all entries, expecting about as many again. */
void lookup_empty(struct lookup *lookup);

/* Replaces each value by places[value], and removes the entry where that is NONE (UINT32_MAX). */
void lookup_move(struct lookup *lookup, const uint32_t *places);

/* Sets the value to UINT32_MAX; removes such entries once there are many. */
void lookup_drop(struct lookup *lookup, uint32_t space, uint64_t key);

/* Removes entries whose value is UINT32_MAX. */
void lookup_shrink(struct lookup *lookup);

/* Seeded hash of bytes, for tables that compare contents themselves. */
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size);

/* This process's seed, which no target can know; never 0. */
uint64_t hash_seed(void);
