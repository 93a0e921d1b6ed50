/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Reads numbers and texts from a range of a cubin, whose bytes are not trusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/kernels/cubin.h"

/* A range of the cubin; reading beyond its end gives 0 and sets failed. */
struct cubin_bytes {
	const uint8_t *data;
	size_t size, at;
	bool failed;
};

/* The next `count` bytes, at most 8, as a number; the next LEB128 number (DWARF); the next NUL-terminated text. */
uint64_t cubin_take(struct cubin_bytes *bytes, unsigned count);
uint64_t cubin_take_uleb(struct cubin_bytes *bytes);
int64_t cubin_take_sleb(struct cubin_bytes *bytes);
struct cubin_text cubin_take_text(struct cubin_bytes *bytes);

/* The next `size` bytes, as a range of their own. */
struct cubin_bytes cubin_part(struct cubin_bytes *bytes, uint64_t size);
