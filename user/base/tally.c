/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums by key: open addressing over an array of entries. */
#include "base/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"

static uint64_t hash_of(const struct tally_key *key)
{
	uint64_t low = key->part[0] | (uint64_t)key->part[1] << 32;
	uint64_t high = key->part[2] | (uint64_t)key->part[3] << 32;
	uint64_t hash = (low ^ (high * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u; /* constants of splitmix64 */

	return hash ^ hash >> 29;
}

static bool is_key(const struct tally_entry *entry, const struct tally_key *key)
{
	return !memcmp(&entry->key, key, sizeof(*key));
}

static uint32_t *slot_of_key(const struct tally *tally, const struct tally_key *key)
{
	size_t mask = tally->slot_count - 1, at = hash_of(key) & mask;

	while (tally->slots[at] && !is_key(&tally->entries[tally->slots[at] - 1], key))
		at = (at + 1) & mask;
	return &tally->slots[at];
}

static void grow_slots(struct tally *tally)
{
	free(tally->slots);
	tally->slot_count = tally->slot_count ? tally->slot_count * 2 : 64;
	tally->slots = xcalloc(tally->slot_count, sizeof(*tally->slots));
	for (size_t i = 0; i < tally->count; i++)
		*slot_of_key(tally, &tally->entries[i].key) = (uint32_t)i + 1;
}

struct tally_entry *tally_at(struct tally *tally, struct tally_key key)
{
	uint32_t *slot;

	if (tally->count && is_key(&tally->entries[tally->latest], &key))
		return &tally->entries[tally->latest];
	/* at most a quarter full: the first slot is nearly always the right one */
	if (tally->count * 4 >= tally->slot_count)
		grow_slots(tally);
	slot = slot_of_key(tally, &key);
	if (!*slot) {
		tally->entries =
			array_reserve(tally->entries, sizeof(*tally->entries), tally->count, 1, &tally->capacity);
		tally->entries[tally->count] = (struct tally_entry){.key = key};
		*slot = (uint32_t)++tally->count;
	}
	tally->latest = *slot - 1;
	return &tally->entries[tally->latest];
}

static int by_key(const void *left, const void *right)
{
	const struct tally_entry *a = left, *b = right;
	int order = 0;

	for (int i = 0; i < 4 && !order; i++)
		order = least_first(a->key.part[i], b->key.part[i]);
	return order;
}

DEFINE_ORDER(by_ns, struct tally_entry, most_first(a->ns, b->ns) ?: most_first(a->count, b->count) ?: by_key(a, b))

DEFINE_ORDER(by_count_first, struct tally_entry, most_first(a->count, b->count) ?: by_ns(a, b))

struct tally_entry *tally_sorted(const struct tally *tally, bool by_count)
{
	struct tally_entry *sorted = xmalloc(tally->count * sizeof(*sorted));

	if (tally->count)
		memcpy(sorted, tally->entries, tally->count * sizeof(*sorted));
	qsort(sorted, tally->count, sizeof(*sorted), by_count ? by_count_first : by_ns);
	return sorted;
}

void tally_sort_by_key(struct tally *tally)
{
	if (tally->count)
		qsort(tally->entries, tally->count, sizeof(*tally->entries), by_key);
}

void tally_free(struct tally *tally)
{
	free(tally->entries);
	free(tally->slots);
	*tally = (struct tally){0};
}
