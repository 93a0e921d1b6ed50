/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs one recording, from when the probes are in place until they are gone: feeds attach/, decides when to end, takes
 * clock samples, shows progress, reads the counters.  Does not interpret what is recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/record.h>

#include "attach/attach.h"
#include "capture/drain.h"
#include "capture/flight.h"
#include "capture/history.h"
#include "capture/start.h"
#include "capture/trigger.h"
#include "log/writer.h"

struct run_options {
	uint64_t duration_ns;	  /* 0: until something else ends it */
	bool end_with_targets;	  /* the trace is over when no followed process lives */
	bool end_with_schedule;	  /* when its last cycle has been recorded */
	bool gpu_counters;	  /* clocks, power and memory of GPUs are recorded */
	const char *library_path; /* where its NVML is looked for besides (LD_LIBRARY_PATH); NULL: nowhere */
	int signals_fd;		  /* of stop_signals_open */
	/*
	 * With a span, only the last of the recording is kept, which log_writer_keep_recent must have been told, and it
	 * is written when a signal asks for that, and at the end into log_fd, the log's file.
	 */
	struct flight_options flight;
	struct trigger_options by_itself; /* how much it writes when it does so by itself */
	struct trigger *trigger;	  /* what makes it, besides crashes; NULL: nothing does */
	/*
	 * A gap may be a line's.  Whether flight.look wants a log of one now, since *since_ns.  What that has shown:
	 * whether a file is to be written, and why.  NULL: no such trigger.
	 */
	void (*gap_seen)(void *context, const struct trigger_event *event);
	bool (*gap_looks)(void *context, uint64_t *since_ns);
	bool (*gap_blamed)(void *context, struct trigger_event *event);
	/* A process hangs, of which a file will be written.  May be NULL. */
	void (*hang_seen)(void *context, const struct trigger_event *event);
	int log_fd;
	struct history *history; /* gets what was counted, once a second; NULL: none */
	/* Called in each round: prints what other threads said.  May be NULL. */
	void (*print)(void *context);
	struct start_request start;
	/*
	 * Lets the command run: at the instant at which recording begins, or before, if that has a moment of its own.
	 * Not 0 (a negative errno): the trace ends at once. May be NULL.
	 */
	int (*begin)(void *context);
	/* Called once: the recording begins, or waits for its moment.  Messages only.  May be NULL. */
	void (*started)(void *context, const struct start *start);
	void (*say_waits)(void *context, const struct start *start);
	/* Whether the command that gputrace started has ended; NULL when there is none. */
	bool (*command_ended)(void *context);
	pid_t command_pid; /* signals are passed on to it */
	const char *command_name;
	bool command_has_terminal; /* it reads the terminal: a Ctrl-C that it survives was meant for it */
	/*
	 * Called when cycles of the schedule, from 1, are over in all processes and their records are in the file,
	 * except GPU work that goes on for long; a second or so late.  May be NULL.
	 */
	void (*cycles_over)(void *context, uint32_t first, uint32_t last);
	/*
	 * What is read of processes before the recording ends by time, by a signal or by its command: begins that, and
	 * whether it is over.  Recording goes on meanwhile, beyond duration_ns.  May be NULL.
	 */
	void (*search_begin)(void *context);
	bool (*search_is_over)(void *context);
	void *context;
};

struct run_result {
	enum gpt_end_reason reason;
	bool not_begun;	      /* it ended before its moment: there is no recording */
	bool abandoned;	      /* a second signal came: no outputs wanted */
	bool signalled;	      /* a signal to end came: the next one means that no outputs are wanted */
	int error;	      /* negative errno of what ended the trace early: the log, the ring buffer, begin() */
	uint64_t calls;	      /* records of calls taken */
	uint64_t lost;	      /* records of any kind that did not fit the ring buffer */
	unsigned without_xid; /* GPUs of which NVML does not report what --trigger xid waits for */
	bool lacks_nvml;      /* which --trigger xid needs: it has not answered */
};

/*
 * Waits until everything is set up, and for the moment asked for; records from one instant (GPT_START) until the end,
 * detaches the probes (attach_stop) and finishes the log with GPT_END.  Returns 0 when there was a recording at all,
 * -errno when it could not begin (-ECANCELED: result->not_begun); the caller closes drain, attach and log.  To be
 * called by the thread that opened attach.
 */
int run_trace(struct attach *attach, struct log_writer *log, struct drain *drain, const struct run_options *options,
	      struct run_result *result);

/*
 * Takes signals once the recording has ended, and passes them on to the command, unless that is 0.  The first one may
 * be for the command, or have been sent to end a trace that has just ended by itself; a second one wants no outputs.
 */
void run_take_late_signals(struct run_result *result, int signals_fd, pid_t command);
