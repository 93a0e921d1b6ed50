/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interning of strings; owns the characters, knows no record. */
#include "model/string_pool.h"

#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"
#include "model/lookup.h"
#include "model/model.h"

#define FIRST_SLOTS 1024
#define BLOCK_BYTES (64u << 10)

struct string_blocks {
	struct string_blocks *next;
	size_t used, size;
	char data[];
};

void string_pool_init(struct string_pool *pool, uint64_t seed)
{
	memset(pool, 0, sizeof(*pool));
	pool->seed = seed;
}

void string_pool_close(struct string_pool *pool)
{
	free(pool->slots);
	array_free(&pool->lengths);
	array_free(&pool->scratch);
	pool->slots = NULL;
	pool->mask = 0;
}

void string_blocks_free(struct string_blocks *blocks)
{
	while (blocks) {
		struct string_blocks *next = blocks->next;

		free(blocks);
		blocks = next;
	}
}

static char *keep_characters(struct string_pool *pool, const char *text, size_t length)
{
	struct string_blocks *block = pool->blocks;
	char *copy;

	if (!block || block->size - block->used < length + 1) {
		size_t size = length + 1 > BLOCK_BYTES ? length + 1 : BLOCK_BYTES;

		block = xmalloc(sizeof(*block) + size);
		block->next = pool->blocks;
		block->used = 0;
		block->size = size;
		pool->blocks = block;
	}
	copy = block->data + block->used;
	if (length)
		memcpy(copy, text, length);
	copy[length] = 0;
	block->used += length + 1;
	return copy;
}

static uint32_t *find_slot(const struct string_pool *pool, const char *text, size_t length)
{
	size_t slot = hash_bytes(pool->seed, text, length) & pool->mask;

	for (;; slot = (slot + 1) & pool->mask) {
		uint32_t index = pool->slots[slot];

		if (index == NONE || (pool->lengths.items[index] == length &&
				      (!length || !memcmp(pool->strings.items[index], text, length))))
			return &pool->slots[slot];
	}
}

static void grow(struct string_pool *pool)
{
	size_t capacity = pool->mask ? (pool->mask + 1) * 2 : FIRST_SLOTS;

	free(pool->slots);
	pool->slots = xmalloc(capacity * sizeof(*pool->slots));
	memset(pool->slots, 0xff, capacity * sizeof(*pool->slots));
	pool->mask = capacity - 1;
	for (size_t i = 0; i < pool->strings.count; i++)
		*find_slot(pool, pool->strings.items[i], pool->lengths.items[i]) = (uint32_t)i;
}

/* Interns what is in scratch, which is safe by now, and empties it. */
static uint32_t intern_scratch(struct string_pool *pool)
{
	const char *text = pool->scratch.items;
	size_t length = pool->scratch.count;
	uint32_t *slot;

	if (!pool->mask || pool->strings.count * 2 >= pool->mask)
		grow(pool);
	slot = find_slot(pool, text, length);
	if (*slot == NONE) {
		*slot = (uint32_t)pool->strings.count;
		array_push(&pool->strings, keep_characters(pool, text, length));
		array_push(&pool->lengths, (uint32_t)length);
	}
	pool->scratch.count = 0;
	return *slot;
}

uint32_t string_intern(struct string_pool *pool, const void *bytes, size_t size)
{
	safe_text_append_utf8(&pool->scratch, bytes, size);
	return intern_scratch(pool);
}

uint32_t string_intern_kind(struct string_pool *pool, const void *bytes, size_t size, unsigned kind)
{
	safe_text_append_kind(&pool->scratch, bytes, size, kind);
	return intern_scratch(pool);
}

uint32_t string_intern_truncated(struct string_pool *pool, const void *bytes, size_t size, unsigned kind)
{
	safe_text_append_kind(&pool->scratch, bytes, size, kind);
	safe_text_append_utf8(&pool->scratch, "...", 3);
	return intern_scratch(pool);
}

uint32_t string_intern_mangled(struct string_pool *pool, const void *bytes, size_t size)
{
	text_buffer plain = {0};

	if (demangle(bytes, size, &plain))
		safe_text_append_utf8(&pool->scratch, plain.items, plain.count);
	else
		safe_text_append_utf8(&pool->scratch, bytes, size);
	array_free(&plain);
	return intern_scratch(pool);
}

const char *string_at(const struct string_pool *pool, uint32_t index)
{
	return pool->strings.items[index];
}

const char *string_keep(struct string_pool *pool, const void *bytes, size_t size)
{
	return string_at(pool, string_intern(pool, bytes, size));
}
