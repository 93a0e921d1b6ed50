/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every --output of a command line, written from one recording. */
#ifndef GPUTRACE_OUTPUTS_H
#define GPUTRACE_OUTPUTS_H

#include "cmd/reading.h"

/* A file that an output will be: one in its folder where it is a folder; the caller frees it. */
char *outputs_file_of(const char *path);

/* Tries every output, before a trace that may take hours. Prints what is wrong; 0 or -errno of the first. */
int outputs_check(const struct options *options);

/*
 * Writes all but `skip` (an index into options->outputs, SIZE_MAX: none), going on after one that failed.  Prints
 * what failed; 0 or the first -errno (-ECANCELED: abandoned by the user).
 */
int outputs_write(struct reading *reading, size_t skip);

/* The line about a file that is there now. */
void outputs_say_written(const char *path, int fd);

#endif
