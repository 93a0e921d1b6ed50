/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A folder for each test that writes files; SUDO_UID and SUDO_GID are unset. */
#pragma once

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

static char folder[64];

static inline char *in_folder(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

static inline int make_folder(void **state)
{
	unsetenv("SUDO_UID");
	unsetenv("SUDO_GID");
	strcpy(folder, "/tmp/gputrace-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
	char *command = xasprintf("rm -rf '%s'", folder);
	int status = system(command);

	free(command);
	return status;
}

static inline unsigned count_matching(const char *name)
{
	char *pattern = in_folder(name);
	glob_t found = {0};
	unsigned count = glob(pattern, 0, NULL, &found) == 0 ? (unsigned)found.gl_pathc : 0;

	globfree(&found);
	free(pattern);
	return count;
}

static inline unsigned count_files(void)
{
	return count_matching("*");
}

#define file_test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
