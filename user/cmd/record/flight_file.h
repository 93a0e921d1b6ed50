/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files that a flight recorder writes while it goes on, and what is said of each. */
#pragma once

#include "capture/flight.h"

struct recording;

/* Prints how such a file is asked for, if there is a flight recorder. */
void flight_file_say(const struct recording *recording);

/* flight_options.write, into a dated file (dated_file.h).  context: the recording. */
void flight_file_write(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		       struct gpt_end *end, const char *why);
