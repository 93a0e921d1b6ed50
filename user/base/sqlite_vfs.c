/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/sqlite_vfs.h"

#include <string.h>

#include "base/read_at.h"

#define SECTOR 4096
#define JULIAN_EPOCH 2440587.5 /* Julian day of 1970; nothing in gputrace reads this clock */

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

int sqlite_vfs_not_reserved(sqlite3_file *file, int *reserved)
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

static int is_there(sqlite3_vfs *vfs, const char *name, int flags, int *found)
{
	(void)vfs, (void)name, (void)flags;
	*found = 0;
	return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int size, char *out)
{
	(void)vfs;
	sqlite3_snprintf(size, out, "%s", name);
	return SQLITE_OK;
}

static int no_randomness(sqlite3_vfs *vfs, int bytes, char *out)
{
	(void)vfs;
	memset(out, 0, (size_t)bytes); /* only names of temporary files use it */
	return bytes;
}

static int no_sleep(sqlite3_vfs *vfs, int microseconds)
{
	(void)vfs;
	return microseconds;
}

static int no_time(sqlite3_vfs *vfs, double *day)
{
	(void)vfs;
	*day = JULIAN_EPOCH;
	return SQLITE_OK;
}

int sqlite_vfs_register(sqlite3_vfs *vfs)
{
	vfs->iVersion = 1;
	vfs->mxPathname = 64;
	vfs->xAccess = is_there;
	vfs->xFullPathname = full_name;
	vfs->xRandomness = no_randomness;
	vfs->xSleep = no_sleep;
	vfs->xCurrentTime = no_time;
	return sqlite3_vfs_register(vfs, 0);
}

int sqlite_vfs_read(int fd, void *data, int bytes, sqlite3_int64 offset)
{
	int64_t done = read_at(fd, data, (size_t)bytes, (uint64_t)offset);

	if (done >= 0)
		memset((char *)data + done, 0, (size_t)(bytes - done));
	return (int)done;
}
