/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the beginnings of a database's journals; see database.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/read_at.h"
#include "input/database/database.h"

/* Of a write-ahead log: its header, and that of the first page in it.  Both have the two salts. */
#define LOG_HEADER 32
#define LOG_SALTS_AT 16
#define PAGE_SALTS_AT (LOG_HEADER + 8)
#define SALTS 8
#define LOG_BEGIN (LOG_HEADER + 24)

/* The last bit is the order of bytes in checksums. */
static bool is_log_with_pages(const unsigned char *begin, size_t size)
{
	return size >= LOG_BEGIN && !memcmp(begin, "\x37\x7f\x06", 3) && (begin[3] & ~1) == 0x82 &&
	       !memcmp(begin + LOG_SALTS_AT, begin + PAGE_SALTS_AT, SALTS);
}

/* The header of a journal that is over is zeroed. */
static bool is_open_journal(const unsigned char *begin, size_t size)
{
	return size >= 8 && !memcmp(begin, "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
}

static const struct {
	const char *end;
	bool (*has_pages)(const unsigned char *begin, size_t size);
	const char *sentence;
} journals[] = {
	{"-wal", is_log_with_pages,
	 "has changes that are only in its write-ahead log beside it (the same name with -wal): `sqlite3 FILE 'PRAGMA "
	 "wal_checkpoint(TRUNCATE)'` puts them into it; where FILE cannot be written, do so with a copy of both"},
	{"-journal", is_open_journal,
	 "was left in the middle of a change, with a journal beside it (the same name with -journal): `sqlite3 FILE "
	 "'PRAGMA user_version'` takes the change back; where FILE cannot be written, do so with a copy of both"},
};

/* Returns -errno of opening or reading. */
static int read_begin(const char *path, unsigned char *begin, size_t *size)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
	int64_t got;

	if (fd < 0)
		return -errno;
	got = read_at(fd, begin, LOG_BEGIN, 0);
	close(fd);
	*size = got > 0 ? (size_t)got : 0;
	return got < 0 ? (int)got : 0;
}

/* Where the file lies, however it was opened: by a link, or as standard input. */
static bool find_path(int fd, char path[PATH_MAX])
{
	AUTO_FREE char *link = xasprintf("/proc/self/fd/%d", fd);
	ssize_t length = readlink(link, path, PATH_MAX - 1);

	path[length > 0 ? length : 0] = '\0';
	return *path == '/';
}

char *database_journal(int fd)
{
	char path[PATH_MAX], *text = NULL;
	bool found = find_path(fd, path);

	for (size_t i = 0; found && !text && i < sizeof(journals) / sizeof(journals[0]); i++) {
		AUTO_FREE char *beside = xasprintf("%s%s", path, journals[i].end);
		unsigned char begin[LOG_BEGIN];
		size_t size = 0;
		int err = read_begin(beside, begin, &size);

		if (err && err != -ENOENT)
			text = xasprintf(
				"has %s beside it, which may have changes and cannot be read (%s): read both as "
				"the user who may",
				beside, strerror(-err));
		else if (!err && journals[i].has_pages(begin, size))
			text = xstrdup(journals[i].sentence);
	}
	return text;
}
