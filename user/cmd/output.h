/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One output file: written beside its place under a temporary name, then renamed, so that nothing half-written
 * ever has the name the user gave; it belongs to the user who called sudo.
 */
#ifndef GPUTRACE_OUTPUT_H
#define GPUTRACE_OUTPUT_H

#include "cmd/destination.h"

struct output {
	int fd; /* for reading and writing, -1: not open */
	struct destination destination;
	char *temporary; /* name in destination.directory, NULL: none left behind */
	char *path;	 /* as the user gave it */
};

/* Creates the temporary file. Returns 0 or -errno as destination_find. End with commit or abandon. */
int output_open(const char *path, struct output *out);

/* Gives the file its name; fd stays open until output_close. */
int output_commit(struct output *output);

/* Closes; removes the temporary file unless it was committed. Fine on a zeroed or closed one. */
void output_close(struct output *output);

/* Whether output_open would work: tries, and leaves nothing behind. */
int output_probe(const char *path);

/* What to say to the user about an error of the above, without the path. */
const char *output_error(int err);

/* The file belongs to the user who called sudo from here on; nothing when there is none. */
int output_give_to_sudo_user(int fd);

#endif
