/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The walk: every step is relative to an open directory, so nothing can be exchanged after a check. */
#include "cmd/process/destination.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

#define MAX_LINKS 40 /* as the kernel's own MAXSYMLINKS, include/linux/namei.h */

static bool parse_id(const char *name, unsigned *out)
{
	const char *text = getenv(name);
	char *end;
	unsigned long value;

	if (!text || !*text || strspn(text, "0123456789") != strlen(text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	/* chown(2) takes the largest id as "leave it". */
	if (errno || value >= UINT_MAX)
		return false;
	*out = (unsigned)value;
	return true;
}

bool destination_sudo_user(uid_t *uid, gid_t *gid)
{
	return geteuid() == 0 && parse_id("SUDO_UID", uid) && parse_id("SUDO_GID", gid);
}

static bool is_trusted_owner(uid_t owner)
{
	uid_t uid;
	gid_t gid;

	return owner == 0 || owner == geteuid() || (destination_sudo_user(&uid, &gid) && owner == uid);
}

/* The target of the link that is open as `link`, with the rest of the path after it; *out is malloc'd. */
static int splice_link(int link, const char *rest, char **out)
{
	char target[PATH_MAX];
	ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	if (length == 0 || length == (ssize_t)sizeof(target) - 1)
		return -ENAMETOOLONG;
	target[length] = 0;
	*out = *rest ? xasprintf("%s/%s", target, rest) : xstrdup(target);
	return 0;
}

struct walk {
	int directory;
	char *path; /* malloc'd; what is left to walk starts at `at` */
	char *at;
	unsigned links;
	char *name; /* set at the end */
};

static void walk_to(struct walk *walk, int directory)
{
	if (walk->directory >= 0)
		close(walk->directory);
	walk->directory = directory;
}

static int walk_restart(struct walk *walk, char *path)
{
	free(walk->path);
	walk->path = walk->at = path;
	if (path[0] == '/') {
		int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (root < 0)
			return -errno;
		walk_to(walk, root);
	}
	return 0;
}

static int walk_follow(struct walk *walk, int link, const struct stat *stat, const char *rest)
{
	char *path = NULL;
	int err;

	if (!is_trusted_owner(stat->st_uid) || ++walk->links > MAX_LINKS)
		return -ELOOP;
	err = splice_link(link, rest, &path);
	return path ? walk_restart(walk, path) : err;
}

static int check_last(const struct stat *stat)
{
	if (S_ISDIR(stat->st_mode))
		return -EISDIR;
	return S_ISREG(stat->st_mode) ? 0 : -EINVAL;
}

/*
 * Takes one component: moves walk->directory to the folder it names, or puts a link's target in front of the path that
 * is left; sets walk->name when it was the last.
 */
static int walk_step(struct walk *walk)
{
	char *component = walk->at;
	size_t length = strcspn(component, "/");
	char *rest = component + length;
	bool last;
	struct stat stat;
	int fd, err = 0;

	while (*rest == '/')
		*rest++ = 0;
	last = !*rest;
	fd = openat(walk->directory, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		if (errno != ENOENT || !last)
			return -errno;
		walk->name = xstrdup(component);
		return 0;
	}
	if (fstat(fd, &stat) < 0) {
		err = -errno;
	} else if (S_ISLNK(stat.st_mode)) {
		err = walk_follow(walk, fd, &stat, rest);
	} else if (last) {
		err = check_last(&stat);
		walk->name = err ? NULL : xstrdup(component);
	} else if (S_ISDIR(stat.st_mode)) {
		walk_to(walk, fd);
		walk->at = rest;
		return 0;
	} else {
		err = -ENOTDIR;
	}
	close(fd);
	return err;
}

static bool ends_in_slash(const char *path)
{
	size_t length = strlen(path);

	return length && path[length - 1] == '/';
}

int destination_find(const char *path, struct destination *out)
{
	struct walk walk = {.directory = -1};
	int err;

	*out = (struct destination){.directory = -1};
	if (!*path)
		return -ENOENT;
	if (ends_in_slash(path))
		return -EISDIR;
	walk.directory = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.directory < 0)
		return -errno;
	err = walk_restart(&walk, xstrdup(path));
	while (!err && !walk.name) {
		while (*walk.at == '/')
			walk.at++;
		/* Empty after a link to "/" or to a path that ends in a slash. */
		err = *walk.at ? walk_step(&walk) : -EISDIR;
	}
	free(walk.path);
	if (err) {
		walk_to(&walk, -1);
		free(walk.name);
		return err;
	}
	out->directory = walk.directory;
	out->name = walk.name;
	return 0;
}

void destination_free(struct destination *destination)
{
	if (destination->directory >= 0)
		close(destination->directory);
	free(destination->name);
	*destination = (struct destination){.directory = -1};
}
