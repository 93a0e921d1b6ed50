/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a file named by the user lies, found without following a symbolic link that someone else could have
 * put in the way: gputrace runs as root.
 */
#ifndef GPUTRACE_CMD_DESTINATION_H
#define GPUTRACE_CMD_DESTINATION_H

#include <stdbool.h>
#include <sys/types.h>

struct destination {
	int directory; /* O_PATH fd */
	char *name;    /* in it: no slash, not a symbolic link */
};

/*
 * Walks path component by component.  Links that root, we or the user behind sudo own are followed; -ELOOP: one of
 * someone else (or too many), -EISDIR: it names a directory, -EINVAL: something that is no regular file is there,
 * -ENOENT, -EACCES ... as usual.  Free with destination_free in any case.
 */
int destination_find(const char *path, struct destination *out);
void destination_free(struct destination *destination);

/* The user who called sudo, from SUDO_UID and SUDO_GID; false when we are not root or were not called by it. */
bool destination_sudo_user(uid_t *uid, gid_t *gid);

#endif
