/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums by key: a hash table from four small numbers to a time and a count.  Entries keep the order in which
 * they were first added, so results do not depend on the hash.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_key {
	uint32_t part[4];
};

struct tally_entry {
	struct tally_key key;
	uint64_t ns, count;
	uint64_t more; /* for the caller, starts at 0 */
};

/* Starts zeroed. */
struct tally {
	struct tally_entry *entries;
	size_t count, capacity;
	size_t latest;	 /* entry of the last look-up: often the next one, too */
	uint32_t *slots; /* index of an entry + 1, 0: free */
	size_t slot_count;
};

/* The entry of that key; a new one has zero sums.  Valid until the next call. */
struct tally_entry *tally_at(struct tally *tally, struct tally_key key);

/* The index of that entry in `entries`. */
static inline uint32_t tally_number(struct tally *tally, struct tally_key key)
{
	return (uint32_t)(tally_at(tally, key) - tally->entries);
}

/*
 * The entries sorted by time, or by count if there are no times, most first; equal ones by key.  The caller frees the
 * array.
 */
struct tally_entry *tally_sorted(const struct tally *tally, bool by_count);

/* Sorts the entries themselves.  Nothing may be looked up or added any more. */
void tally_sort_by_key(struct tally *tally);

void tally_free(struct tally *tally);
