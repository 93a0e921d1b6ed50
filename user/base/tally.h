/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums by key: a hash table from four small numbers to a time and a count.  Entries keep the order in which
 * they were first met, so what is made from them does not depend on the hash.
 */
#ifndef GPUTRACE_TALLY_H
#define GPUTRACE_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tally_key {
	uint32_t part[4];
};

struct tally_entry {
	struct tally_key key;
	uint64_t ns, count;
	uint64_t more; /* the user's own, starts at 0 */
};

/* Starts zeroed. */
struct tally {
	struct tally_entry *entries;
	size_t count, capacity;
	size_t latest;	 /* entry that was asked for last: often it is the next, too */
	uint32_t *slots; /* index of an entry + 1, 0: free */
	size_t slot_count;
};

/* The entry of that key, made with zero sums when new.  Valid until the next call. */
struct tally_entry *tally_at(struct tally *tally, struct tally_key key);

/*
 * The entries by time, or by count where there are no times, most first; equal ones by key.  Returns an array that the
 * caller frees.
 */
struct tally_entry *tally_sorted(const struct tally *tally, bool by_count);

void tally_free(struct tally *tally);

#endif
