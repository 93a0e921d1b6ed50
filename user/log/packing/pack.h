/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Packs the records of a segment into columns: the same field of all records of a type one after the other, as small
 * differences or numbers, which zstd compresses far better than the records.  The layout is in packed.h.
 * A packer belongs to one thread; it owns its result, which is valid until it packs again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gputrace/log.h>

#include "log/packing/schema.h"

#define PACK_PROCESSES_MAX 1024u /* a segment with more does not list them */

/* The packed records, and what a segment's header says of them. */
struct pack_out {
	const uint8_t *packed;
	size_t packed_bytes;
	uint32_t records; /* including the repeated ones, not those inside other records */
	/* From here on: only of records that are not repeated, and of the records inside them. */
	const struct gpt_log_kind *kinds; /* by rising type; 0: all types that are not in the schema */
	uint32_t kind_count;
	const uint32_t *pids;	    /* by rising pid; 0: records of no process */
	uint32_t pid_count;	    /* GPT_LOG_ANY_PROCESS: too many to list */
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC; 0 0: no time in them */
	uint64_t first_wall_ns, last_wall_ns;
};

struct packer;

/* The schema has to stay until the packer is freed. */
struct packer *packer_new(const struct schema *schema);
void packer_free(struct packer *packer);

/*
 * Packs whole records (struct gpt_record, a multiple of 8 bytes, any content).  The first `repeated` are descriptions
 * that an earlier segment had.  -EINVAL: the sizes of the records do not add up; -E2BIG: more than
 * GPT_LOG_RECORD_BYTES_MAX.
 */
int pack(struct packer *packer, const void *records, size_t bytes, uint32_t repeated, struct pack_out *out);
