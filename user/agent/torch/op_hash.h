/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Hashes that identify names and inputs of ops: of their bytes and a secret seed, so that a program cannot construct
 * collisions. Never 0. In a header, as every op runs it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t op_hash_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t op_hash_load(const char *text)
{
	uint64_t value;

	memcpy(&value, text, sizeof(value));
	return value;
}

static inline uint64_t op_hash_load_few(const char *text, size_t bytes)
{
	uint64_t value = 0;

	while (bytes)
		value = value << 8 | (uint8_t)text[--bytes];
	return value;
}

#define OP_HASH_NAME 0x9e3779b97f4a7c15u
#define OP_HASH_INPUTS 0xa0761d6478bd642fu /* differs from a name's, so that equal bytes hash differently */

/* Sixteen bytes at a time; both factors depend on the secret seed. */
static inline uint64_t op_hash_two(uint64_t seed, uint64_t hash, uint64_t a, uint64_t b, uint64_t key)
{
	return op_hash_mix(hash ^ a, b ^ key ^ seed);
}

static inline uint64_t op_hash_end(uint64_t seed, uint64_t hash, uint64_t key)
{
	hash = op_hash_mix(hash ^ seed, key);
	return hash ? hash : 1;
}

/* Hash of a name's text. The last bytes may be read twice. */
static inline uint64_t op_hash_name(uint64_t seed, const char *text, size_t bytes)
{
	uint64_t hash = seed ^ bytes;
	const char *end = text + bytes;

	if (bytes < 8)
		return op_hash_end(seed, op_hash_two(seed, hash, op_hash_load_few(text, bytes), 0, OP_HASH_NAME),
				   OP_HASH_NAME);
	for (; end - text > 16; text += 16)
		hash = op_hash_two(seed, hash, op_hash_load(text), op_hash_load(text + 8), OP_HASH_NAME);
	return op_hash_end(
		seed,
		op_hash_two(seed, hash, end - text >= 8 ? op_hash_load(text) : 0, op_hash_load(end - 8), OP_HASH_NAME),
		OP_HASH_NAME);
}

static inline uint64_t op_hash_inputs(uint64_t seed, const uint64_t *words, uint32_t count)
{
	uint64_t hash = ~seed ^ count;
	uint32_t i;

	for (i = 0; i + 1 < count; i += 2)
		hash = op_hash_two(seed, hash, words[i], words[i + 1], OP_HASH_INPUTS);
	if (i < count)
		hash = op_hash_two(seed, hash, words[i], 0, OP_HASH_INPUTS);
	return op_hash_end(seed, hash, OP_HASH_INPUTS);
}
