/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a database is looked at, and how much; see database.h.  Rounds over tables: database_rows.c. */
#include "input/database.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/database_file.h"

#define HEAP_MAX (256ll << 20) /* of libsqlite3: tables and columns that a file declares are kept in memory */

static const char magic[16] = "SQLite format 3";

bool database_is(int fd)
{
	char begin[sizeof(magic)];

	return pread(fd, begin, sizeof(begin), 0) == sizeof(begin) && !memcmp(begin, magic, sizeof(begin));
}

/* Pages, and bytes of one (0x0001: 65,536). */
static uint64_t size_of_header(int fd)
{
	uint8_t header[100];
	uint64_t page, pages;

	if (pread(fd, header, sizeof(header), 0) != sizeof(header))
		return 0;
	page = (uint64_t)header[16] << 8 | header[17];
	pages = (uint64_t)header[28] << 24 | (uint64_t)header[29] << 16 | (uint64_t)header[30] << 8 | header[31];
	return pages * (page == 1 ? 65536 : page);
}

/* Sets what a database could do while it is read to nothing; false: this libsqlite3 cannot. */
static bool secure(struct database *base)
{
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_db_config(base->handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_limit(base->handle, SQLITE_LIMIT_LENGTH, DATABASE_VALUE_MAX);
	sqlite3_limit(base->handle, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(base->handle, SQLITE_LIMIT_TRIGGER_DEPTH, 0);
	sqlite3_limit(base->handle, SQLITE_LIMIT_WORKER_THREADS, 0);
	sqlite3_hard_heap_limit64(HEAP_MAX);
	return sqlite3_exec(base->handle,
			    "PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; "
			    "PRAGMA mmap_size=0; PRAGMA cache_size=-8192",
			    NULL, NULL, NULL) == SQLITE_OK;
}

bool database_open(struct database *base, int fd)
{
	struct stat stat;
	sqlite3_stmt *first = NULL;
	bool readable;

	*base = (struct database){.fd = fd};
	if (fstat(fd, &stat) < 0 || stat.st_size <= 0)
		return false;
	base->size = (uint64_t)stat.st_size;
	base->whole = size_of_header(fd);
	if (!database_file_open(base) || !secure(base))
		return false;
	/* reads what the file declares */
	readable =
		sqlite3_prepare_v2(base->handle, "SELECT count(*) FROM sqlite_master", -1, &first, NULL) == SQLITE_OK &&
		sqlite3_step(first) == SQLITE_ROW;
	sqlite3_finalize(first);
	return readable;
}

void database_close(struct database *base)
{
	database_file_close(base);
	sqlite3_hard_heap_limit64(0);
}

/* ---- what is there ----------------------------------------------------------------------------------------------- */

/* A view has no page of its own, and a virtual table neither. */
bool database_has(struct database *base, const char *table)
{
	sqlite3_stmt *statement = NULL;
	bool found;

	if (sqlite3_prepare_v2(
		    base->handle,
		    "SELECT 1 FROM sqlite_master WHERE type='table' AND rootpage>0 AND name=?1 COLLATE NOCASE", -1,
		    &statement, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
	found = sqlite3_step(statement) == SQLITE_ROW;
	sqlite3_finalize(statement);
	return found;
}
