/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "target/halt.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/read_at.h"
#include "target/process.h"

#define CGROUPS_MAX 4096 /* bytes of /proc/PID/cgroup, and of a path in it */

static bool file_has_word(const char *hierarchy, const char *folder, const char *file, const char *word)
{
	char path[CGROUPS_MAX + 64], text[256];

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", hierarchy, folder, file);
	return read_small_file(AT_FDCWD, path, text, sizeof(text)) && strstr(text, word);
}

bool process_is_frozen(pid_t pid)
{
	char text[CGROUPS_MAX], path[64], *save = NULL;
	bool frozen = false;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	read_small_file(AT_FDCWD, path, text, sizeof(text));
	for (char *line = strtok_r(text, "\n", &save); line && !frozen; line = strtok_r(NULL, "\n", &save)) {
		const char *controllers = strchr(line, ':');
		const char *folder = controllers ? strchr(controllers + 1, ':') : NULL;

		if (!folder)
			continue;
		folder++;
		if (!strncmp(controllers, "::", 2)) /* beside v1's hierarchies it is mounted as "unified" */
			frozen = file_has_word("", folder, "cgroup.events", "frozen 1") ||
				 file_has_word("/unified", folder, "cgroup.events", "frozen 1");
		else if (strstr(controllers, "freezer")) /* FROZEN, FREEZING */
			frozen = file_has_word("/freezer", folder, "freezer.state", "FR");
	}
	return frozen;
}

const char *process_halted(pid_t pid)
{
	if (process_is_frozen(pid))
		return "frozen by its cgroup";
	return process_state(pid) == 'T' ? "stopped by a signal" : NULL;
}
