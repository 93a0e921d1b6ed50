/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records on their way from the thread that drains the ring to the one that attaches probes: copies, in order, in
 * bounded memory.  The first thread never waits for the second.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

/*
 * Copies of CUPTI's buffers (GPT_CUPTI_DONE) are queued up to BULK bytes; beyond that the record goes without its copy,
 * and the buffer is read from the process instead.  Agents' batches are queued up to BATCHES bytes, of one user no more
 * than are left for the others.  All else is queued up to PLAIN bytes.  What has no room is refused and counted. Only a
 * record for which a process is stopped (GPT_MAPPED_STOPPED) is always queued: that process sends no more.
 */
#define NOTICES_BULK_MAX (64u << 20)
#define NOTICES_PLAIN_MAX (16u << 20)
#define NOTICES_BATCHES_MAX (4u << 20)

struct notices;

/* NULL: no memory, no descriptor (errno). */
struct notices *notices_new(void);
/* All three together take no more than so many bytes.  Before the first record. */
void notices_bound(struct notices *notices, size_t bytes);
void notices_free(struct notices *notices);

/* Readable while there is something to take. */
int notices_fd(const struct notices *notices);

void notices_put(struct notices *notices, const struct gpt_record *record);

/* The oldest record, valid until notices_done; NULL: none. */
const struct gpt_record *notices_take(struct notices *notices);
void notices_done(const struct gpt_record *record);

/* How many can be taken now. */
size_t notices_count(struct notices *notices);

/* How many were refused since the last call; batches: and how many batches. */
uint64_t notices_refused(struct notices *notices, uint64_t *batches);

/* Makes notices_fd readable once without a record: the taker has something else to look at. */
void notices_wake(struct notices *notices);
