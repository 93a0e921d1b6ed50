/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the header of a segment says of its records: the number of each type, their times, their processes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/packing/pack.h"
#include "log/packing/pack_column.h"
#include "log/packing/schema.h"

struct pack_range {
	uint64_t first, last; /* 0 0: nothing */
};

struct pack_summary {
	uint32_t counts[SCHEMA_TYPES_MAX + 1]; /* by row of the schema, from 1; [0]: not in the schema */
	struct pack_range mono, wall;
	uint32_t pid_slots[2 * PACK_PROCESSES_MAX]; /* a hash table of pid + 1, 0: free */
	uint32_t pid_count;
	bool too_many_pids;
	uint32_t pids[PACK_PROCESSES_MAX];
	struct gpt_log_kind kinds[SCHEMA_TYPES_MAX + 1];
};

void pack_summary_begin(struct pack_summary *summary);

/* Adds times and processes of records of that type; wall_is_mono: their wall times are by CLOCK_MONOTONIC. */
void pack_summary_add(struct pack_summary *summary, const struct schema_type *type, struct pack_places places,
		      bool wall_is_mono);

void pack_summary_finish(struct pack_summary *summary, const struct schema *schema, struct pack_out *out);
