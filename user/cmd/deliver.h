/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a log to everything the user asked for.  The live trace and `report` and `export` come through here, so
 * that what they write is the same byte for byte.
 */
#ifndef GPUTRACE_DELIVER_H
#define GPUTRACE_DELIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/exit_code.h"
#include "cmd/options/options.h"

/* A log, and what is to be made of it. */
struct delivery {
	const struct options *options;
	int log_fd;
	const char *log_name; /* for messages, NULL: recorded just now */
	bool report;	      /* to standard output */
	size_t skip;	      /* index of the output that is the log itself, SIZE_MAX: none */
};

/*
 * Reads the log, prints the report, writes the outputs, judges completeness.  What fails is said on standard
 * error.  *all_written is false when something asked for is missing.
 */
enum exit_code deliver(const struct delivery *delivery, bool *all_written);

#endif
