/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/sqlite_vfs.h"

#include <string.h>

#include "base/read_at.h"

#define SECTOR 4096

int sqlite_vfs_close(sqlite3_file *file)
{
	(void)file;
	return SQLITE_OK;
}

int sqlite_vfs_nothing(sqlite3_file *file, int what)
{
	(void)file, (void)what;
	return SQLITE_OK;
}

int sqlite_vfs_nobody_has_it(sqlite3_file *file, int *reserved)
{
	(void)file;
	*reserved = 0;
	return SQLITE_OK;
}

int sqlite_vfs_no_control(sqlite3_file *file, int operation, void *argument)
{
	(void)file, (void)operation, (void)argument;
	return SQLITE_NOTFOUND;
}

int sqlite_vfs_sector_size(sqlite3_file *file)
{
	(void)file;
	return SECTOR;
}

int sqlite_vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *found)
{
	(void)vfs, (void)name, (void)flags;
	*found = 0;
	return SQLITE_OK;
}

int sqlite_vfs_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", name);
	return SQLITE_OK;
}

int sqlite_vfs_read(int fd, void *data, int bytes, sqlite3_int64 offset)
{
	int64_t done = read_at(fd, data, (size_t)bytes, (uint64_t)offset);

	if (done >= 0)
		memset((char *)data + done, 0, (size_t)(bytes - done));
	return (int)done;
}
