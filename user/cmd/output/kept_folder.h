/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The folder in which the last traces of a user are kept: $XDG_STATE_HOME/gputrace, ~/.local/state/gputrace by default.
 * With sudo it is that of the user who called sudo.  Knows nothing of what is in it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct kept_folder {
	int fd;	    /* -1: not open */
	char *path; /* NULL: the user has no home */

	/* What the calling thread had before it took on the user's ids. */
	bool took_ids;
	gid_t *groups;
	int group_count, dumpable;
};

/*
 * Opens the folder, and first makes it if `makes`.  Under sudo, the calling thread has the file-system ids of the user
 * who called sudo until kept_folder_close: what that user may not read, write or reach by a link is not reached.
 * 0, -ENXIO: there is no home, -EEXIST: it is another user's, or -errno.  Close it in any case.
 */
int kept_folder_open(struct kept_folder *folder, bool makes);
void kept_folder_close(struct kept_folder *folder);

/* The message for an error of it, without the path. */
const char *kept_folder_error(int err);
