/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places (segments) that represent a log until all of it is read: some spread over its time, and those with kinds of
 * records or processes that the others lack.  Found by the log's index.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "log/reader.h"

/* A segment, as the index describes it. */
struct gpt_place {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: the end of the segment before, and its latest time */
	uint64_t records;	 /* including records inside others, without repeated descriptions */
	uint64_t bytes;		 /* in the file */
	uint64_t kinds[2];	 /* kinds of records: a bit for each type below 128 */
	uint32_t first_pid, pids;
	uint32_t segment; /* the segment's number */
	bool is_whole;	  /* readable without the segments before it */
	bool is_chosen;
};

struct gpt_places {
	ARRAY(struct gpt_place) list; /* all segments that have a time, by start */
	ARRAY(uint32_t) pids;
	ARRAY(uint32_t) chosen; /* indices into the list, in the order in which they must be read */
	uint32_t first;		/* the first N of them are a sample of all */
	uint64_t bytes;		/* of all segments */
};

/* False: the log has no index, or cannot be read, which its reader will report.  The caller frees it in any case. */
bool gpt_places_find(int fd, struct gpt_places *places);
void gpt_places_free(struct gpt_places *places);

/*
 * Chooses segments spread over the log's time, ever closer, up to most_bytes in total; the first few are chosen
 * regardless.  A few more are added for kinds of records or processes that the first few lack.
 */
void gpt_places_choose(struct gpt_places *places, uint64_t most_bytes);

/*
 * Restricts reading to the place's segment: calls whose GPU work is reported elsewhere have none, and what is open at
 * its ends stays open.
 */
struct log_restriction gpt_restrict_to_place(const struct gpt_place *place);
