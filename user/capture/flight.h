/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The flight recorder: the last seconds of a recording, which the log keeps in memory (log/recent_log.h), are written
 * as a log of their own whenever that is asked for, on a thread of its own, while the recording goes on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "capture/history.h"
#include "log/recent_log.h"
#include "log/writer.h"

/* How long after the moment that is asked for GPU work is waited for; as for a cycle of a schedule. */
#define FLIGHT_WAITS_NS 1000000000ull

/* Segments are kept for so much longer than the span: for that wait, and for a file that is still being written. */
#define FLIGHT_SPARE_NS (3 * FLIGHT_WAITS_NS)

/* flight_ask's reason for a file that a user asked for. */
#define FLIGHT_BY_SIGNAL "SIGUSR1"

/*
 * Spans of that length follow each other without a gap from the beginning on; each is handed over as a log, with a
 * second before it and a second after it, in which launches of its work are and what ended its gaps.
 */
struct flight_windows {
	uint64_t length_ns; /* 0: none */
	/* As flight_options.write.  What was dropped already is missing at its start. */
	void (*take)(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		     struct gpt_end *end);
};

/* What a window's log has before and after it. */
#define FLIGHT_AROUND_NS 1000000000ull

#define FLIGHT_WINDOWS 2u

struct flight_options {
	uint64_t span_ns; /* 0: there is no flight recorder */
	bool only_asked;  /* the end writes no log */
	struct flight_windows windows[FLIGHT_WINDOWS];
	struct flight_windows look; /* takes the log of flight_look */
	unsigned hourly; /* the most files an hour that no one asks for by a signal, at most FLIGHT_HOURLY_MOST */
	/*
	 * Writes the log into a file.  Called on another thread, one call at a time; what it says is printed later.
	 * why: what asked for it, as "SIGUSR1"
	 */
	void (*write)(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		      struct gpt_end *end, const char *why);
	void *context;
};

struct flight;

struct flight *flight_new(struct log_writer *log, const struct flight_options *options);
void flight_free(struct flight *flight); /* NULL is allowed */

void flight_begin(struct flight *flight, uint64_t start_ns);
/* What was counted: at the beginning, and once a second. */
void flight_note_counts(struct flight *flight, const struct history_counts *counts);

#define FLIGHT_WHY_MAX 96

/* Asks for what was recorded until now; why: what the file says of that. */
void flight_ask(struct flight *flight, uint64_t now_ns, const char *why);

/* flight_options.hourly, where nothing else is said. */
#define FLIGHT_HOURLY 10u
#define FLIGHT_HOURLY_MOST 60u

/* Something that happened. */
struct flight_event {
	const char *why;
	uint64_t start_ns; /* where the file begins; 0: the span before its end, as if that is later */
	uint64_t end_ns;   /* and ends, now or later */
};

/*
 * The same for something that happened, and not when the recording ends before it is written.  What is too much for an
 * hour is counted, and the next log has a note.  False: it is too much.
 */
bool flight_ask_by_itself(struct flight *flight, uint64_t now_ns, const struct flight_event *event);

/* Has what was recorded since then, as far as it is kept, handed over at once to flight_options.look, on that thread.
 */
void flight_look(struct flight *flight, uint64_t since_ns, uint64_t now_ns, const struct gpt_end *end);

/* Whether something that was asked for is due, or a window. */
bool flight_is_due(const struct flight *flight, uint64_t now_ns);
/* Has it written; end: with the counts until now. */
void flight_write_due(struct flight *flight, uint64_t now_ns, const struct gpt_end *end);
/* At the end: has written what a signal asked for, due or not. */
void flight_write_last(struct flight *flight, const struct gpt_end *end);

/* Prints what was said about files that have been written. */
void flight_print(struct flight *flight);
/* Whether nothing waits to be written. */
bool flight_is_idle(struct flight *flight);

/* The end of the recording: writes the log into fd.  Returns the error that ended the log early, or of writing it. */
int flight_finish(struct flight *flight, int fd, struct gpt_end *end);
