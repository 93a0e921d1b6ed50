/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of gputrace that a process which others may look into must see: opened so that no one, the file's owner and
 * uid 0 of a container included, can open them again for writing or go on from them to other files.
 */
#ifndef GPUTRACE_ATTACH_INJECT_READ_ONLY_H
#define GPUTRACE_ATTACH_INJECT_READ_ONLY_H

#include <stdbool.h>

/*
 * The file itself (its inode, which carries probes) opened for reading by way of a read-only mount that is in no
 * namespace.  Where mounting is not allowed it is opened as it lies: read_only_is.  -errno
 */
int read_only_open(const char *path);
bool read_only_is(int fd);

/*
 * A folder on a file system of its own, read-only and in no namespace: for a process that shall see nothing.  In it is
 * only READ_ONLY_PROGRAM, static, which ends at once.  -errno
 */
int read_only_nowhere(void);

#define READ_ONLY_PROGRAM "gputrace-lend"

#endif
