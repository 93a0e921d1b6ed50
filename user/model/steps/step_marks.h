/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What of a trace is a boundary between steps, by what was requested: ops, NVTX ranges, Python functions, GPU work. */
#ifndef GPUTRACE_MODEL_STEP_MARKS_H
#define GPUTRACE_MODEL_STEP_MARKS_H

#include "model/steps/step_backward.h"

struct open_op {
	uint64_t start_ns, end_ns;
};

/* Those of a thread that are open, outermost first. */
struct open_ops {
	ARRAY(struct open_op) list;
};

/* The latest one of a process. */
struct step_burst {
	uint32_t thread; /* whose steps they are: the first that launched; NONE: there was none */
	uint64_t end_ns;
};

struct step_marks {
	struct step_candidates *candidates;
	struct step_backwards *backwards; /* are given ops and calls, too */
	const struct step_request *request;
	ARRAY(struct open_ops) open; /* by thread */
	/* by thread: the stack around the function that its last call was made under, as a hash; 0: not under it */
	ARRAY(uint64_t) under;
	ARRAY(uint64_t) around;		 /* by stack: the same; UINT64_MAX: not looked at */
	ARRAY(struct step_burst) bursts; /* by process */
};

void step_marks_begin(struct step_marks *all, struct step_candidates *candidates, struct step_backwards *backwards,
		      const struct step_request *request, const struct model *model);
void step_marks_free(struct step_marks *all);
void step_marks_add_part(struct step_marks *all, const struct model *part);

#endif
