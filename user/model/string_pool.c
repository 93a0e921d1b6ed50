/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Interning of strings; owns the characters, and is independent of records. */
#include "model/string_pool.h"

#include <stdlib.h>
#include <string.h>

#include "model/demangle.h"
#include "model/model.h"

#define FIRST_STRINGS 1024
#define BLOCK_BYTES (64u << 10)

struct string_blocks {
	struct string_blocks *next;
	size_t used, size;
	char data[];
};

void string_pool_close(struct string_pool *pool)
{
	lookup_free(&pool->by_hash);
	array_free_items(&pool->outgrown);
	array_free(&pool->lengths);
	array_free(&pool->scratch);
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

static void push_string(struct string_pool *pool, const char *string)
{
	if (pool->strings.count == pool->strings.capacity) {
		size_t capacity = pool->strings.capacity ? pool->strings.capacity * 2 : FIRST_STRINGS;
		const char **grown = xmalloc(capacity * sizeof(*grown));

		if (pool->strings.count) {
			memcpy(grown, pool->strings.items, pool->strings.count * sizeof(*grown));
			array_push(&pool->outgrown, pool->strings.items);
		}
		pool->strings.items = grown;
		pool->strings.capacity = capacity;
	}
	pool->strings.items[pool->strings.count++] = string;
}

/* Interns the text in scratch, which is safe by now, and empties scratch. */
static uint32_t intern_scratch(struct string_pool *pool)
{
	const char *text = pool->scratch.items;
	size_t length = pool->scratch.count;
	uint64_t hash = hash_bytes(hash_seed(), text, length);
	uint32_t *index;

	pool->scratch.count = 0;
	/* strings with an equal hash are under further epochs */
	for (uint32_t epoch = 1;; epoch++) {
		index = lookup_put(&pool->by_hash, epoch, hash, NONE);
		if (*index == NONE)
			break;
		if (pool->lengths.items[*index] == length &&
		    (!length || !memcmp(pool->strings.items[*index], text, length)))
			return *index;
	}
	*index = (uint32_t)pool->strings.count;
	push_string(pool, keep_characters(pool, text, length));
	array_push(&pool->lengths, (uint32_t)length);
	return *index;
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
