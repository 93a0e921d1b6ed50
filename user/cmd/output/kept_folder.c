/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose folder, where it is, and the ids with which it is used. */
#include "cmd/output/kept_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_text.h"
#include "cmd/process/caller.h"

#define FOLDER_MODE 0700

/* Relative paths count as not set: XDG Base Directory Specification. */
static bool is_absolute(const char *path)
{
	return path && *path == '/';
}

/* $HOME is not always the user's: su keeps that of who called it. */
static bool is_own_home(const char *home, uid_t uid)
{
	struct stat stat_buffer;

	return is_absolute(home) && stat(home, &stat_buffer) == 0 && stat_buffer.st_uid == uid;
}

static char *in_home(const char *home)
{
	return is_absolute(home) ? xasprintf("%s/.local/state/gputrace", home) : NULL;
}

/* NULL: the user has no home. */
static char *find_path(const struct caller *caller)
{
	const char *given = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	struct caller self = {.uid = geteuid()};
	char *path;

	/* sudo takes the variable away, unless it is told to leave it. */
	if (!is_absolute(given) && caller)
		given = caller->state_home;
	if (is_absolute(given))
		return xasprintf("%s/gputrace", given);
	if (caller)
		return in_home(caller->home);
	if (is_own_home(home, self.uid))
		return in_home(home);
	user_database_find(&self);
	path = in_home(self.home);
	free(self.name);
	free(self.home);
	free(self.shell);
	return path;
}

/* setgroups(2) of glibc is for all threads; the kernel's own is for one, as setfsuid(2) is. */
static int set_groups(const gid_t *groups, int count)
{
	return (int)syscall(SYS_setgroups, count, groups);
}

static int take_ids(struct kept_folder *folder, const struct caller *caller)
{
	folder->group_count = getgroups(0, NULL);
	folder->groups = xcalloc((size_t)(folder->group_count > 0 ? folder->group_count : 0) + 1, sizeof(gid_t));
	folder->group_count = getgroups(folder->group_count, folder->groups);
	folder->dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
	if (folder->group_count < 0 || set_groups(NULL, 0))
		return -errno;
	folder->took_ids = true;
	setfsgid(caller->gid);
	setfsuid(caller->uid);
	/* They return what was before, and -1 sets nothing. */
	return setfsgid((gid_t)-1) == (int)caller->gid && setfsuid((uid_t)-1) == (int)caller->uid ? 0 : -EPERM;
}

static void give_ids_back(struct kept_folder *folder)
{
	if (folder->took_ids) {
		setfsuid(geteuid());
		setfsgid(getegid());
		set_groups(folder->groups, folder->group_count);
		/* A change of ids takes it away. */
		prctl(PR_SET_DUMPABLE, folder->dumpable, 0, 0, 0);
	}
	free(folder->groups);
}

static int make_folders(const char *path)
{
	AUTO_FREE char *part = xstrdup(path);
	int err = 0;

	for (char *end = strchr(part + 1, '/'); !err; end = strchr(end + 1, '/')) {
		if (end)
			*end = 0;
		err = mkdir(part, FOLDER_MODE) && errno != EEXIST ? -errno : 0;
		if (!end)
			break;
		*end = '/';
	}
	return err;
}

static int open_path(const char *path)
{
	struct stat stat = {0};
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int err = fd < 0 || fstat(fd, &stat) < 0 ? -errno : 0;

	/* The user's own: what stands in another user's folder is not this user's trace. */
	if (!err && stat.st_uid != (uid_t)setfsuid((uid_t)-1))
		err = -EEXIST;
	if (!err && (stat.st_mode & 0777) != FOLDER_MODE && fchmod(fd, FOLDER_MODE) < 0)
		err = -errno;
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

const char *kept_folder_error(int err)
{
	switch (-err) {
	case EEXIST:
		return "belongs to another user";
	case ENOTDIR:
		return "is a symbolic link, or no folder";
	default:
		return error_text(err);
	}
}

int kept_folder_open(struct kept_folder *folder, bool makes)
{
	struct caller *caller = caller_find();
	int err = 0;

	*folder = (struct kept_folder){.fd = -1, .path = find_path(caller)};
	if (!folder->path)
		err = -ENXIO;
	if (!err && caller)
		err = take_ids(folder, caller);
	if (!err && makes)
		err = make_folders(folder->path);
	if (!err) {
		folder->fd = open_path(folder->path);
		err = folder->fd < 0 ? folder->fd : 0;
	}
	caller_free(caller);
	return err;
}

void kept_folder_close(struct kept_folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	give_ids_back(folder);
	free(folder->path);
	*folder = (struct kept_folder){.fd = -1};
}
