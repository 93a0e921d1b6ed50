/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file a trace is recorded into: the user's .gpt output, or a temporary that vanishes when all went well. */
#pragma once

#include "cmd/output/output.h"

struct log_file {
	int fd;
	struct output output; /* the user's; output.path NULL: a temporary */
	char *kept;	      /* temporary: its name, now or once it is kept */
	bool named;	      /* temporary: `kept` exists now */
	bool stays;	      /* temporary: `kept` must outlive gputrace */
	char tried[256];      /* "; nor in FOLDER (reason), ...": the folders after *where; "" if one was good */
};

/*
 * path: the .gpt to record into, or NULL for a temporary one (base/temporary.h).
 * *where: the path, or the folder of the temporary; on failure the first that exists, and tried has the others.
 */
int log_file_open(const char *path, struct log_file *out, const char **where);

/*
 * Makes the log stay: the user's gets its name, a temporary keeps the one in ->kept.  Returns 0 or -errno.
 * May be called twice.
 */
int log_file_keep(struct log_file *file);

/* The name of a log that is kept. */
const char *log_file_name(const struct log_file *file);

/* Closes; a temporary that was not kept is gone. */
void log_file_close(struct log_file *file);
