/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What may be the steps of a process, while a trace is gone through: for each thread and each way to find them
 * (steps.h) the steps that its boundaries make.  At the end the way that fits best is taken.
 */
#ifndef GPUTRACE_MODEL_STEP_CANDIDATES_H
#define GPUTRACE_MODEL_STEP_CANDIDATES_H

#include "base/tally.h"
#include "model/steps/steps.h"

struct step_candidate {
	enum step_source source;
	uint32_t process, thread;
	uint32_t name;	      /* model.strings: of the op; NONE: of none yet */
	uint64_t last_end_ns; /* of the latest boundary's op, function or range: what begins before is inside of it */
	uint64_t open;	      /* 1 + model_span.number of the latest one, which may go on; 0: not such */
	/* boundaries that ops show: whether the ops around them, if any, are around all steps */
	bool nests;
	uint64_t first_ns;	  /* the first such boundary, 0: none yet */
	uint64_t around_until_ns; /* the first end of those around it */
	bool from_stacks;
	uint64_t seen; /* steps, kept or not */
	ARRAY(struct step) list;
};

struct step_candidates {
	struct tally keys; /* source, thread; more: 1 + index */
	ARRAY(struct step_candidate) list;
	ARRAY(uint64_t) first_ns; /* by process: its first op or call, UINT64_MAX */
	uint64_t kept;		  /* steps of all */
};

void step_candidates_begin(struct step_candidates *all, const struct model *model);
void step_candidates_free(struct step_candidates *all);

/* The candidate of a thread; valid until the next one is asked for. */
struct step_candidate *step_candidate_at(struct step_candidates *all, enum step_source source,
					 const struct model *model, uint32_t thread);

/* Something is there at a time: the first step of its process has begun. */
static inline void step_candidates_saw(struct step_candidates *all, uint32_t process, uint64_t time_ns)
{
	if (time_ns < all->first_ns.items[process])
		all->first_ns.items[process] = time_ns;
}

/* A step that is one as it is. */
void step_is(struct step_candidates *all, struct step_candidate *candidate, struct step step);

/* A boundary: a step ends here, from the last boundary on. */
void step_ends(struct step_candidates *all, struct step_candidate *candidate, uint64_t time_ns);

/* A boundary: a step begins here, and the one before ends; as long as there is no other it lasts until end_ns. */
void step_begins(struct step_candidates *all, struct step_candidate *candidate, uint64_t start_ns, uint64_t end_ns);

/* What the latest boundary began goes on until then. */
void step_lasts(struct step_candidate *candidate, uint64_t end_ns);

/* Of each process that has none yet (best: by process, NULL) the one by that source with most steps, if it has any. */
void step_candidates_choose(const struct step_candidates *all, enum step_source source, struct step_candidate **best);

#endif
