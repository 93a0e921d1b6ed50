/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A TAR archive (POSIX ustar) of files whose lengths are known only after writing: the caller writes each one to the
 * archive's fd, which must be seekable, between tar_begin() and tar_end().
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#define TAR_NAME_MAX 99 /* bytes of a member's name */

struct tar {
	int fd;
	uint64_t time_s; /* mtime of all members, since 1970 */
	off_t header;	 /* offset of the current member's header */
};

/* Each returns 0 or -errno. */
int tar_begin(struct tar *tar);
int tar_end(struct tar *tar, const char *name);
int tar_finish(struct tar *tar);
