/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The formats of --output and --format: those of export/ and the log itself. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/export.h"

struct format {
	const char *name;
	const struct export_format *writer; /* NULL: the log, copied as it is */
	bool binary;			    /* not to be written to a terminal */
	bool needs_path;		    /* cannot be written into a pipe */
};

/* False: not known. */
bool format_by_name(const char *name, struct format *out);
bool format_by_path(const char *path, struct format *out);

/* All formats: "json, json.gz, folded, gpt" and so on. */
const char *format_names(void);

/* NULL when path can be an output, else what is wrong with it. */
const char *format_check_path(const char *path);

/* NULL when the format can go to standard output; else what is wrong with that. */
const char *format_check_stdout(const struct format *format, bool is_terminal);

/* The last component of path has "%p": one file per process. */
bool format_path_is_per_process(const char *path);

/* "name.tar": an archive for Perfetto, which only merge writes. */
bool format_path_is_archive(const char *path);

/* "folder/": a file in it for each process, named as torch.profiler's tensorboard_trace_handler names them. */
bool format_path_is_folder(const char *path);

/* The path with "%p" of the files in that folder; the caller frees it.  time_ns: since 1970. */
char *format_path_in_folder(const char *folder, const char *host, uint64_t time_ns);

/* The same for "%r", the rank; nth: number of the file among those of that rank, from 1 on. */
bool format_path_is_per_rank(const char *path);
char *format_path_for_rank(const char *path, int64_t rank, unsigned nth);

/* The same for "%c", the number of a cycle of --schedule. */
bool format_path_is_per_cycle(const char *path);
char *format_path_for_cycle(const char *path, uint64_t cycle);

/* A copy of path with every "%p" replaced by the process's name; the caller frees it. */
char *format_path_for_process(const char *path, const char *process);

/* A copy of path with a number before the suffix of its format: "trace.2.json.gz"; the caller frees it. */
char *format_path_for_piece(const char *path, unsigned number);
