/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/sqlite_vfs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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
	char *to = data;
	int done = 0;

	while (done < bytes) {
		ssize_t got = pread(fd, to + done, (size_t)(bytes - done), offset + done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (int)got;
	}
	memset(to + done, 0, (size_t)(bytes - done));
	return done;
}
