/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Activity kinds of CUPTI, a row each: which record of agent.h it becomes, which fields are copied from where, and what
 * must be done besides.  A new kind begins here.  Only for records.c and record_sizes.c.
 */
#ifndef GPUTRACE_CUPTI_KINDS_H
#define GPUTRACE_CUPTI_KINDS_H

#include <string.h>

#include "cupti/records_state.h"

struct field {
	uint8_t from, bytes; /* in CUPTI's record; bytes 0: the end of the list */
	uint8_t to;	     /* in gputrace's record */
};

/* Flag of kind.start: the record has one time, not a start and an end. */
#define KIND_INSTANT 0x8000u

struct kind {
	uint8_t kind;	  /* CUPTI's number */
	uint8_t type;	  /* enum gpt_agent_record_type */
	uint16_t min;	  /* bytes of CUPTI's record in 11.8 */
	uint16_t ours;	  /* bytes of our record */
	uint16_t counter; /* in struct gpt_agent_stats */
	uint8_t corr;	  /* in CUPTI's record; 0: it belongs to no call */
	uint16_t start;	  /* of the times in our record; 0: it has none */
	const struct field *fields;
	/* Whether the record is wanted; NULL: always. */
	bool (*wants)(const struct records *records, const uint8_t *record);
	/* Before room is taken in the batch (a name is a record of its own), and after the fields are copied. */
	uint32_t (*before)(struct records *records, const uint8_t *record, size_t *extra);
	void (*after)(struct records *records, const uint8_t *record, size_t bytes, void *ours, uint32_t carried);
};

/* NULL: none of gputrace's. */
const struct kind *kind_find(uint32_t number);

static inline uint64_t kind_load(const uint8_t *record, unsigned offset, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, record + offset, bytes);
	return value;
}

/* How many times a record of the kind has: 0, 1 or 2. */
static inline unsigned kind_times(const struct kind *kind)
{
	return !kind->start ? 0 : kind->start & KIND_INSTANT ? 1 : 2;
}

/* Where they begin in our record. */
static inline size_t kind_start(const struct kind *kind)
{
	return kind->start & ~KIND_INSTANT;
}

#endif
