/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The file system: it reads one descriptor, and nothing else; see database.h. */
#include "input/database/database.h"

#include <stdio.h>

#include "base/sqlite_vfs.h"

/* In the header: write version, read version (2: with a write-ahead log, which SQLite would look for). */
#define FORMATS_AT 18
#define FORMATS 2
#define FORMAT_ALONE 1

/* A file that SQLite has open. */
struct open_file {
	sqlite3_file base;
	const struct database *database;
};

static const struct database *database_of(sqlite3_file *file)
{
	return ((struct open_file *)file)->database;
}

static int file_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset)
{
	const struct database *base = database_of(file);
	int done = sqlite_vfs_read(base->fd, data, bytes, offset);
	uint8_t *to = data;

	if (done < 0)
		return SQLITE_IOERR_READ;
	for (int i = 0; i < FORMATS; i++)
		if (offset <= FORMATS_AT + i && offset + bytes > FORMATS_AT + i && done == bytes)
			to[FORMATS_AT + i - offset] = FORMAT_ALONE;
	return done == bytes || (uint64_t)offset + (uint64_t)bytes <= base->whole ? SQLITE_OK : SQLITE_IOERR_SHORT_READ;
}

static int no_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset)
{
	(void)file, (void)data, (void)bytes, (void)offset;
	return SQLITE_READONLY;
}

static int no_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	(void)file, (void)size;
	return SQLITE_READONLY;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	const struct database *base = database_of(file);

	*size = (sqlite3_int64)(base->whole > base->size ? base->whole : base->size);
	return SQLITE_OK;
}

/* No one writes the file: there are no locks to take and no journals to look for. */
static int get_characteristics(sqlite3_file *file)
{
	(void)file;
	return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {
	SQLITE_VFS_METHODS,	  .xRead = file_read,	  .xWrite = no_write,
	.xTruncate = no_truncate, .xFileSize = file_size, .xDeviceCharacteristics = get_characteristics,
};

/* Opens only the database itself: no journal, and nothing temporary. */
static int system_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags)
{
	struct open_file *open = (struct open_file *)file;

	(void)name;
	file->pMethods = NULL;
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	*open = (struct open_file){.base = {.pMethods = &methods}, .database = vfs->pAppData};
	if (out_flags)
		*out_flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_MAIN_DB;
	return SQLITE_OK;
}

static int system_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs, (void)name, (void)sync;
	return SQLITE_READONLY;
}

bool database_file_open(struct database *base)
{
	(void)snprintf(base->name, sizeof(base->name), "gputrace-%p", (void *)base);
	base->vfs = (sqlite3_vfs){
		.szOsFile = sizeof(struct open_file),
		.zName = base->name,
		.pAppData = base,
		.xOpen = system_open,
		.xDelete = system_delete,
	};
	return sqlite_vfs_register(&base->vfs) == SQLITE_OK &&
	       sqlite3_open_v2(base->name, &base->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, base->name) ==
		       SQLITE_OK;
}

void database_file_close(struct database *base)
{
	sqlite3_close(base->handle);
	base->handle = NULL;
	sqlite3_vfs_unregister(&base->vfs);
}
