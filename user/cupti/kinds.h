/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CUPTI's activity kinds, one row each: which record of agent.h it becomes, which fields are copied from where, and
 * what else must be done.  To add a kind, start here.  Only for records.c and record_sizes.c.
 */
#pragma once

#include <string.h>

#include "cupti/records_state.h"

struct field {
	uint8_t from, bytes; /* offset in CUPTI's record, size; bytes 0 ends the list */
	uint8_t to;	     /* offset in gputrace's record */
};

/* Flag of kind.start: the record has one time, not a start and an end. */
#define KIND_INSTANT 0x8000u

struct kind {
	uint8_t kind;	  /* CUPTI's number */
	uint8_t type;	  /* enum gpt_agent_record_type */
	uint16_t min;	  /* size of CUPTI's record in 11.8, in bytes */
	uint16_t ours;	  /* size of gputrace's record, in bytes */
	uint16_t counter; /* offset in struct gpt_agent_stats */
	uint8_t corr;	  /* offset of the correlation id in CUPTI's record; 0: belongs to no call */
	uint16_t start;	  /* offset of the times in gputrace's record; 0: no times */
	const struct field *fields;
	/* Whether to take the record; NULL: always. */
	bool (*wants)(const struct records *records, const uint8_t *record);
	/* before: before room is taken in the batch (a name is a record of its own); after: once fields are copied. */
	uint32_t (*before)(struct records *records, const uint8_t *record, size_t *extra);
	void (*after)(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried);
};

/* NULL: a kind that gputrace does not take. */
const struct kind *kind_find(uint32_t number);

static inline uint64_t kind_load(const uint8_t *record, unsigned offset, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, record + offset, bytes);
	return value;
}

/* The number of timestamps of the kind's records: 0, 1 or 2. */
static inline unsigned kind_times(const struct kind *kind)
{
	return !kind->start ? 0 : kind->start & KIND_INSTANT ? 1 : 2;
}

/* The offset of the times in gputrace's record. */
static inline size_t kind_start(const struct kind *kind)
{
	return kind->start & ~KIND_INSTANT;
}
