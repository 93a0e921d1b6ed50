/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What every format is asked for. */
#ifndef GPUTRACE_EXPORT_FORMAT_H
#define GPUTRACE_EXPORT_FORMAT_H

#include <stdbool.h>

#include "analyze/attribution.h"
#include "export/sink.h"
#include "model/trace.h"

/* What ops' stacks are weighed by. */
enum folded_by {
	FOLDED_BY_CALLS, /* not ops: GPU time or launches of calls */
	FOLDED_BY_SELF_CPU,
	FOLDED_BY_SELF_CUDA,
};

struct export_options {
	int process;	  /* index into model.processes, -1: all */
	bool by_launches; /* folded: count launches although there are GPU times */
	enum folded_by folded_by;
	struct attribution attribution; /* folded */
	uint64_t most;			/* bytes that the file may have: more ends the export with -EFBIG; 0: any */
	const struct cancel *cancel;	/* abandons the export with -ECANCELED; NULL: nothing does */
};

/* Puts a whole file into the sink; errors are the sink's.  Returns 0 or -errno for what is not the sink's. */
typedef int export_write_fn(struct sink *sink, struct trace *trace, const struct export_options *options);

#endif
