/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that gputrace makes from a joined trace: one writer per format, listed in one table.  The log (.gpt) is not
 * among them: capture writes it, and copying it is the caller's business.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/file/format.h"
#include "export/file/merged.h"

struct export_format {
	const char *name;	     /* for --format */
	const char *const *suffixes; /* of file names, NULL-terminated */
	bool gzip;
	bool binary;		     /* not fit for a terminal */
	bool needs_path;	     /* cannot be written into a pipe */
	bool has_times;		     /* can be cut to a time range */
	const char *no_data;	     /* message if write returns -ENODATA; NULL: it never does */
	const char *no_data_in_file; /* the same for a file of another tool */
	export_write_fn *write;
	merged_write_fn *write_merged; /* NULL: the format holds only one trace */
};

/* All formats; the last entry has no name. */
extern const struct export_format export_formats[];

/* Finds a format by the end of a file name: longest suffix first, case ignored; NULL: none. */
const struct export_format *export_format_by_suffix(const char *path);
const struct export_format *export_format_by_name(const char *name);

/* Writes one file to fd, which stays open.  Returns 0 or -errno (-ENOSPC, -EPIPE, -ECANCELED ...). */
int export_write(int fd, const struct export_format *format, struct trace *trace, const struct export_options *options);

/* The same for several traces, in a format that supports this. */
int export_write_merged(int fd, const struct export_format *format, const struct merge *merge,
			const struct cancel *cancel);
