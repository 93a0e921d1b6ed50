/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records that a log needs wherever it begins, and that no segment repeats: notes, lines about probes, sources of
 * notebooks, lines of generated code, whether NVML answers, changes of detail.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The most bytes.  A compiled PyTorch model has some thousand lines of 200 bytes.  Of more the oldest are dropped,
 * first of all those of code.
 */
#define LASTING_MAX (16u << 20)

/* Zeroed: none. */
struct lasting {
	uint8_t *bytes;
	size_t count, capacity;
	uint64_t left_out; /* records that were dropped */
};

/* Copies those that are among whole records. */
void lasting_add(struct lasting *lasting, const uint8_t *records, size_t bytes);
/* A copy. */
struct lasting lasting_copy(const struct lasting *lasting);
void lasting_free(struct lasting *lasting);
