/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums by key: open addressing over an array of entries. */
#include "base/tally.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static uint64_t hash_of(const struct tally_key *key)
{
	uint64_t low = key->part[0] | (uint64_t)key->part[1] << 32;
	uint64_t high = key->part[2] | (uint64_t)key->part[3] << 32;
	uint64_t hash = (low ^ (high * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u; /* constants of splitmix64 */

	return hash ^ hash >> 29;
}

static uint32_t *slot_of(const struct tally *tally, const struct tally_key *key)
{
	size_t mask = tally->slot_count - 1, at = hash_of(key) & mask;

	while (tally->slots[at] && memcmp(&tally->entries[tally->slots[at] - 1].key, key, sizeof(*key)))
		at = (at + 1) & mask;
	return &tally->slots[at];
}

static void grow_slots(struct tally *tally)
{
	free(tally->slots);
	tally->slot_count = tally->slot_count ? tally->slot_count * 2 : 64;
	tally->slots = xcalloc(tally->slot_count, sizeof(*tally->slots));
	for (size_t i = 0; i < tally->count; i++)
		*slot_of(tally, &tally->entries[i].key) = (uint32_t)i + 1;
}

struct tally_entry *tally_at(struct tally *tally, struct tally_key key)
{
	uint32_t *slot;

	if (tally->count * 2 >= tally->slot_count)
		grow_slots(tally);
	slot = slot_of(tally, &key);
	if (*slot)
		return &tally->entries[*slot - 1];
	tally->entries = array_reserve(tally->entries, sizeof(*tally->entries), tally->count, 1, &tally->capacity);
	tally->entries[tally->count] = (struct tally_entry){.key = key};
	*slot = (uint32_t)++tally->count;
	return &tally->entries[tally->count - 1];
}

void tally_free(struct tally *tally)
{
	free(tally->entries);
	free(tally->slots);
	*tally = (struct tally){0};
}
