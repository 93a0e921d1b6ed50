/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file system for SQLite with one file, which is a descriptor and can only be read.  A file that is cut seems as long
 * as its header says, so that what is left of it can be read; what a journal beside it holds is not.
 */
#ifndef GPUTRACE_INPUT_DATABASE_FILE_H
#define GPUTRACE_INPUT_DATABASE_FILE_H

#include "input/database.h"

/* base->fd, size and whole are set.  False: libsqlite3 does not open it. */
bool database_file_open(struct database *base);
void database_file_close(struct database *base);

#endif
