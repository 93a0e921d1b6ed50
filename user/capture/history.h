/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was counted at each second of a recording, so that the end of a log of some of it says what was counted in that
 * time.  The first thread notes, others ask.
 */
#pragma once

#include <stdint.h>

#include <gputrace/record.h>

/* Since the recording began. */
struct history_counts {
	uint64_t at_ns, cpu_ns;
	int64_t wall_offset_ns;
	uint64_t counters[GPT_COUNTER_COUNT];
};

struct history;

/* Of the last span_ns. */
struct history *history_new(uint64_t span_ns);
void history_free(struct history *history); /* NULL is allowed */

/* Once a second, from the beginning on. */
void history_note(struct history *history, const struct history_counts *counts);

/* The latest counts from before a time, or the oldest that are known. */
struct history_counts history_before(struct history *history, uint64_t time_ns);

/* Leaves what was counted since then; files and processes that go unseen stay, as they still do. */
void history_subtract(const struct history_counts *before, struct gpt_end *end);
