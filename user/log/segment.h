/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Encodes records as a segment: packs and compresses them, and puts a header with a checksum in front (log.h).
 * An encoder belongs to one thread; it owns its result, which is valid until it encodes again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "log/packing/schema.h"

struct segment_encoder;

struct segment {
	const uint8_t *bytes; /* as they stand in the file, padding included */
	size_t size;
	size_t header_size; /* bytes of the header, which the index repeats */
};

/* The schema has to stay until the encoder is freed. */
struct segment_encoder *segment_encoder_new(const struct schema *schema);
void segment_encoder_free(struct segment_encoder *encoder);

/*
 * Encodes whole records; an earlier segment had the first `repeated`.  flags: GPT_LOG_SEGMENT_*.  -EINVAL: their sizes
 * do not add up; -E2BIG: more than GPT_LOG_RECORD_BYTES_MAX.
 */
int segment_encode(struct segment_encoder *encoder, const uint8_t *records, size_t bytes, uint32_t repeated,
		   uint32_t sequence, uint32_t flags, struct segment *out);
