/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `gputrace serve`: a flight recorder beside which a process answers (serve_link.h).  It is forked before there are
 * threads.  The recording sends it what it has counted, and the last seconds as a log to be summed up; it never waits.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "capture/flight.h"
#include "capture/trigger.h"
#include "cmd/options/options.h"
#include "serve/control.h"
#include "serve/totals.h"

struct recording;

struct serve_process {
	pid_t pid; /* 0: there is none */
	int link;
	char *path; /* of the socket */
	struct control_socket bound;
	uint16_t port;
	bool has_ended; /* by itself, which ends the recording */
	uint64_t start_ns, next_ns;
	struct served_totals totals;
	struct trigger_steps steps;
	atomic_ullong files[SERVED_BY], files_failed;
};

/* How much longer than the flight recorder's segments must stay for windows. */
uint64_t serve_needs_ns(const struct options *options);

/* Starts nothing for another subcommand.  0, or -errno and a message. */
int serve_process_start(struct serve_process *serve, const struct options *options);

/* The recording has begun. */
void serve_process_begin(struct serve_process *serve);

/* In each round: does what it asks for, and once a second sends what was counted. */
void serve_process_tick(struct recording *recording);

/* The windows of which it gets logs. */
void serve_process_windows(const struct options *options, struct flight_windows windows[FLIGHT_WINDOWS]);

/* A file was written, with what had happened until end_ns; err: or not.  On any thread. */
void serve_process_file(struct serve_process *serve, const char *path, uint64_t end_ns, const char *why,
			const char *error);

/* The recording is over: waits for its end, and removes the socket. */
void serve_process_end(struct serve_process *serve);
