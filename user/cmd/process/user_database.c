/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks users up in all sources that the system has (NSS). */
#include <grp.h>
#include <pwd.h>

#include "base/array.h"
#include "cmd/process/caller.h"

void user_database_find(struct caller *caller)
{
	const struct passwd *user = getpwuid(caller->uid);

	if (!user)
		return;
	caller->name = xstrdup(user->pw_name);
	caller->home = xstrdup(user->pw_dir);
	caller->shell = xstrdup(user->pw_shell);
}

int user_database_uid(const char *name, uid_t *uid)
{
	const struct passwd *user = getpwnam(name);

	if (user)
		*uid = user->pw_uid;
	return user ? 0 : -1;
}

int user_database_take_groups(const struct caller *caller)
{
	return caller->name ? initgroups(caller->name, caller->gid) : setgroups(0, NULL);
}
