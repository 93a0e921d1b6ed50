/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds where a file named by the user lies, without following a symbolic link that another user could have put in the
 * way: gputrace runs as root.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct destination {
	int directory; /* O_PATH fd */
	char *name;    /* in that directory: no slash, not a symbolic link */
};

/*
 * Walks path component by component.  Follows links owned by root, by gputrace's user or by the user who called sudo.
 * -ELOOP: a link of another user (or too many links), -EISDIR: path names a directory, -EINVAL: the file there is not a
 * regular one, -ENOENT, -EACCES ... as usual.  Free with destination_free in any case.
 */
int destination_find(const char *path, struct destination *out);
void destination_free(struct destination *destination);

/* The user who called sudo, from SUDO_UID and SUDO_GID; false when gputrace is not root or was not started by sudo. */
bool destination_sudo_user(uid_t *uid, gid_t *gid);
