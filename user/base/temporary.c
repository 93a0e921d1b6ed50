/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"

const char *temporary_folder(unsigned i)
{
	const char *folders[TEMPORARY_FOLDERS] = {getenv("TMPDIR"), "/var/tmp", "/tmp", ".", TEMPORARY_MEMORY};

	return folders[i] && *folders[i] ? folders[i] : NULL;
}

/* On a file system without O_TMPFILE (some network and overlay ones) the file is unlinked at once. */
static int open_in(const char *folder)
{
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), error = -errno;
	AUTO_FREE char *name = NULL;

	if (fd >= 0 || (error != -EOPNOTSUPP && error != -EISDIR && error != -ENOENT))
		return fd >= 0 ? fd : error;
	name = xasprintf("%s/gputrace-XXXXXX", folder);
	fd = mkostemp(name, O_CLOEXEC);
	error = -errno;
	if (fd >= 0)
		unlink(name);
	return fd >= 0 ? fd : error;
}

int temporary_open(void)
{
	int fd = -ENOENT;

	for (unsigned i = 0; i < TEMPORARY_FOLDERS && fd < 0; i++)
		if (temporary_folder(i))
			fd = open_in(temporary_folder(i));
	return fd;
}
