/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the boundaries between steps in a trace, as requested: ops, NVTX ranges, Python functions, GPU work. */
#pragma once

#include "model/steps/step_backward.h"

struct open_op {
	uint64_t start_ns, end_ns;
};

/* The open ops of a thread, outermost first. */
struct open_ops {
	ARRAY(struct open_op) list;
};

/* The latest burst of a process. */
struct step_burst {
	uint32_t thread; /* owner of the steps: the first thread that launched; NONE: none yet */
	uint64_t end_ns;
};

struct step_marks {
	struct step_candidates *candidates;
	struct step_backwards *backwards; /* also gets ops and calls */
	const struct step_request *request;
	ARRAY(struct open_ops) open; /* by thread */
	/*
	 * by thread: hash of the stack around the requested function, under which its last call was made; 0: not under
	 * it
	 */
	ARRAY(uint64_t) under;
	ARRAY(uint64_t) around;		 /* by stack: the same hash; UINT64_MAX: not computed yet */
	ARRAY(struct step_burst) bursts; /* by process */
};

void step_marks_begin(struct step_marks *all, struct step_candidates *candidates, struct step_backwards *backwards,
		      const struct step_request *request, const struct model *model);
void step_marks_free(struct step_marks *all);
void step_marks_add_part(struct step_marks *all, const struct model *part);

/* Reads the number after ProfilerStep#, torch.profiler's name of a step; false: not such a name. */
bool step_profiler_number(const char *name, uint64_t *number);
