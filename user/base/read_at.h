/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reading of files: at a place, and small ones whole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * pread(2) until everything is there or the file ends.  Returns the bytes that were read, fewer than asked for at the
 * end of the file; -errno.
 */
int64_t read_at(int fd, void *to, size_t bytes, uint64_t at);

/* One read(2) of a file of /proc or /sys as text; folder: open, or AT_FDCWD.  false: it cannot be read, text is "". */
bool read_small_file(int folder, const char *path, char *text, size_t size);
