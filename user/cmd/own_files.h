/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which files an output with %p or %r in its name is: one for each process of a trace that did anything, or of a known
 * rank of a job. */
#ifndef GPUTRACE_OWN_FILES_H
#define GPUTRACE_OWN_FILES_H

#include "base/array.h"
#include "export/format.h"

struct own_file {
	char *path;
	int process; /* index into model.processes */
	struct export_rank rank;
};

/* Starts zeroed. */
struct own_files {
	ARRAY(struct own_file) list;
};

/*
 * Another round over the trace where ranks are asked for: by %r, or, where the name does not have it, by needs_rank.
 * With %r a process whose rank is not known has no file, which is said.  0 or -errno of the trace.
 */
int own_files_find(struct own_files *files, struct trace *trace, const char *path, bool needs_rank);
void own_files_free(struct own_files *files);

#endif
