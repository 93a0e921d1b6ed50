/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user who called sudo(8): a COMMAND runs as this user and is looked up in this user's PATH. Finding the user
 * changes nothing. */
#pragma once

#include <sys/types.h>

struct caller {
	uid_t uid;
	gid_t gid;
	char *name, *home, *shell; /* from the user database; NULL: it does not know the user */
	char *path, *state_home;   /* PATH and XDG_STATE_HOME before sudo replaced them; NULL: not known, not set */
};

/* user_database.c, and user_database_static.c in the static gputrace, which has no NSS. */
void user_database_find(struct caller *caller);		    /* sets name, home and shell if it knows the user */
int user_database_uid(const char *name, uid_t *uid);	    /* -1: there is no such user */
int user_database_take_groups(const struct caller *caller); /* for the calling process; -1 and errno */

/* NULL: gputrace was not started by sudo, or by root. Free with caller_free. */
struct caller *caller_find(void);

/* Gives the calling process the user's rights and environment, for good. 0 or -errno */
int caller_become(const struct caller *caller);

void caller_free(struct caller *caller);
