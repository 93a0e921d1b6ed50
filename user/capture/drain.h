/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that empties the ring buffer: into the log, and copies of what attach/ has to hear of into a queue.  It
 * does nothing else and waits for nothing but the ring and the log's disk, so that no process that is slow to attach
 * can cost a record.
 */
#ifndef GPUTRACE_CAPTURE_DRAIN_H
#define GPUTRACE_CAPTURE_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "log/writer.h"

struct drain;

struct shares;

/*
 * Starts it; shares: whose rings it empties, NULL: that of BPF, of which ring_fd is the map.  wanted: whether a record
 * is one for the queue; it is called by that thread and looks at nothing but the record.  -errno
 */
int drain_start(struct shares *shares, int ring_fd, struct log_writer *log,
		bool (*wanted)(const struct gpt_record *record), struct drain **out);

/*
 * The recording ends then, or now if that is later than this; of several ends the first counts, and is returned.  What
 * begins after it does not come into the log (cut.h), though the queue still hears of it.
 */
uint64_t drain_end(struct drain *drain, uint64_t end_ns);

/* How often what was recorded is written into the file, in ns: a second where nothing is said. */
void drain_flush_each(struct drain *drain, uint64_t ns);

/* Of a recording without a schedule: what agents say of another gputrace's does not come into the log. */
void drain_leave_out_schedules(struct drain *drain);

/* Readable when there is something to take, or drain_error has become another. */
int drain_fd(const struct drain *drain);

/* The oldest record of the queue, until drain_done; NULL: none. */
const struct gpt_record *drain_take(struct drain *drain);
void drain_done(const struct gpt_record *record);

/* Records that did not fit into the queue since the last call; they are in the log. */
uint64_t drain_refused(struct drain *drain);

/* Returns when all that was in the ring at the time of the call is in log and queue. */
void drain_sync(struct drain *drain);

/* Takes what is left, and ends the thread; for when nothing sends any more. */
void drain_finish(struct drain *drain);

/* Negative errno, 0: none. Where it is the log's, *of_log: the ring is emptied all the same. */
int drain_error(const struct drain *drain, bool *of_log);

uint64_t drain_calls(const struct drain *drain); /* in the log */
uint64_t drain_ring_bytes(const struct drain *drain);
uint64_t drain_ring_bytes_max(const struct drain *drain); /* after drain_finish */
uint64_t drain_ring_malformed(const struct drain *drain); /* after drain_finish */

/* Ends the thread if it runs. */
void drain_close(struct drain *drain);

#endif
