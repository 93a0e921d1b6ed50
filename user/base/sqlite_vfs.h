/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What file systems for SQLite have in common that are one file, which is a descriptor: nobody else has it open,
 * nothing is beside it, and nothing is looked for by a name.  The functions are as sqlite3_io_methods and sqlite3_vfs
 * want them.
 */
#ifndef GPUTRACE_BASE_SQLITE_VFS_H
#define GPUTRACE_BASE_SQLITE_VFS_H

#include <sqlite3.h>
#include <sys/types.h>

/* Of a file: closed, locked, unlocked, synced without anything being done. */
int sqlite_vfs_close(sqlite3_file *file);
int sqlite_vfs_nothing(sqlite3_file *file, int what);
int sqlite_vfs_nobody_has_it(sqlite3_file *file, int *reserved);
int sqlite_vfs_no_control(sqlite3_file *file, int operation, void *argument);
int sqlite_vfs_sector_size(sqlite3_file *file);

/* Of the file system: what is asked for is not there, a name is as it is. */
int sqlite_vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *found);
int sqlite_vfs_name(sqlite3_vfs *vfs, const char *name, int size, char *out);

/* Reads as much as there is; what is behind it are zeros.  How many bytes there were, or -errno. */
int sqlite_vfs_read(int fd, void *data, int bytes, sqlite3_int64 offset);

#endif
