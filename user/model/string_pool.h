/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every string of a model, once each: made safe (safe_text.h), kept at a fixed address, known by its index.
 * Mangled C++ names are demangled once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/lookup.h"
#include "base/safe_text.h"

struct string_blocks; /* the characters; outlives the pool */

/*
 * Strings can be added while another thread reads a part: the array that the part has stays in place.  Growth moves to
 * a new array, and old arrays are freed at the end.
 */
struct string_pool {
	ARRAY(const char *) strings;
	ARRAY(const char **) outgrown; /* former arrays of `strings` */
	ARRAY(uint32_t) lengths;
	struct string_blocks *blocks;
	struct lookup by_hash; /* (n, hash) to index; n is 1, 2, ... for strings of equal hash */
	text_buffer scratch;
};

/* Frees all that only interning needs; strings.items and blocks stay and become the caller's. */
void string_pool_close(struct string_pool *pool);
void string_blocks_free(struct string_blocks *blocks);

/* Index of a string: of claimed UTF-8, of a CPython string, of a mangled or plain C++ name. */
uint32_t string_intern(struct string_pool *pool, const void *bytes, size_t size);
uint32_t string_intern_kind(struct string_pool *pool, const void *bytes, size_t size, unsigned kind);
uint32_t string_intern_mangled(struct string_pool *pool, const void *bytes, size_t size);

/* The same for a CPython string whose end is missing: "..." replaces it. */
uint32_t string_intern_truncated(struct string_pool *pool, const void *bytes, size_t size, unsigned kind);

/* The string itself; stays valid for the life of the blocks. */
const char *string_at(const struct string_pool *pool, uint32_t index);
const char *string_keep(struct string_pool *pool, const void *bytes, size_t size);
