/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes everything the user asked for from a log.  The live trace, `report` and `export` all use this, so that what
 * they write is the same byte for byte.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"

/* A log, and what to make from it. */
struct delivery {
	const struct options *options;
	int log_fd;
	const char *log_name; /* for messages, NULL: recorded just now */
	const char *file;     /* trace.file */
	bool report;	      /* print the report on standard output */
	size_t skip;	      /* index of the output that is the log itself, SIZE_MAX: none */
};

/*
 * Reads the log, prints the report, writes the outputs, judges completeness.  Prints on standard error what fails.
 * *all_written is false when something asked for is missing.
 */
enum exit_code deliver(const struct delivery *delivery, bool *all_written);
