/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Temporary name, rename and ownership; does not know what is written. */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"

/* Another process that races for a name loses soon; a stale file of a crash does not matter. */
#define NAME_ATTEMPTS 16

int output_give_to_sudo_user(int fd)
{
	uid_t uid;
	gid_t gid;

	if (!destination_sudo_user(&uid, &gid))
		return 0;
	/* EPERM, although gputrace is root: a file system without owners, or whose server does not permit it. */
	return fchown(fd, uid, gid) < 0 && errno != EPERM ? -errno : 0;
}

/* The name must be shorter than NAME_MAX: a long one loses its end in the temporary one. */
static char *temporary_name(const char *name)
{
	uint32_t random;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != (ssize_t)sizeof(random))
		random = (uint32_t)getpid();
	return xasprintf("%.200s.part-%08x", name, random);
}

static int create_temporary(struct output *output)
{
	for (int i = 0; i < NAME_ATTEMPTS; i++) {
		output->temporary = temporary_name(output->destination.name);
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
		return strerror(-err);
	}
}
