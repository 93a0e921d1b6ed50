/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What records refer to: processes, threads, code objects, stacks, names, devices.  The log describes each once; this
 * keeps the descriptions and finds, for a chunk of records, which earlier ones it refers to, so that a segment can
 * repeat them and be read without the segments before it.  References go by position, as docs/log-format.md says: an
 * address means the latest CODE before it, and an EXEC makes all numbers of a process start over.
 * What is over is removed: descriptions of processes that have ended, and stacks with code objects that have died.
 * Bounded in bytes: the least recently needed are forgotten, and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Holds more than the kernel side's LRU maps remember in any program that was seen (a PyTorch job has 2,000 stacks and
 * 3,000 code objects: 6 MB); what those forget is described again.
 */
#define DESCRIPTIONS_BYTES_MAX (128u << 20)
/* The most for one chunk. With the chunk itself it is less than a segment may have (GPT_LOG_RECORD_BYTES_MAX). */
#define DESCRIPTIONS_REPEATED_MAX (48u << 20)

struct descriptions;

struct descriptions *descriptions_new(size_t bytes_max, size_t repeated_max);
void descriptions_free(struct descriptions *descriptions);

/* The descriptions that a chunk refers to and does not contain. */
struct descriptions_repeated {
	size_t bytes;
	uint32_t records;
	bool complete; /* none of them was forgotten */
};

/* Looks at the next chunk: whole records, any content. The result is valid until the next chunk. */
void descriptions_look(struct descriptions *descriptions, const uint8_t *records, size_t bytes,
		       struct descriptions_repeated *repeated);

/* Writes them for the front of the chunk, repeated.bytes in all: whole records, in an order that keeps their meaning.
 */
void descriptions_write(const struct descriptions *descriptions, uint8_t *to);
