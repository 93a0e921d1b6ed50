/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every string of a model, once each: made safe (safe_text.h), kept at a fixed address, known by its index.
 * Mangled C++ names are demangled once.
 */
#ifndef GPUTRACE_STRING_POOL_H
#define GPUTRACE_STRING_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/lookup.h"
#include "base/safe_text.h"

struct string_blocks; /* the characters; outlives the pool */

/*
 * Where a part is looked at while strings are added, what it has of them stays where it is: they grow into another
 * array, and the one that was is freed at last.
 */
struct string_pool {
	ARRAY(const char *) strings;
	ARRAY(const char **) outgrown; /* arrays that `strings` was */
	ARRAY(uint32_t) lengths;
	struct string_blocks *blocks;
	struct lookup by_hash; /* (1 and on, hash) to index */
	text_buffer scratch;
};

void string_pool_init(struct string_pool *pool, uint64_t seed);

/* Frees what only interning needs; strings.items and blocks stay and become the caller's. */
void string_pool_close(struct string_pool *pool);
void string_blocks_free(struct string_blocks *blocks);

/* Index of a string given as claimed UTF-8, as a CPython string, as a mangled or plain C++ name. */
uint32_t string_intern(struct string_pool *pool, const void *bytes, size_t size);
uint32_t string_intern_kind(struct string_pool *pool, const void *bytes, size_t size, unsigned kind);
uint32_t string_intern_mangled(struct string_pool *pool, const void *bytes, size_t size);

/* The same of a CPython string whose end is missing: "..." stands for it. */
uint32_t string_intern_truncated(struct string_pool *pool, const void *bytes, size_t size, unsigned kind);

/* The string itself; stays valid for the life of the blocks. */
const char *string_at(const struct string_pool *pool, uint32_t index);
const char *string_keep(struct string_pool *pool, const void *bytes, size_t size);

#endif
