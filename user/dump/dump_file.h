/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads what `gputrace dump --format json` wrote, on this host or another one; only what is needed to find ranks. */
#pragma once

#include "dump/process/look.h"

/* Whether the file begins as a dump does.  Keeps the file's position. */
bool dump_file_is_one(int fd);

/* Adds the file's processes to `looks`; their host is the one named in the file, or NULL.  NULL, or why it failed (free
 * it). */
char *dump_file_read(int fd, look_list *looks);
