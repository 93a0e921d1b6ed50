/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --memory-limit: what is done where lower detail (attach/detail.h) was not enough.  All that the drain has is bounded
 * by parts of the limit; what others of gputrace hold, as for very many processes, may take the rest of it.  Then
 * records are dropped and counted until there is room again.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

struct memory_bound {
	uint64_t limit; /* bytes; 0: none */
	bool is_reached;
	uint64_t trimmed_ns;
	atomic_uint_fast64_t calls, batches, others; /* dropped */
};

/* Before records are taken, on the thread that takes them. */
void memory_bound_check(struct memory_bound *bound, uint64_t now_ns);

/* Whether the record is dropped.  Those by which processes are followed are not. */
bool memory_bound_drops(struct memory_bound *bound, const struct gpt_record *record);

/* Adds what was dropped; from any thread. */
void memory_bound_count(const struct memory_bound *bound, uint64_t counters[GPT_COUNTER_COUNT]);
