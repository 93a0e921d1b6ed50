/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file system for SQLite with one file, which is a descriptor.  gputrace runs as root and writes where a user says,
 * so nothing is opened by name a second time; and whatever ends an export ends a database, too.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sqlite_vfs.h"
#include "export/file/sink.h"
#include "export/sqlite/file.h"

#define NAME "gputrace"

struct sqlite_file {
	sqlite3_vfs vfs;
	struct sink *sink;
	sqlite3 *handle;
};

/* A file that SQLite has open. */
struct open_file {
	sqlite3_file base;
	struct sink *sink;
};

static int fail_sink(struct sink *sink, int error, int result)
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
		return fail_sink(sink, got, SQLITE_IOERR_READ);
	return got == bytes ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
	struct sink *sink = ((struct open_file *)file)->sink;
	int done = 0;

	if (is_cancelled(sink->cancel))
		return fail_sink(sink, -ECANCELED, SQLITE_IOERR_WRITE);
	while (done < bytes) {
		ssize_t put = pwrite(sink->fd, (const char *)data + done, (size_t)(bytes - done), offset + done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return fail_sink(sink, -errno, errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE);
		done += (int)put;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	struct sink *sink = ((struct open_file *)file)->sink;

	return ftruncate(sink->fd, size) ? fail_sink(sink, -errno, SQLITE_IOERR_TRUNCATE) : SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct sink *sink = ((struct open_file *)file)->sink;
	struct stat stat;

	if (fstat(sink->fd, &stat) < 0)
		return fail_sink(sink, -errno, SQLITE_IOERR_FSTAT);
	*size = stat.st_size;
	return SQLITE_OK;
}

static int no_characteristics(sqlite3_file *file)
{
	return 0;
}

static const sqlite3_io_methods methods = {
	SQLITE_VFS_METHODS,	    .xRead = file_read,	    .xWrite = file_write,
	.xTruncate = file_truncate, .xFileSize = file_size, .xDeviceCharacteristics = no_characteristics,
};

/* Opens only the database itself: there is no journal, and temporary data stays in memory. */
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

struct sqlite_file *sqlite_file_open(struct sink *sink, sqlite3 **handle)
{
	struct sqlite_file *file = xcalloc(1, sizeof(*file));

	file->sink = sink;
	file->vfs = (sqlite3_vfs){
		.szOsFile = sizeof(struct open_file),
		.zName = NAME,
		.pAppData = file,
		.xOpen = system_open,
		.xDelete = system_delete,
	};
	if (sqlite_vfs_register(&file->vfs) != SQLITE_OK ||
	    sqlite3_open_v2(NAME, &file->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NAME) != SQLITE_OK)
		fail_sink(sink, -EIO, 0);
	*handle = file->handle;
	return file;
}

int sqlite_file_close(struct sqlite_file *file)
{
	int error;

	if (sqlite3_close(file->handle) != SQLITE_OK)
		fail_sink(file->sink, -EIO, 0);
	sqlite3_vfs_unregister(&file->vfs);
	error = file->sink->error;
	free(file);
	return error;
}
