/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A profiler's SQLite database: which profiler's it is, and all that it says. */
#ifndef GPUTRACE_INPUT_DATABASE_TRACE_H
#define GPUTRACE_INPUT_DATABASE_TRACE_H

#include "input/foreign_file.h"

/*
 * As kineto_read (kineto.h).  What is damaged or cut is read as far as that can be done (truncated, and a note with the
 * table).  -EPROTO: it is no profiler's.
 */
int database_read(int fd, struct foreign_file *file, char **why);

#endif
