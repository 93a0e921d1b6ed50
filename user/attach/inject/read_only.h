/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens files of gputrace for a process that others may look into: no one, including the file's owner and uid 0 of a
 * container, can reopen them for writing or get from them to other files.
 */
#pragma once

#include <stdbool.h>

/*
 * Opens the file itself (its inode, which carries probes) for reading through a read-only mount that is in no
 * namespace. If mounting is not allowed it is opened directly; read_only_is tells which. Returns -errno on failure.
 */
int read_only_open(const char *path);
bool read_only_is(int fd);

/*
 * Opens a folder on a file system of its own, read-only and in no namespace, as root of a process that must see
 * nothing. It contains only READ_ONLY_PROGRAM, static, which ends at once. Returns -errno on failure.
 */
int read_only_nowhere(void);

#define READ_ONLY_PROGRAM "gputrace-files"
