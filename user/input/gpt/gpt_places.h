/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Places of a log that stand for all of it until that is read: segments spread over its time, and those that have what
 * no other of them has, by its index.
 */
#ifndef GPUTRACE_INPUT_GPT_PLACES_H
#define GPUTRACE_INPUT_GPT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "log/reader.h"

/* A segment, as the index has it. */
struct gpt_place {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC: where the one before ends, and its latest time */
	uint64_t records;	 /* those inside others included, without those that it repeats */
	uint64_t bytes;		 /* in the file */
	uint64_t kinds[2];	 /* of records: a bit for each type below 128 */
	uint32_t first_pid, pids;
	uint32_t segment; /* its number */
	bool is_whole;	  /* it can be read without those before it */
	bool is_chosen;
};

struct gpt_places {
	ARRAY(struct gpt_place) list; /* all that have a time, by start */
	ARRAY(uint32_t) pids;
	ARRAY(uint32_t) chosen; /* in the order in which they must be read: indices into the list */
	uint32_t first;		/* this many of them are a sample of all */
	uint64_t bytes;		/* of all segments */
};

/* False: the log has no index, or cannot be read, which its reader will report.  Freed in any case. */
bool gpt_places_find(int fd, struct gpt_places *places);
void gpt_places_free(struct gpt_places *places);

/*
 * Some that are spread over the log's time, ever closer: until they have that many bytes together, but for the first
 * few. A kind of records or a process that those have not brings a few more.
 */
void gpt_places_choose(struct gpt_places *places, uint64_t most_bytes);

/* Nothing but its segment: calls whose GPU work is reported elsewhere have none, what is open at its ends stays so. */
struct log_restriction gpt_restrict_to_place(const struct gpt_place *place);

#endif
