/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files of an output with %p or %r in its name: one for each process of a trace that did anything (%p), or whose
 * rank in a job is known (%r). */
#pragma once

#include "base/array.h"
#include "export/file/format.h"

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
 * Takes another round over the trace if ranks are needed: by %r, or by needs_rank if the name has no %r.  With %r a
 * process whose rank is not known has no file, which a message says.  0 or -errno of the trace.
 */
int own_files_find(struct own_files *files, struct trace *trace, const char *path, bool needs_rank);
void own_files_free(struct own_files *files);
