/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of idle.h. */
#pragma once

#include "analyze/why/idle.h"

/* Of what a thread does at the same time, the last of these counts. */
enum why_rank { WHY_RANK_PEER = 1, WHY_RANK_DATA, WHY_RANK_CALL, WHY_RANK_IMPORT, WHY_RANK_GC, WHY_RANK_COMPILE };

/* A part of a gap, and how it is charged next. */
struct idle_charging {
	struct idle *idle;
	uint64_t from_ns, to_ns; /* the whole part */
	uint32_t device;
	uint32_t late;			    /* model.threads: the thread whose launch came late, NONE */
	uint32_t launch_place, launch_pass; /* launch_pass: call_pass */
	uint32_t process;
	uint32_t block;
	bool looked_at;
	bool after;		      /* idle_charge.after */
	enum why_cause inner;	      /* idle_charge.inner */
	uint32_t culprit;	      /* idle_charge.culprit */
	uint32_t via;		      /* idle_charge.via */
	bool once;		      /* counts once, with its causes, however often it is charged to one key */
	uint32_t period_ns;	      /* of the sample that owns the part, 0 */
	uint32_t like;		      /* in likes: the gaps that this one is like */
	const struct why_gap *hidden; /* earlier waits explain all own time in it (idle_own_ns); NULL: not */
	bool is_sampled;	      /* by a sample, whatever the cause is */
	bool settling;		      /* all of the gap is charged but the time that no sample owns */
};

/* Charges that time to a key (a why_take). */
void idle_charge(void *charging, struct tally_key key, uint64_t from_ns, uint64_t to_ns);

/* Time of a gap, which is charged from its front. */
struct idle_spans {
	struct why_rest *next;
	size_t count;
};

static inline struct idle_spans idle_spans_of(const struct why_rests *rests)
{
	return (struct idle_spans){.next = rests->items, .count = rests->count};
}

/* Charges the first ns of the spans to a key, as one charge, and removes them. */
void idle_charge_spans(struct idle_charging *charging, struct tally_key key, struct idle_spans *spans, uint64_t ns);

/*
 * Ends a gap: divides its time that no sample owns by its own samples of the same thread, if it has some and none is
 * missing, and hands its parts over.
 */
void idle_settle_gap(struct idle_charging *charging);

/*
 * Numbers the kinds of gaps: what a thread does in two gaps is alike if they lie between the same places and the longer
 * one is less than twice as long.
 */
uint32_t idle_like(struct idle *idle, const struct gpu_event *event, uint64_t ns);

/* A charge as first made, before unsampled time was shared out; index: in charges. */
struct idle_charge idle_charge_made(const struct idle *idle, size_t index);

/* Shares out the time that no sample owns, after all is charged (idle_resolve.c). */
void idle_resolve(struct idle *idle);

/* How long the launching thread ran and slept itself in these times, or did what is in no sample and no wait. */
uint64_t idle_own_ns(const struct idle *idle, uint32_t thread, const struct why_rests *rests);

/*
 * Charges what a thread ran and waited for in a part of a gap.  Returns how much of the part is not known; that is not
 * charged, but added to unknown.  own: what the thread did in any case, such as its DataLoader's next; NULL: not known.
 */
uint64_t idle_blame(struct idle_charging *charging, uint32_t thread, const struct tally_key *own,
		    const struct ran_span *span, struct why_rests *unknown);

/*
 * Charges a part in which a thread did what the key says, such as a collection or a call; but not the time in which it
 * had no CPU.  A call that waits for the GPU is no exception: the GPU is idle, so what keeps the thread is the CPU.
 */
void idle_blame_own(struct idle_charging *charging, uint32_t thread, struct tally_key key, const struct ran_span *span);
