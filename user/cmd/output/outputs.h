/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every --output of a command line, written from one recording. */
#pragma once

#include "cmd/process/child_work.h"
#include "cmd/output/reading.h"

/* The path of a file that the output will have: if it is a folder, a file in that; the caller frees it. */
char *outputs_file_of(const char *path);

/* Tries every output before a trace that may take hours. Prints what is wrong; 0 or the first -errno. */
int outputs_check(const struct options *options);

/*
 * Writes all but `skip` (an index into options->outputs, SIZE_MAX: none), each a part of the work, going on after one
 * that failed.  Prints what failed; 0 or the first -errno (-ECANCELED: abandoned by the user).
 */
int outputs_write(struct reading *reading, size_t skip, struct child_work *work);

/* Copies the whole file, from its start on.  0, or -errno (-ECANCELED: abandoned by the user). */
int outputs_copy(int from, int to);

/* Removes what a child that wrote outputs has left half-written. */
void outputs_clean(const struct options *options);

/* Prints the line about a file that was written. */
void outputs_say_written(const char *path, int fd);
