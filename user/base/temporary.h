/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Temporary files, which may be large: in $TMPDIR, /var/tmp, /tmp, else the current folder, else /dev/shm: that is
 * memory, and in a container often the only folder that can be written.
 */
#pragma once

#define TEMPORARY_FOLDERS 5u
#define TEMPORARY_USUAL 3u /* the others only if none of these is writable */
#define TEMPORARY_MEMORY "/dev/shm"

/* The folders in their order; NULL: this one is not set. */
const char *temporary_folder(unsigned i);

/* A file that has no name and that no one else may read: its descriptor, the caller's to close, or -errno. */
int temporary_open(void);
