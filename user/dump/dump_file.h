/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `gputrace dump --format json` has written, on this host or another one, as far as ranks are found by it. */
#ifndef GPUTRACE_DUMP_DUMP_FILE_H
#define GPUTRACE_DUMP_DUMP_FILE_H

#include "dump/look.h"

/* Begins it as a dump does?  The file's position stays. */
bool dump_file_is_one(int fd);

/* Adds its processes to those of looks; their host is the file's own word, or NULL.  NULL, or why not (free it). */
char *dump_file_read(int fd, look_list *looks);

#endif
