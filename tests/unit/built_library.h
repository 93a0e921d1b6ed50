/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A shared library (or program) that this machine's compiler makes from a source text, for tests that need a real ELF
 * file with known symbols. It is opened and removed again at once.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

static inline void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file)) {
		fprintf(stderr, "cannot write %s\n", path);
		abort();
	}
}

/* Makes a new folder below TMPDIR; free the name. */
static inline char *make_folder(void)
{
	const char *parent = getenv("TMPDIR");
	char *folder = xasprintf("%s/gputrace-test.XXXXXX", parent && *parent ? parent : "/tmp");

	if (!mkdtemp(folder))
		abort();
	return folder;
}

static inline void remove_folder(char *folder)
{
	char *command = xasprintf("rm -rf '%s'", folder);

	if (system(command))
		abort();
	free(command);
	free(folder);
}

/* One folder for all tests of a program; the group's setup and teardown make and remove it. */
__attribute__((unused)) static char *tests_folder;

static inline int make_tests_folder(void **state)
{
	tests_folder = make_folder();
	return 0;
}

static inline int remove_tests_folder(void **state)
{
	remove_folder(tests_folder);
	return 0;
}

/* Compiles C source to folder/name with more flags; versions: a linker version script, or NULL. Free the path. */
static inline char *build_file(const char *folder, const char *name, const char *source, const char *versions,
			       const char *flags)
{
	const char *compiler = getenv("CC");
	char *path = xasprintf("%s/%s", folder, name);
	char *code = xasprintf("%s/source.c", folder), *map = xasprintf("%s/versions.map", folder);
	char *command = xasprintf("%s %s %s%s -o '%s' '%s'", compiler && *compiler ? compiler : "cc", flags,
				  versions ? "-Wl,--version-script=" : "", versions ? map : "", path, code);

	write_text(code, source);
	if (versions)
		write_text(map, versions);
	if (system(command)) {
		fprintf(stderr, "failed: %s\n", command);
		abort();
	}
	free(command);
	free(code);
	free(map);
	return path;
}

static inline int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		abort();
	}
	return fd;
}
