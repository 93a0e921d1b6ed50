/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names, adds, removes and finds the files of the folder. */
#include "cmd/output/last_trace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "base/order.h"
#include "base/path.h"
#include "cmd/output/kept_folder.h"
#include "cmd/options/subcommands.h"
#include "cmd/output/output.h"
#include "cmd/output/outputs.h"

/* "20261129T182054.123456Z.gpt": UTC, so that names sort by time. */
#define NAME_FORMAT "%04d%02d%02dT%02d%02d%02d.%06uZ.gpt"
#define NAME_LIKE "00000000T000000.000000Z.gpt"
#define NAME_SIZE 64

#define SECOND_US 1000000u

/* Copies under way, where a file needs a name from the start; as many as gputraces that end at once. */
#define PART_FORMAT ".part-%u"
#define PARTS 8u

struct kept {
	char name[NAME_SIZE];
	uint64_t bytes;
	struct timespec changed;
};

struct kept_list {
	ARRAY(struct kept) list; /* oldest first */
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	static const char like[] = NAME_LIKE;
	size_t i = 0;

	while (like[i] && (like[i] == '0' ? name[i] >= '0' && name[i] <= '9' : name[i] == like[i]))
		i++;
	return !like[i] && !name[i];
}

static void name_at(uint64_t us, char name[NAME_SIZE])
{
	time_t seconds = (time_t)(us / SECOND_US);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	snprintf(name, NAME_SIZE, NAME_FORMAT, utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min,
		 utc.tm_sec, (unsigned)(us % SECOND_US));
}

static uint64_t time_of(const char *name)
{
	struct tm utc = {0};
	unsigned us = 0;

	if (sscanf(name, "%4d%2d%2dT%2d%2d%2d.%6u", &utc.tm_year, &utc.tm_mon, &utc.tm_mday, &utc.tm_hour, &utc.tm_min,
		   &utc.tm_sec, &us) != 7)
		return 0;
	utc.tm_year -= 1900;
	utc.tm_mon--;
	return (uint64_t)timegm(&utc) * SECOND_US + us;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * SECOND_US + (uint64_t)now.tv_nsec / 1000;
}

DEFINE_ORDER(by_name, struct kept, strcmp(a->name, b->name))

static int read_list(int folder, struct kept_list *kept)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = fd < 0 ? NULL : fdopendir(fd);

	if (!files) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	for (struct dirent *file; (file = readdir(files));) {
		struct kept found = {0};
		struct stat stat;

		if (!is_name(file->d_name) || fstatat(folder, file->d_name, &stat, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(stat.st_mode))
			continue;
		memcpy(found.name, file->d_name, sizeof(NAME_LIKE));
		found.bytes = (uint64_t)stat.st_size;
		found.changed = stat.st_mtim;
		array_push(&kept->list, found);
	}
	closedir(files);
	array_sort(&kept->list, by_name);
	return 0;
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

/* Another name for the log, which costs nothing; only within a file system. */
static int link_log(int folder, int log_fd, const char *name)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", log_fd);
	return linkat(AT_FDCWD, self, folder, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

/* Opens one that no other gputrace is writing; what a killed one has left in it is lost. */
static int open_part(int folder, char part[NAME_SIZE])
{
	int err = -EBUSY;

	for (unsigned i = 0; i < PARTS && err == -EBUSY; i++) {
		struct stat opened, named;
		int fd;

		snprintf(part, NAME_SIZE, PART_FORMAT, i);
		fd = openat(folder, part, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		/* One whose copy was complete meanwhile has another name by now. */
		else if (!fstat(fd, &opened) && !fstatat(folder, part, &named, AT_SYMLINK_NOFOLLOW) &&
			 opened.st_ino == named.st_ino && !ftruncate(fd, 0))
			return fd;
		close(fd);
	}
	return err;
}

/* Brings the log to another file system.  It has its name only when it is whole. */
static int copy_log(int folder, int log_fd, const char *name)
{
	char part[NAME_SIZE] = "";
	int fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err = 0;

	if (fd < 0 && errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)
		return -errno;
	if (fd < 0)
		fd = open_part(folder, part);
	if (fd < 0)
		return fd;
	if (ioctl(fd, FICLONE, log_fd) < 0)
		err = outputs_copy(log_fd, fd);
	if (!err && !*part)
		err = link_log(folder, fd, name);
	else if (!err && faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err = -EEXIST;
	else if (!err)
		err = renameat(folder, part, folder, name) < 0 ? -errno : 0;
	if (err && *part)
		unlinkat(folder, part, 0);
	close(fd);
	return err;
}

/* Later than all others by its name, also if the clock was set back or two gputraces end at the same time. */
static int add_log(int folder, int log_fd)
{
	struct kept_list kept = {0};
	char name[NAME_SIZE];
	uint64_t us = now_us();
	int err = read_list(folder, &kept);

	if (!err && kept.list.count) {
		uint64_t newest = time_of(kept.list.items[kept.list.count - 1].name);

		us = us > newest ? us : newest + 1;
	}
	array_free(&kept.list);
	if (err)
		return err;
	do {
		name_at(us++, name);
		err = link_log(folder, log_fd, name);
		if (err && err != -EEXIST)
			err = copy_log(folder, log_fd, name);
	} while (err == -EEXIST);
	return err;
}

static void remove_oldest(int folder)
{
	struct kept_list kept = {0};
	uint64_t bytes = 0;

	if (read_list(folder, &kept))
		return;
	for (size_t i = kept.list.count, count = 1; i--; count++) {
		bytes += kept.list.items[i].bytes;
		if (count > LAST_TRACES_MOST || bytes > LAST_TRACES_BYTES)
			unlinkat(folder, kept.list.items[i].name, 0);
	}
	array_free(&kept.list);
}

static void say_not_kept(const struct kept_folder *folder, int err)
{
	if (err == -ENXIO)
		msg_warn(
			"the trace is not kept as the last one: its user has no home: name a folder in XDG_STATE_HOME, "
			"or say --no-keep");
	else
		msg_warn("the trace is not kept as the last one: %s: %s: name another folder in XDG_STATE_HOME, or say "
			 "--no-keep",
			 folder->path, kept_folder_error(err));
}

static bool is_too_large(int log_fd, struct stat *stat)
{
	return fstat(log_fd, stat) == 0 && (uint64_t)stat->st_size > LAST_TRACES_BYTES;
}

bool last_trace_can_keep(int log_fd)
{
	struct kept_folder folder;
	struct stat stat;
	int err = kept_folder_open(&folder, false);

	kept_folder_close(&folder);
	return err != -ENXIO && !is_too_large(log_fd, &stat);
}

void last_trace_keep(int log_fd)
{
	struct kept_folder folder;
	struct stat stat;
	int err;

	if (is_too_large(log_fd, &stat)) {
		msg_warn("the trace is not kept as the last one: it has %.1f GB, and at most %.0f GB are kept; -o "
			 "FILE.gpt keeps more",
			 (double)stat.st_size / 1e9, (double)LAST_TRACES_BYTES / 1e9);
		return;
	}
	/* A user may only link to a file of his own. */
	err = output_give_to_sudo_user(log_fd);
	if (!err)
		err = kept_folder_open(&folder, true);
	else
		folder = (struct kept_folder){.fd = -1};
	if (!err)
		err = add_log(folder.fd, log_fd);
	if (!err)
		remove_oldest(folder.fd);
	if (err)
		say_not_kept(&folder, err);
	kept_folder_close(&folder);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static char *chosen[2]; /* paths that were handed out */

bool last_trace_is(const char *path)
{
	return path && (path == chosen[0] || path == chosen[1]);
}

char *last_trace_word(const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_.,:=+@%-";

	if (last_trace_is(path))
		return xstrdup("");
	for (const char *at = path; *at; at++)
		if (iscntrl((unsigned char)*at) || *at == '\'')
			return NULL;
	if (*path == '-')
		return NULL;
	return strspn(path, plain) == strlen(path) ? xstrdup(path) : xasprintf("'%s'", path);
}

int last_trace_open(const char *path)
{
	struct kept_folder folder;
	int err = kept_folder_open(&folder, false);
	int fd = err ? -1 : openat(folder.fd, path_base(path), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	err = fd < 0 && !err ? -errno : err;
	kept_folder_close(&folder);
	errno = -err;
	return fd;
}

static void say_chosen(const char *which, const char *path, const struct kept *kept)
{
	char when[32];
	struct tm local;

	localtime_r(&kept->changed.tv_sec, &local);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
	msg_info("%s: %s, which ended at %s", path, which, when);
}

static int say_none(const struct kept_folder *folder, const struct options *options, size_t count)
{
	bool two = options->subcommand == SUBCOMMAND_DIFF;
	const char *name = subcommand_words(options->subcommand);
	const char *wanted = two ? "BEFORE.gpt AFTER.gpt" : "FILE.gpt";

	if (!folder->path)
		msg_error("%s needs a log, as this user has no home in which the last trace is kept: gputrace %s %s",
			  name, name, wanted);
	else if (count)
		msg_error("diff needs two logs, and only one trace is kept in %s: gputrace diff %s", folder->path,
			  wanted);
	else
		msg_error("%s needs a log, as no trace is kept in %s: gputrace %s %s", name, folder->path, name,
			  wanted);
	return -ENOENT;
}

int last_trace_choose(struct options *options)
{
	bool two = options->subcommand == SUBCOMMAND_DIFF;
	struct kept_list kept = {0};
	struct kept_folder folder;
	const struct kept *newest;
	int err = kept_folder_open(&folder, false);

	for (unsigned i = 0; i < 2; i++) {
		free(chosen[i]);
		chosen[i] = NULL;
	}
	if (!err)
		err = read_list(folder.fd, &kept);
	if (err && err != -ENOENT && err != -ENXIO) {
		msg_error("%s: no last trace can be found there: %s: name a log: gputrace %s FILE.gpt", folder.path,
			  kept_folder_error(err), subcommand_words(options->subcommand));
	} else if (err || kept.list.count < 1u + two) {
		err = say_none(&folder, options, kept.list.count);
	} else {
		newest = &kept.list.items[kept.list.count - 1];
		chosen[0] = xasprintf("%s/%s", folder.path, newest->name);
		if (two) {
			chosen[1] = xasprintf("%s/%s", folder.path, newest[-1].name);
			say_chosen("the trace before the last", chosen[1], newest - 1);
			options->before = 1;
			array_push(&options->logs.list, chosen[1]);
			array_push(&options->logs.list, chosen[0]);
		}
		say_chosen("the last trace", chosen[0], newest);
		options->log = two ? chosen[1] : chosen[0];
	}
	array_free(&kept.list);
	kept_folder_close(&folder);
	return err;
}
