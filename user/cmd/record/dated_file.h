/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of logs that one recording makes several of: by the wall clock, so that a later run replaces none of them. */
#pragma once

#include <stddef.h>

#include "base/array.h"

struct output;

/* Those of one recording that are there, the oldest first. */
struct dated_files {
	ARRAY(char *) paths;
	unsigned keep; /* how many stay; 0: all */
};

/* Another one was written: removes the oldest that are too many. */
void dated_files_add(struct dated_files *files, const char *path);
void dated_files_free(struct dated_files *files);

/*
 * TRACE.20261130-140320.gpt beside TRACE.gpt; path NULL: gputrace-20261130-140320.gpt in the current folder.  No file
 * of that name is there.  The caller frees it.
 */
char *dated_file_name(const char *path);

/*
 * Commits an output of such a name; replaces no file, as another recording may have taken the name meanwhile:
 * output->path is then another one.  0 or -errno
 */
int dated_file_commit(struct output *output);

/* Checks that such files can be written.  option: what asks for them. 0, or -errno and a message. */
int dated_file_check(const char *path, const char *option);
