/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log, and what to make of it. */
#ifndef GPUTRACE_DELIVERY_H
#define GPUTRACE_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/options/options.h"

struct delivery {
	const struct options *options;
	int log_fd;
	const char *log_name; /* for messages, NULL: recorded just now */
	bool report;	      /* to standard output */
	size_t skip;	      /* index of the output that is the log itself, SIZE_MAX: none */
};

#endif
