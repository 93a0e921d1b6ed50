/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The screen of `gputrace top`: a child process that reads the log as far as it is written and shows the last seconds
 * (top/screen.h).  It is forked before there are threads, and shows nothing before top_process_begin.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "cmd/options/options.h"

/* How often the log is flushed while top runs. */
#define TOP_FLUSH_NS 500000000ull

struct top_process {
	pid_t pid; /* 0: there is none */
	int to;	   /* socket that tells it to begin and to end */
	bool on_terminal;
	struct termios terminal; /* settings before top began */
};

/* Starts nothing for another subcommand.  0 or -errno. */
int top_process_start(struct top_process *top, const struct options *options, int log_fd);

/* The recording has begun. */
void top_process_begin(struct top_process *top);

/* The recording is over: waits until the screen is restored. */
void top_process_end(struct top_process *top);
