/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens, keeps or drops the log file; capture/ writes its content. */
#include "cmd/record/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/temporary.h"

static char *name_in(const char *directory)
{
	return xasprintf("%s/gputrace-%d-%lx.gpt", directory, (int)getpid(), (unsigned long)time(NULL));
}

/* Not readable by others until it is kept for its user: a trace names files and functions. */
static int open_temporary(const char *directory, struct log_file *file)
{
	file->kept = name_in(directory);
	file->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (file->fd >= 0)
		return 0;
	/* A file system without O_TMPFILE (some network and overlay ones). */
	if (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT) {
		file->fd = open(file->kept, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		file->named = file->fd >= 0;
	}
	if (file->fd >= 0)
		return 0;
	free(file->kept);
	file->kept = NULL;
	return -errno;
}

static void note_tried(struct log_file *file, const char *folder, int error)
{
	size_t used = strlen(file->tried);

	snprintf(file->tried + used, sizeof(file->tried) - used, "%s%s (%s)", used ? ", " : "; nor in ", folder,
		 strerror(-error));
}

int log_file_open(const char *path, struct log_file *out, const char **where)
{
	int err = -ENOENT, other;

	*out = (struct log_file){.fd = -1, .output = {.fd = -1}};
	*where = path ? path : "/var/tmp";
	if (path) {
		err = output_open(path, &out->output);
		out->fd = out->output.fd;
		return err;
	}
	for (unsigned i = 0; i < TEMPORARY_FOLDERS; i++) {
		if (!temporary_folder(i))
			continue;
		other = open_temporary(temporary_folder(i), out);
		if (!other) {
			*where = temporary_folder(i);
			return 0;
		}
		if (err == -ENOENT && other != -ENOENT) { /* the first folder that exists is the one to mend */
			*where = temporary_folder(i);
			err = other;
		} else {
			note_tried(out, temporary_folder(i), other);
		}
	}
	return err;
}

static int name_temporary(struct log_file *file)
{
	char self[32];

	if (file->named)
		return 0;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, file->kept, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	file->named = true;
	return 0;
}

int log_file_keep(struct log_file *file)
{
	int err;

	if (file->output.path)
		return file->output.temporary ? output_commit(&file->output) : 0;
	err = name_temporary(file);
	if (err)
		return err;
	file->stays = true;
	return output_give_to_sudo_user(file->fd);
}

const char *log_file_name(const struct log_file *file)
{
	return file->output.path ? file->output.path : file->kept;
}

void log_file_close(struct log_file *file)
{
	if (file->output.path) {
		output_close(&file->output);
	} else if (file->fd >= 0) {
		if (file->named && !file->stays)
			unlink(file->kept);
		close(file->fd);
	}
	free(file->kept);
	*file = (struct log_file){.fd = -1, .output = {.fd = -1}};
}
