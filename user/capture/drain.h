/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread that empties the ring buffer into the log, and copies the records that attach/ needs into a queue.  It
 * does nothing else, and waits only for the ring and the log's disk, so that a process that is slow to attach costs no
 * record.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "capture/cut.h"
#include "capture/notices.h"
#include "log/writer.h"

struct drain;
struct trigger;

struct shares;

struct drain_options {
	struct shares *shares; /* empties the rings of these agents; NULL: the BPF ring buffer, whose map is ring_fd */
	int ring_fd;
	struct log_writer *log;
	/* Whether a record goes into the queue; the thread calls it, and it looks only at the record. */
	bool (*wanted)(const struct gpt_record *record);
	/* What the recording asks of agents.  What they report besides goes nowhere (cut.h). */
	struct agent_request request;
	_Atomic uint32_t *passes; /* incremented before each pass over the ring; NULL: not */
	/*
	 * --memory-limit: the queue takes a part of it, and records are dropped where all of gputrace has reached it;
	 * 0: none.
	 */
	uint64_t memory_limit;
};

/* Starts the thread.  0 or -errno */
int drain_start(const struct drain_options *options, struct drain **out);

/*
 * Ends the recording at end_ns, or now if that is later.  Of several ends the earliest counts, and is returned.  What
 * begins after it stays out of the log (cut.h), but still goes into the queue.
 */
uint64_t drain_end(struct drain *drain, uint64_t end_ns);

/*
 * While the recording waits for its moment: many events are cut that are over before `before_ns` (cut.h).  Calls are
 * counted. What a later event may refer to stays.
 */
void drain_leave_out(struct drain *drain, uint64_t before_ns);
uint64_t drain_left_out(const struct drain *drain);

/* How often the log is flushed to the file, in ns; the default is a second. */
void drain_flush_each(struct drain *drain, uint64_t ns);

/* Shows the trigger what comes, until the next call; NULL: none. */
void drain_show(struct drain *drain, struct trigger *trigger);

/* The queue, which is also readable when drain_error has changed.  What it refuses is in the log. */
struct notices *drain_notices(const struct drain *drain);

/*
 * Returns when all that was in the ring at the time of the call is in log and queue. Calls meanwhile(context) now and
 * then until that, unless it is NULL.
 */
void drain_sync(struct drain *drain, void (*meanwhile)(void *context), void *context);

/* The same, and ends the thread. */
void drain_finish(struct drain *drain, void (*meanwhile)(void *context), void *context);

/* Negative errno, 0: none. *of_log: it is the log's; the ring is emptied all the same. */
int drain_error(const struct drain *drain, bool *of_log);

/* Adds what was dropped for drain_options.memory_limit. */
void drain_count_dropped(const struct drain *drain, uint64_t counters[GPT_COUNTER_COUNT]);

/* Whether it may take records somewhat later: it wakes less often, where the ring has room for more meanwhile. */
void drain_be_patient(struct drain *drain, bool is_patient);

uint64_t drain_short_gaps_ns(const struct drain *drain); /* gaps.h, as of the last pass */
uint64_t drain_calls(const struct drain *drain);	 /* in the log */
uint64_t drain_ring_bytes(const struct drain *drain);
/* The most bytes that were in the ring since the last call; false: it was not looked at. */
bool drain_take_fill(struct drain *drain, uint64_t *fill);
/* After drain_finish: the ring's bytes; counts records that were none, and batches with such bytes. */
void drain_describe_ring(const struct drain *drain, struct gpt_end *end);

/* Ends the thread if it runs. */
void drain_close(struct drain *drain);

/* Adds a descriptor to an epoll instance.  0 or -errno */
int watch_descriptor(int epoll, int fd, uint32_t events);
