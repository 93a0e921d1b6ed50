/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of --rotate: which are open, which of them are kept, and what is said of full disks. */
#pragma once

#include "capture/history.h"
#include "log/rotation.h"

struct rotated_files;

/* path: the .gpt output, beside which they are (dated_file.h); keep: how many, 0: all.  Both args outlive the files. */
struct rotated_files *rotated_files_new(const char *path, unsigned keep, struct history *history);
void rotated_files_free(struct rotated_files *files); /* NULL is allowed */

/* What the rotation asks of its caller, for files of a most size or length. */
struct rotation_options rotated_files_options(struct rotated_files *files, uint64_t bytes, uint64_t span_ns);

/* Prints what was said on the writer's thread since the last call. */
void rotated_files_print(struct rotated_files *files);

/* Prints which files there are; after the recording. */
void rotated_files_say(const struct rotated_files *files);
