/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Variable-length numbers (LEB128), signed ones as zigzag, and fields of any width. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VARINT_MAX 10 /* bytes */

/* Writes a number; returns where the next one goes.  There must be room for VARINT_MAX bytes. */
static inline uint8_t *varint_put(uint8_t *to, uint64_t value)
{
	while (value >= 0x80) {
		*to++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*to++ = (uint8_t)value;
	return to;
}

/* Reads a number and moves *from to the next one; false: none, or more than 64 bits. */
static inline bool varint_get(const uint8_t **from, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;
	const uint8_t *at = *from;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			return false;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*from = at;
			*value = sum;
			return true;
		}
	}
	return false;
}

/* The same, faster: most numbers have one byte or two. */
static inline __attribute__((always_inline)) bool varint_next(const uint8_t **from, const uint8_t *end, uint64_t *value)
{
	const uint8_t *at = *from;

	if (end - at >= 2) {
		if (at[0] < 0x80) {
			*value = at[0];
			*from = at + 1;
			return true;
		}
		if (at[1] < 0x80) {
			*value = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
			*from = at + 2;
			return true;
		}
	}
	return varint_get(from, end, value);
}

/* A little-endian field of 1, 2, 4 or 8 bytes. */
static inline __attribute__((always_inline)) uint64_t field_load(const uint8_t *from, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, from, bytes);
	return value;
}

/* The same for a width that is not known at compile time. */
static inline uint64_t field_load_any(const uint8_t *from, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return field_load(from, 1);
	case 2:
		return field_load(from, 2);
	case 4:
		return field_load(from, 4);
	default:
		return field_load(from, 8);
	}
}

static inline __attribute__((always_inline)) void field_store(uint8_t *to, unsigned bytes, uint64_t value)
{
	memcpy(to, &value, bytes);
}

/* The difference between two fields as a small number, whichever is larger: 0 -1 1 -2 2 ... */
static inline __attribute__((always_inline)) uint64_t zigzag_of(uint64_t value, uint64_t before, unsigned bytes)
{
	unsigned above = 64 - 8 * bytes;
	uint64_t difference = (value - before) << above;
	uint64_t sign = 0 - (difference >> 63); /* all bits of a negative one */

	return (difference >> above << 1 ^ sign) & UINT64_MAX >> above;
}

/* Counts modulo 2 to the field's width: field_store cuts off the upper bits. */
static inline __attribute__((always_inline)) uint64_t zigzag_add(uint64_t before, uint64_t zigzag)
{
	return before + (zigzag >> 1 ^ -(zigzag & 1));
}
