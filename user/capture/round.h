/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One round of a recording: records from the thread that drains the ring, what is due, signals, and whether it is over.
 * Private to run.c and round.c.
 */
#pragma once

#include "capture/drain.h"
#include "capture/flight.h"
#include "capture/run.h"
#include "capture/start.h"

#define SECOND_NS 1000000000ull
#define MILLISECOND_NS 1000000ull

/* attach_tick wants to be called at least every 50 ms. */
#define POLL_MS 20
#define POLL_CALM_MS 100 /* while nothing has to be done soon */

struct run {
	struct attach *attach;
	struct log_writer *log;
	struct drain *drain;
	struct gpu_counters *counters; /* NULL: not recorded */
	const struct run_options *options;
	struct run_result *result;
	struct flight *flight; /* NULL: everything is kept */
	int epoll;
	struct start start;
	uint64_t start_ns; /* the instant at which the recording began; 0: not yet */
	uint64_t next_second_ns;
	uint64_t cpu_start_ns;	  /* of gputrace's own CPU time */
	uint64_t calls_at_second; /* drain_calls at the last full second */
	uint64_t refused;	  /* records that attach/ did not get */
	uint64_t heard_ns;	  /* attach/ got all that was in the queue at this time */
	uint64_t command_over_ns; /* it has ended; 0: not yet */
	bool left_reported;	  /* a message says which other process goes on */
	uint64_t give_up_ns;	  /* set by a signal while the command still runs; 0: not set */
	bool from_terminal;	  /* that was Ctrl-C */
	uint32_t cycles_reported; /* to cycles_over */
	uint64_t cycle_due_ns;	  /* when to report more; 0: no more to report */
	bool is_calm;		  /* as of the last round: attach_is_calm */
	bool ended;
};

void run_end(struct run *run, enum gpt_end_reason reason, int error);

/* An error of the drain or the log ends the run. */
void run_check_drain(struct run *run);

/* Hands `most` queued records to attach/, for 10 ms at most; returns how many that were. */
size_t run_hand_over_records(struct run *run, size_t most);

/* Hands over what is queued, for 10 ms at most; true when there may be more, else sets heard_ns. */
bool run_receive_all(struct run *run);

void run_on_wait(void *context);

/*
 * Returns when all that the ring has now is in the log, and attach/ has got its part. What arrives meanwhile is for the
 * next call: an agent that goes on writing does not keep the caller here.
 */
void run_drain_for_attach(void *context);

/* Without the losses of agents and CUPTI: those are in agents' records, which are not read here. */
uint64_t run_count_lost(const uint64_t counters[GPT_COUNTER_COUNT]);

/* context: struct run. A log that cannot be written ends the run. */
void run_append_record(void *context, const struct gpt_record *record);

void run_append_clock(struct run *run);

/* CPU time of gputrace, since it started. */
uint64_t run_own_cpu_ns(void);

/*
 * What the log's end says now, but for its time and for what the drain says only once it has ended; the caller frees
 * it.
 */
struct gpt_end *run_make_end(const struct run *run, enum gpt_end_reason reason);

/* Notes what is subtracted from that at a later end. */
void run_note_counts(struct run *run, uint64_t now_ns);

/* One round: what has come, what is due, then a wait. */
void run_round(struct run *run, void (*check)(struct run *run, uint64_t now_ns));
