/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that a flight recorder writes while it goes on: their names, and what is said of each. */
#ifndef GPUTRACE_FLIGHT_FILE_H
#define GPUTRACE_FLIGHT_FILE_H

#include "capture/flight.h"

struct recording;

/*
 * Checks that such files can be written beside the .gpt output, or in the current folder if there is none (path NULL).
 * 0, or -errno and a message.
 */
int flight_file_check(const char *path);

/* Prints how such a file is asked for, if there is a flight recorder. */
void flight_file_say(const struct recording *recording);

/*
 * flight_options.write: TRACE.20261130-140320.gpt beside TRACE.gpt, or gputrace-20261130-140320.gpt.  context: the
 * recording.
 */
void flight_file_write(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		       struct gpt_end *end, const char *why);

#endif
