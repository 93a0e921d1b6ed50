/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Temporary name, rename and ownership; does not know what is written. */
#include "cmd/output/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_text.h"

/* Another process that races for a name loses soon. */
#define NAME_ATTEMPTS 16

#define MARK ".part-%08x" /* in a temporary name, before the number of the attempt */

static uint32_t mark; /* of temporary files, 0: none yet */

int output_give_to_sudo_user(int fd)
{
	uid_t uid;
	gid_t gid;

	if (!destination_sudo_user(&uid, &gid))
		return 0;
	/* EPERM, although gputrace is root: a file system without owners, or whose server does not permit it. */
	return fchown(fd, uid, gid) < 0 && errno != EPERM ? -errno : 0;
}

void output_mark(void)
{
	if (getrandom(&mark, sizeof(mark), GRND_NONBLOCK) != (ssize_t)sizeof(mark) || !mark)
		mark = (uint32_t)getpid();
}

/* The name must be shorter than NAME_MAX: a long one loses its end in the temporary one. */
static char *temporary_name(const char *name, unsigned attempt)
{
	if (!mark)
		output_mark();
	return xasprintf("%.200s" MARK "%02x", name, mark, attempt);
}

static int create_temporary(struct output *output)
{
	for (unsigned i = 0; i < NAME_ATTEMPTS; i++) {
		output->temporary = temporary_name(output->destination.name, i);
		output->fd = openat(output->destination.directory, output->temporary,
				    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (output->fd >= 0)
			return 0;
		free(output->temporary);
		output->temporary = NULL;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int output_open(const char *path, struct output *out)
{
	int err;

	*out = (struct output){.fd = -1, .path = xstrdup(path)};
	err = destination_find(path, &out->destination);
	if (!err)
		err = create_temporary(out);
	if (!err)
		err = output_give_to_sudo_user(out->fd);
	if (err)
		output_close(out);
	return err;
}

int output_commit(struct output *output)
{
	int directory = output->destination.directory;

	if (renameat(directory, output->temporary, directory, output->destination.name) < 0)
		return -errno;
	free(output->temporary);
	output->temporary = NULL;
	return 0;
}

int output_commit_new(struct output *output)
{
	int directory = output->destination.directory;

	if (!linkat(directory, output->temporary, directory, output->destination.name, 0))
		return 0;
	/* Some file systems have no hard links. */
	return errno == EEXIST ? -EEXIST : output_commit(output);
}

void output_set_name(struct output *output, const char *path)
{
	const char *slash = strrchr(path, '/');

	free(output->destination.name);
	free(output->path);
	output->destination.name = xstrdup(slash ? slash + 1 : path);
	output->path = xstrdup(path);
}

void output_close(struct output *output)
{
	if (output->temporary)
		unlinkat(output->destination.directory, output->temporary, 0);
	if (output->path && output->fd >= 0)
		close(output->fd);
	if (output->path)
		destination_free(&output->destination);
	free(output->temporary);
	free(output->path);
	*output = (struct output){.fd = -1};
}

static bool is_marked(const char *name)
{
	char end[32];
	size_t length = strlen(name), size = (size_t)snprintf(end, sizeof(end), MARK, mark);

	return length > size + 2 && !strncmp(name + length - size - 2, end, size);
}

void output_remove_marked(const char *path)
{
	struct destination destination;
	int folder = destination_find(path, &destination)
			     ? -1
			     : openat(destination.directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = folder < 0 ? NULL : fdopendir(folder);

	for (struct dirent *file; files && (file = readdir(files));)
		if (is_marked(file->d_name))
			unlinkat(folder, file->d_name, 0);
	if (files)
		closedir(files);
	else if (folder >= 0)
		close(folder);
	destination_free(&destination);
}

int output_probe(const char *path)
{
	struct output output;
	int err = output_open(path, &output);

	if (!err)
		output_close(&output);
	return err;
}

const char *output_error(int err)
{
	switch (-err) {
	case ELOOP:
		return "leads through a symbolic link that belongs to someone else: name the real place";
	case EISDIR:
		return "is a directory: name a file in it";
	case EINVAL:
		return "is there already and is not a regular file: name another";
	case ENOENT:
		return "its directory does not exist: make it first";
	default:
		return error_text(err);
	}
}
