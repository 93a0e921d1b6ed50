/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What makes a flight recorder write by itself, seen in records while they come: a GPU to which a process gave no work
 * for long, a step of training that took long, memory of PyTorch's that ran out, code that was compiled or loaded, a
 * rank that came late to a collective, a process that hangs.  The drain's thread shows records, the first thread asks.
 * Only what has ended is known: a gap when the work after it was reported.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "capture/live_gaps.h"

/* Compilations that follow each other sooner are one, for at most TRIGGER_COMPILES_NS. */
#define TRIGGER_WAITS_NS LIVE_GAP_WAITS_NS
#define TRIGGER_COMPILES_NS (10 * TRIGGER_WAITS_NS)

#define TRIGGER_PLACE_MAX 256

struct trigger_options {
	uint64_t idle_ns;		   /* the shortest such gap that counts, 0: none does */
	uint64_t gap_ns;		   /* the shortest part of one that a line is to blame for, 0: none counts */
	char gap_place[TRIGGER_PLACE_MAX]; /* that line, as FILE:NUMBER; "": any */
	uint64_t late_ns;		   /* the shortest lateness of a rank that counts, 0: none does */
	uint64_t hang_ns;		   /* how long a process has hung, 0: none counts */
	uint64_t step_ns;		   /* the shortest step that counts, 0: none does */
	unsigned step_percent;		   /* and of the median of the steps before it, 0: none */
	bool counts_steps;		   /* for trigger_steps */
	bool oom;
	bool compile;
	bool xid;	    /* an error of a GPU by NVML, which is not seen here */
	uint64_t before_ns; /* how much the file has of before it began, 0: as much as is kept */
	uint64_t after_ns;  /* and of after it had ended */
	unsigned hourly;    /* the most files an hour */
};

#define TRIGGER_HOURLY 10u
#define TRIGGER_HOURLY_MOST 60u

static inline bool trigger_wants_steps(const struct trigger_options *options)
{
	return options->step_ns || options->step_percent;
}

/* Whether records show one of those that are wanted. */
static inline bool trigger_sees(const struct trigger_options *options)
{
	return options->idle_ns || options->gap_ns || options->late_ns || options->hang_ns || options->oom ||
	       options->compile || trigger_wants_steps(options);
}

static inline bool trigger_is_wanted(const struct trigger_options *options)
{
	return trigger_sees(options) || options->xid;
}

struct trigger;

/* Steps of training that were seen to end, of all threads. */
#define TRIGGER_STEPS_KEPT 1024u
struct trigger_steps {
	uint64_t count, sum_ns;
	uint64_t ns[TRIGGER_STEPS_KEPT]; /* of the latest ones, in any order: count, at most so many */
};

struct trigger *trigger_new(const struct trigger_options *options);
void trigger_free(struct trigger *trigger); /* NULL is allowed */

/* Whether that record can matter. */
bool trigger_wants(const struct trigger *trigger, const struct gpt_record *record);

/* Any record. */
void trigger_see(struct trigger *trigger, const struct gpt_record *record, uint64_t now_ns);

/* With trigger_options.counts_steps: whether there are more than `steps` has; fills it then.  It begins zeroed. */
bool trigger_steps(struct trigger *trigger, struct trigger_steps *steps);

#define TRIGGER_WHY_MAX 96

struct trigger_event {
	enum {
		TRIGGER_HAPPENED,
		TRIGGER_GAP, /* a gap that counts if a line is to blame for it, which records do not say */
		TRIGGER_HANG,
	} kind;
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC; not after now, whatever a process says */
	char why[TRIGGER_WHY_MAX];
};

/* Whether something has happened that was not taken yet. */
bool trigger_take(struct trigger *trigger, uint64_t now_ns, struct trigger_event *event);

/* The processes with GPU work of which a hang was asked for: at most `most`; returns how many. */
unsigned trigger_processes(struct trigger *trigger, uint32_t *pids, unsigned most);

/* What was asked for and was never there: steps; collectives that ranks could be compared at.  NULL: nothing is. */
const char *trigger_lacks(struct trigger *trigger);
