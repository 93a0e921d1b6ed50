/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a file named by the user lies, found without following a symbolic link that somebody else could have
 * put in the way: gputrace runs as root.
 */
#ifndef GPUTRACE_PLACE_H
#define GPUTRACE_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct place {
	int directory; /* O_PATH fd */
	char *name;    /* in it: no slash, not a symbolic link */
};

/*
 * Walks path component by component.  Links that root, we or the user behind sudo own are followed; -ELOOP: one of
 * somebody else (or too many), -EISDIR: it names a directory, -EINVAL: something that is no regular file is there,
 * -ENOENT, -EACCES ... as usual.  Free with place_free in any case.
 */
int place_find(const char *path, struct place *out);
void place_free(struct place *place);

/* The user who called sudo, from SUDO_UID and SUDO_GID; false when we are not root or were not called by it. */
bool place_sudo_user(uid_t *uid, gid_t *gid);

#endif
