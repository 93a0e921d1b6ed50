/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records on their way from the thread that drains the ring to the one that attaches probes: copies, in order, in
 * bounded memory.  The first thread never waits for the second.
 */
#ifndef GPUTRACE_CAPTURE_NOTICES_H
#define GPUTRACE_CAPTURE_NOTICES_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

/*
 * Copies of CUPTI's buffers (GPT_CUPTI_DONE) fill up to BULK; beyond, the record goes without its copy, and the buffer
 * is read from the process instead.  Everything else fills up to PLAIN, then it is refused and counted; but what a
 * process waits for (GPT_MAPPED_STOPPED) always goes: one that is stopped sends no more.
 */
#define NOTICES_BULK_MAX (64u << 20)
#define NOTICES_PLAIN_MAX (16u << 20)

struct notices;

/* NULL: no memory, no descriptor (errno). */
struct notices *notices_new(void);
void notices_free(struct notices *notices);

/* Readable while there is something to take. */
int notices_fd(const struct notices *notices);

void notices_put(struct notices *notices, const struct gpt_record *record);

/* The oldest one, until notices_done; NULL: none. */
const struct gpt_record *notices_take(struct notices *notices);
void notices_done(const struct gpt_record *record);

/* How many were refused since the last call. */
uint64_t notices_refused(struct notices *notices);

/* Makes notices_fd readable once although nothing is there: for what else the taker has to look at. */
void notices_wake(struct notices *notices);

#endif
