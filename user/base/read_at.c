/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/read_at.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int64_t read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got = pread(fd, (char *)to + done, bytes - done, (off_t)(at + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

bool read_small_file(int folder, const char *path, char *text, size_t size)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got >= 0;
}
