/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every CPython on this machine, and as root those that Debian's suites (tests/roots) add. */
#pragma once

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"

#define PYTHONS_MAX 64
#define MINOR_FIRST 6
#define MINOR_LAST 15
#define ROOT_MINOR_FIRST 14 /* CI has those, wherever it runs */

struct python {
	char *path;
	unsigned major, minor;
	char release[32];
};

static struct python pythons[PYTHONS_MAX];
static unsigned python_count;

/*
 * Asks the interpreter for its real path: the given one may be a link, or a script that picks one or enters another
 * root.
 */
static inline void add_python(const char *path)
{
	char *command = xasprintf("'%s' -c 'import os, sys, platform; v = sys.version_info; p = sys.argv[1]; "
				  "print(\"%%d %%d %%s %%s\" %% (v[0], v[1], platform.python_version(), "
				  "p if \"/roots/\" in p else os.path.realpath(sys.executable)))' '%s' 2>/dev/null",
				  path, path);
	struct python *python = &pythons[python_count];
	FILE *answer = popen(command, "r");
	char real[1024];
	bool known = python_count == PYTHONS_MAX;

	assert_non_null(answer);
	if (fscanf(answer, "%u %u %31s %1023[^\n]", &python->major, &python->minor, python->release, real) == 4) {
		for (unsigned i = 0; i < python_count; i++)
			known = known || strcmp(pythons[i].path, real) == 0;
		if (!known) {
			python->path = xstrdup(real);
			python_count++;
		}
	}
	pclose(answer);
	free(command);
}

static inline void add_matching(const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			if (access(found.gl_pathv[i], X_OK) == 0)
				add_python(found.gl_pathv[i]);
	globfree(&found);
}

static inline bool have_python(unsigned minor)
{
	for (unsigned i = 0; i < python_count; i++)
		if (pythons[i].major == 3 && pythons[i].minor == minor)
			return true;
	return false;
}

/* Adds the missing versions from the suites' roots; each is installed on first use. */
static inline void add_from_roots(void)
{
	for (unsigned minor = MINOR_FIRST; minor <= MINOR_LAST; minor++) {
		char *path = xasprintf("tests/roots/python3.%u", minor);

		if (!have_python(minor) && access(path, X_OK) == 0)
			add_python(path);
		free(path);
	}
}

/* Prints the missing versions; -1 when CI must have one of them. */
static inline int feed_missing(void)
{
	const char *ci = getenv("CI");
	int result = 0;

	for (unsigned minor = MINOR_FIRST; minor <= MINOR_LAST; minor++) {
		if (have_python(minor))
			continue;
		print_message("CPython 3.%u is not on this machine: not tested\n", minor);
		if (minor >= ROOT_MINOR_FIRST && ci && strcmp(ci, "true") == 0)
			result = -1;
	}
	return result;
}

static inline int find_every_python(void)
{
	const char *root = getenv("PYENV_ROOT"), *home = getenv("HOME");
	char *paths = xstrdup(getenv("PATH") ? getenv("PATH") : "/usr/bin"), *rest = paths, *part;
	char *pattern = root ? xasprintf("%s/versions/*/bin/python", root)
			     : xasprintf("%s/.pyenv/versions/*/bin/python", home ? home : "");

	add_matching(pattern);
	while ((part = strsep(&rest, ":"))) {
		char *there = xasprintf("%s/python[23].*[0-9]", part);

		add_matching(there);
		free(there);
	}
	free(pattern);
	free(paths);
	if (geteuid() == 0)
		add_from_roots();
	return feed_missing();
}

static inline void forget_every_python(void)
{
	for (unsigned i = 0; i < python_count; i++)
		free(pythons[i].path);
}
