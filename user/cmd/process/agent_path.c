/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Looks for a file; does not load it. */
#include "cmd/process/agent_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "base/array.h"
#include "cmd/process/privileges.h"

/* Whether only root can change the file: a user who can could make any process load any code. */
static bool is_roots(const char *path)
{
	struct stat of;

	return !stat(path, &of) && !of.st_uid && !(of.st_mode & (S_IWGRP | S_IWOTH));
}

/* Absolute, because the traced command may have another current directory. */
static char *usable_path(const char *path)
{
	char *absolute = realpath(path, NULL);

	if (absolute && access(absolute, R_OK) == 0 && (!privileges_of_file() || is_roots(absolute)))
		return absolute;
	free(absolute);
	return NULL;
}

static char *usable_in(const char *directory, const char *below)
{
	AUTO_FREE char *path = xasprintf("%s%s/%s", directory, below, GPUTRACE_AGENT_FILE);

	return usable_path(path);
}

char *agent_path_find(void)
{
	const char *named = secure_getenv("GPUTRACE_AGENT");
	char own[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *found = NULL;

	if (named && *named)
		return usable_path(named);
	if (length > 0) {
		own[length] = 0;
		*strrchr(own, '/') = 0;
	}
	/* Any user can make a link to the executable in a folder of their own. */
	if (length > 0 && (!privileges_of_file() || is_roots(own))) {
		found = usable_in(own, "");
		if (!found)
			found = usable_in(own, "/../lib/gputrace");
	}
	return found;
}
