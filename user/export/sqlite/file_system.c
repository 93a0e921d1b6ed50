/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file system for SQLite with one file, which is a descriptor.  gputrace runs as root and writes where a user says,
 * so nothing is opened by a name a second time; and what ends an export ends a database, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite_vfs.h"
#include "export/sink.h"
#include "export/sqlite/file.h"

#define NAME "gputrace"
#define JULIAN_EPOCH 2440587.5 /* of 1970, which no function of ours asks for */

struct sqlite_file {
	sqlite3_vfs vfs;
	struct sink *sink;
	sqlite3 *handle;
};

/* What SQLite has open. */
struct open_file {
	sqlite3_file base;
	struct sink *sink;
};

static int fail(struct sink *sink, int error, int result)
{
	if (!sink->error)
		sink->error = error;
	return result;
}

static int file_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset)
{
	struct sink *sink = ((struct open_file *)file)->sink;
	int got = sqlite_vfs_read(sink->fd, data, bytes, offset);

	if (got < 0)
		return fail(sink, got, SQLITE_IOERR_READ);
	return got == bytes ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
	struct sink *sink = ((struct open_file *)file)->sink;
	int done = 0;

	if (is_cancelled(sink->cancel))
		return fail(sink, -ECANCELED, SQLITE_IOERR_WRITE);
	while (done < bytes) {
		ssize_t put = pwrite(sink->fd, (const char *)data + done, (size_t)(bytes - done), offset + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail(sink, -errno, errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE);
		done += (int)put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct sink *sink = ((struct open_file *)file)->sink;

	return ftruncate(sink->fd, size) ? fail(sink, -errno, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct sink *sink = ((struct open_file *)file)->sink;
	struct stat stat;

	if (fstat(sink->fd, &stat) < 0)
		return fail(sink, -errno, SQLITE_IOERR_FSTAT);
	*size = stat.st_size;
	return SQLITE_OK;
}

static int no_characteristics(sqlite3_file *file)
{
	return 0;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = sqlite_vfs_close,
	.xRead = file_read,
	.xWrite = file_write,
	.xTruncate = file_truncate,
	.xSync = sqlite_vfs_nothing,
	.xFileSize = file_size,
	.xLock = sqlite_vfs_nothing,
	.xUnlock = sqlite_vfs_nothing,
	.xCheckReservedLock = sqlite_vfs_nobody_has_it,
	.xFileControl = sqlite_vfs_no_control,
	.xSectorSize = sqlite_vfs_sector_size,
	.xDeviceCharacteristics = no_characteristics,
};

/* Only the database itself: there is no journal, and temporary things stay in memory. */
static int system_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct sqlite_file *whole = vfs->pAppData;
	struct open_file *open = (struct open_file *)file;

	file->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	*open = (struct open_file){.base = {.pMethods = &methods}, .sink = whole->sink};
	if (out_flags)
		*out_flags = flags;
	return SQLITE_OK;
}

static int system_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	return SQLITE_OK;
}

static int system_random(sqlite3_vfs *vfs, int bytes, char *out)
{
	memset(out, 0, (size_t)bytes); /* only names of temporary files want it */
	return bytes;
}

static int system_sleep(sqlite3_vfs *vfs, int microseconds)
{
	return microseconds;
}

static int system_time(sqlite3_vfs *vfs, double *day)
{
	*day = JULIAN_EPOCH;
	return SQLITE_OK;
}

struct sqlite_file *sqlite_file_open(struct sink *sink, sqlite3 **handle)
{
	struct sqlite_file *file = xcalloc(1, sizeof(*file));

	file->sink = sink;
	file->vfs = (sqlite3_vfs){
		.iVersion = 1,
		.szOsFile = sizeof(struct open_file),
		.mxPathname = 64,
		.zName = NAME,
		.pAppData = file,
		.xOpen = system_open,
		.xDelete = system_delete,
		.xAccess = sqlite_vfs_access,
		.xFullPathname = sqlite_vfs_name,
		.xRandomness = system_random,
		.xSleep = system_sleep,
		.xCurrentTime = system_time,
	};
	if (sqlite3_vfs_register(&file->vfs, 0) != SQLITE_OK ||
	    sqlite3_open_v2(NAME, &file->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NAME) != SQLITE_OK)
		fail(sink, -EIO, 0);
	*handle = file->handle;
	return file;
}

int sqlite_file_close(struct sqlite_file *file)
{
	int error;

	if (sqlite3_close(file->handle) != SQLITE_OK)
		fail(file->sink, -EIO, 0);
	sqlite3_vfs_unregister(&file->vfs);
	error = file->sink->error;
	free(file);
	return error;
}
