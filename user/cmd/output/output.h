/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One output file: written in its folder under a temporary name, then renamed, so that a half-written file never has
 * the name that the user gave.  It belongs to the user who called sudo.
 */
#pragma once

#include "cmd/process/destination.h"

struct output {
	int fd; /* for reading and writing, -1: not open */
	struct destination destination;
	char *temporary; /* its name in destination.directory, NULL: there is none */
	char *path;	 /* as the user gave it */
};

/* Creates the temporary file. Returns 0 or -errno as destination_find. End with output_close. */
int output_open(const char *path, struct output *out);

/* Gives the file its name; fd stays open until output_close. */
int output_commit(struct output *output);

/* The same, but replaces no file: -EEXIST if there is one of its name. */
int output_commit_new(struct output *output);
/* Another name in the same folder, before it is committed. */
void output_set_name(struct output *output, const char *path);

/* Closes the file; removes the temporary one unless it was committed. May be called on a zeroed or closed output. */
void output_close(struct output *output);

/* Temporary names have another mark from here on, also in children: output_remove_marked finds theirs. */
void output_mark(void);

/* Removes the temporary files with that mark in the folder of path, which a process that is gone has left. */
void output_remove_marked(const char *path);

/* Whether output_open works: tries it, and leaves nothing behind. 0 or -errno */
int output_probe(const char *path);

/* The message for an error of these functions, without the path. */
const char *output_error(int err);

/* Gives the file to the user who called sudo; does nothing when there is none. */
int output_give_to_sudo_user(int fd);
