/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Candidates for the steps of a process, collected during a walk: for each thread and each source of steps (steps.h),
 * the steps between its boundaries.  At the end the best source is chosen.
 */
#pragma once

#include "base/tally.h"
#include "model/steps/steps.h"

struct step_candidate {
	enum step_source source;
	uint32_t process, thread;
	uint32_t name;	      /* model.strings: the op's name; NONE: no op yet */
	uint64_t last_end_ns; /* end of the latest boundary's op, function or range: an earlier start is inside of it */
	uint64_t open; /* 1 + model_span.number of the latest boundary's span, which may continue; 0: not a span */
	/* boundaries from ops: whether the ops around them, if any, enclose all steps */
	bool nests;
	uint64_t first_ns;	  /* the first such boundary, 0: none yet */
	uint64_t around_until_ns; /* the earliest end of the ops around it */
	bool from_stacks;
	uint64_t seen; /* steps, kept or not */
	ARRAY(struct step) list;
};

struct step_candidates {
	struct tally keys; /* source, thread; more: 1 + index */
	ARRAY(struct step_candidate) list;
	ARRAY(uint64_t) first_ns; /* by process: its first op or call, UINT64_MAX */
	uint64_t kept;		  /* steps of all candidates */
};

void step_candidates_begin(struct step_candidates *all, const struct model *model);
void step_candidates_free(struct step_candidates *all);

/* The candidate of a thread; valid until the next call. */
struct step_candidate *step_candidate_at(struct step_candidates *all, enum step_source source,
					 const struct model *model, uint32_t thread);

/* Notes activity of a process: its first step has begun by that time. */
static inline void step_candidates_saw(struct step_candidates *all, uint32_t process, uint64_t time_ns)
{
	if (time_ns < all->first_ns.items[process])
		all->first_ns.items[process] = time_ns;
}

/* Adds a complete step. */
void step_is(struct step_candidates *all, struct step_candidate *candidate, struct step step);

/* A boundary that ends the step since the last boundary. */
void step_ends(struct step_candidates *all, struct step_candidate *candidate, uint64_t time_ns);

/* A boundary that begins a step and ends the previous one; without a further boundary the step lasts until end_ns. */
void step_begins(struct step_candidates *all, struct step_candidate *candidate, uint64_t start_ns, uint64_t end_ns);

/* The step that began at the latest boundary lasts until end_ns. */
void step_lasts(struct step_candidate *candidate, uint64_t end_ns);

/*
 * Chooses, for each process that has none yet (best: by process, NULL), the candidate of that source with most steps,
 * if any.
 */
void step_candidates_choose(const struct step_candidates *all, enum step_source source, struct step_candidate **best);
