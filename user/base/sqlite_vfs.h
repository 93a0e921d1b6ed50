/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What file systems for SQLite have in common that are one file, which is a descriptor: no one else has it open,
 * nothing is beside it, and nothing is looked for by a name.
 */
#ifndef GPUTRACE_BASE_SQLITE_VFS_H
#define GPUTRACE_BASE_SQLITE_VFS_H

#include <sqlite3.h>

int sqlite_vfs_close(sqlite3_file *file);
int sqlite_vfs_nothing(sqlite3_file *file, int what);
int sqlite_vfs_not_reserved(sqlite3_file *file, int *reserved);
int sqlite_vfs_no_control(sqlite3_file *file, int operation, void *argument);
int sqlite_vfs_sector_size(sqlite3_file *file);

/* Of sqlite3_io_methods: a file is closed, locked, unlocked, synced without anything being done. */
#define SQLITE_VFS_METHODS                                                                                             \
	.iVersion = 1, .xClose = sqlite_vfs_close, .xSync = sqlite_vfs_nothing, .xLock = sqlite_vfs_nothing,           \
	.xUnlock = sqlite_vfs_nothing, .xCheckReservedLock = sqlite_vfs_not_reserved,                                  \
	.xFileControl = sqlite_vfs_no_control, .xSectorSize = sqlite_vfs_sector_size

/*
 * Registers the file system: what is asked for by a name is not there, a name is as it is; no time, no randomness.
 * vfs: zeroed but for zName, szOsFile, pAppData, xOpen and xDelete.
 */
int sqlite_vfs_register(sqlite3_vfs *vfs);

/* Reads what there is and fills the rest with zeros.  Returns the bytes read, or -errno. */
int sqlite_vfs_read(int fd, void *data, int bytes, sqlite3_int64 offset);

#endif
