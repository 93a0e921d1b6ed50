/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/memory_bound.h"

#include <malloc.h>

#include "base/resident.h"

/* Records are dropped above that part of the limit, until it is below the other one. */
#define REACHED(limit) ((limit) - (limit) / 16)
#define ROOM(limit) ((limit) - (limit) / 8)

/* Freed memory is given back that often at most. */
#define TRIM_NS 100000000ull

void memory_bound_check(struct memory_bound *bound, uint64_t now_ns)
{
	uint64_t limit = bound->limit, bytes;

	if (!limit)
		return;
	bytes = resident_bytes();
	if (bytes > ROOM(limit) && now_ns - bound->trimmed_ns > TRIM_NS) {
		malloc_trim(0);
		bound->trimmed_ns = now_ns;
		bytes = resident_bytes();
	}
	bound->is_reached = bytes > (bound->is_reached ? ROOM(limit) : REACHED(limit));
}

bool memory_bound_drops(struct memory_bound *bound, const struct gpt_record *record)
{
	if (!bound->is_reached || (record->type >= GPT_FORK && record->type <= GPT_MAPPED))
		return false;
	if (record->type == GPT_CALL || record->type == GPT_CALL_ARGS)
		bound->calls++;
	else if (record->type == GPT_AGENT_BATCH)
		bound->batches++;
	else
		bound->others++;
	return true;
}

void memory_bound_count(const struct memory_bound *bound, uint64_t counters[GPT_COUNTER_COUNT])
{
	counters[GPT_COUNTER_MEMORY_CALLS] += bound->calls;
	counters[GPT_COUNTER_MEMORY_BATCHES] += bound->batches;
	counters[GPT_COUNTER_MEMORY_OTHERS] += bound->others;
}
