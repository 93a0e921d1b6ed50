/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The common parts of SQLite VFSes that consist of one file, given as a descriptor.  No one else has it open, there is
 * no file beside it (journal), and no file is looked up by name.
 */
#pragma once

#include <sqlite3.h>

int sqlite_vfs_close(sqlite3_file *file);
int sqlite_vfs_nothing(sqlite3_file *file, int what);
int sqlite_vfs_not_reserved(sqlite3_file *file, int *reserved);
int sqlite_vfs_no_control(sqlite3_file *file, int operation, void *argument);
int sqlite_vfs_sector_size(sqlite3_file *file);

/* Members of sqlite3_io_methods for such a file: close, sync, lock and unlock do nothing. */
#define SQLITE_VFS_METHODS                                                                                             \
	.iVersion = 1, .xClose = sqlite_vfs_close, .xSync = sqlite_vfs_nothing, .xLock = sqlite_vfs_nothing,           \
	.xUnlock = sqlite_vfs_nothing, .xCheckReservedLock = sqlite_vfs_not_reserved,                                  \
	.xFileControl = sqlite_vfs_no_control, .xSectorSize = sqlite_vfs_sector_size

/*
 * Registers the VFS.  It finds no file by name, leaves names unchanged, and has constants for time and randomness.
 * vfs: zeroed except zName, szOsFile, pAppData, xOpen and xDelete.
 */
int sqlite_vfs_register(sqlite3_vfs *vfs);

/* Reads what there is and fills the rest with zeros.  Returns the bytes read, or -errno. */
int sqlite_vfs_read(int fd, void *data, int bytes, sqlite3_int64 offset);
