/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks users up in /etc/passwd and /etc/group alone: NSS needs shared libraries at run time. */
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cmd/process/caller.h"

void user_database_find(struct caller *caller)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user;

	while (file && (user = fgetpwent(file))) {
		if (user->pw_uid != caller->uid)
			continue;
		caller->name = xstrdup(user->pw_name);
		caller->home = xstrdup(user->pw_dir);
		caller->shell = xstrdup(user->pw_shell);
		break;
	}
	if (file)
		fclose(file);
}

int user_database_uid(const char *name, uid_t *uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*uid = user->pw_uid;
	if (file)
		fclose(file);
	return user ? 0 : -1;
}

int user_database_take_groups(const struct caller *caller)
{
	FILE *file = caller->name ? fopen("/etc/group", "re") : NULL;
	ARRAY(gid_t) groups = {0};
	const struct group *group;
	int error;

	array_push(&groups, caller->gid);
	while (file && (group = fgetgrent(file)))
		for (char **member = group->gr_mem; *member; member++)
			if (!strcmp(*member, caller->name))
				array_push(&groups, group->gr_gid);
	if (file)
		fclose(file);
	error = setgroups(groups.count, groups.items);
	array_free(&groups);
	return error;
}
