/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A hash table over an arena, both mapped once and kept; see names.h. */
#include "cupti/names.h"

#include <string.h>
#include <sys/mman.h>

#define SLOTS (2 * NAMES_MAX) /* power of two; at most half full */

struct name_slot {
	uint32_t hash;
	uint32_t id; /* 0: free */
	uint32_t offset, bytes;
};

#define NAMES_MAPPED (SLOTS * sizeof(struct name_slot) + NAMES_BYTES)

bool names_open(struct names *names)
{
	void *memory;

	if (names->slots)
		return true;
	memory = mmap(NULL, NAMES_MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	names->slots = memory;
	names->text = (char *)(names->slots + SLOTS);
	names->first_id = 1;
	return true;
}

void names_clear(struct names *names)
{
	if (!names->slots)
		return;
	madvise(names->slots, NAMES_MAPPED, MADV_DONTNEED); /* zero again */
	names->first_id += names->count;
	names->count = names->used = 0;
}

void names_close(struct names *names)
{
	if (names->slots)
		munmap(names->slots, NAMES_MAPPED);
	memset(names, 0, sizeof(*names));
}

/* Eight bytes a step: names of templates are hundreds of bytes long and hashed for every kernel record.
 * The multiplier is 2^64 / golden ratio, as in Fibonacci hashing. */
static uint32_t hash_text(uint64_t seed, const char *text, size_t bytes)
{
	uint64_t hash = seed ^ bytes, word;

	for (; bytes >= 8; text += 8, bytes -= 8) {
		memcpy(&word, text, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	word = 0;
	memcpy(&word, text, bytes);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash >> 32);
}

static struct name intern_name(struct names *names, const char *text, size_t bytes)
{
	struct name name = {.truncated = bytes > NAMES_TEXT_MAX};
	struct name_slot *slot;
	uint32_t hash, i;

	if (name.truncated)
		bytes = NAMES_TEXT_MAX;
	name.bytes = (uint32_t)bytes;
	hash = hash_text(names->seed, text, bytes);
	for (i = hash & (SLOTS - 1);; i = (i + 1) & (SLOTS - 1)) {
		slot = &names->slots[i];
		if (!slot->id)
			break;
		if (slot->hash != hash || slot->bytes != bytes || memcmp(names->text + slot->offset, text, bytes) != 0)
			continue;
		name.id = slot->id;
		name.text = names->text + slot->offset;
		return name;
	}
	if (names->count == NAMES_MAX || bytes > NAMES_BYTES - names->used)
		return name;
	memcpy(names->text + names->used, text, bytes);
	*slot = (struct name_slot){
		.hash = hash, .id = names->first_id + names->count, .offset = names->used, .bytes = (uint32_t)bytes};
	names->used += (uint32_t)bytes;
	names->count++;
	name.id = slot->id;
	name.text = names->text + slot->offset;
	name.fresh = true;
	return name;
}

struct name names_intern_pair(struct names *names, const char *text, const char *second)
{
	size_t bytes = strnlen(text, NAMES_TEXT_MAX + 1), second_bytes = second ? strlen(second) : 0;
	char pair[NAMES_PAIR_MAX];

	if (!second || bytes + 1 + second_bytes > sizeof(pair))
		return intern_name(names, text, bytes);
	memcpy(pair, text, bytes);
	pair[bytes] = '\0';
	memcpy(pair + bytes + 1, second, second_bytes);
	return intern_name(names, pair, bytes + 1 + second_bytes);
}
