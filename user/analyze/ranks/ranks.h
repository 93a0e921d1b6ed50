/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logs of several ranks of one job on one clock: which ranks are in them, how the clocks of their machines relate
 * (clock_fit.h), and which rank was late to which collective (collective_arrivals.h).
 *
 * Logs of one boot of one machine share a clock.  Others are aligned with the first log's clock, one after the other,
 * always the one with most collectives in common with those already aligned.
 */
#pragma once

#include "analyze/breakdown/breakdown.h"
#include "analyze/ranks/clock_fit.h"
#include "analyze/ranks/collective_arrivals.h"
#include "analyze/ranks/rank_onset.h"
#include "analyze/ranks/rank_work.h"

/* The facts of a log. */
struct rank_log {
	const char *name;  /* its file */
	char *host, *boot; /* boot: "" if not known */
	uint64_t start_ns, end_ns;
	uint64_t set_up_at_ns;	 /* when its gputrace began to set up; 0: not known */
	uint32_t processes;	 /* number in the model */
	int64_t wall_offset_ns;	 /* CLOCK_REALTIME = its time + this */
	uint64_t wall_error_ns;	 /* at the start, as model_began; UINT64_MAX: not known, or nothing keeps it right */
	int64_t slept_ns;	 /* CLOCK_BOOTTIME = its time + this */
	bool of_other_tool;	 /* model_is_of_other_tool */
	bool is_cut;		 /* its end is missing */
	uint64_t clock_steps;	 /* how often the wall clock was set meanwhile */
	uint64_t clock_error_ns; /* of its GPU times */
	struct collective_arrivals arrivals;
	ARRAY(struct breakdown_row) breakdown; /* its processes on their GPUs */
	uint64_t timed_ns;		       /* the part of the recording with GPU times */
	ARRAY(struct rank_work) work;	       /* of its ranks */
	size_t clock;			       /* ranks.clocks */
};

/* How a clock was aligned with the clock of the first log. */
enum rank_clock_kind {
	RANK_CLOCK_FIRST, /* it is that clock */
	RANK_CLOCK_FITTED,
	RANK_CLOCK_WALL, /* by both wall clocks, on request: nothing else is known */
};

/* The clock of a machine, for one boot. */
struct rank_clock {
	enum rank_clock_kind kind;
	size_t log;	      /* the first log with this clock */
	struct clock_fit fit; /* to the clock of the first log; for WALL only the line is set */
	bool is_placed;
	double wall_ahead_ns; /* its wall clock's distance from the first one's, by FITTED; 0: not too far */
};

/* A rank; rows are in the order of ranks, those without a number last. */
struct rank_row {
	size_t log;
	const struct arriving_rank *of;
	uint64_t compared;		 /* collectives that another rank was seen in, too */
	uint64_t late, late_ns, most_ns; /* how often last, beyond the clocks' error; time after the median rank */
	uint64_t waited_ns;		 /* for the last rank */
	struct lateness_list lates;	 /* when it launched those that it was late to, on its own clock */
	struct rank_onset onset;	 /* since when it is later than before */
	bool is_apart; /* it has collectives, and none that the first rank has, nor by ranks between them */
};

/* The times that one rank was late at one place. */
struct late_row {
	size_t rank;	     /* ranks.rows */
	uint32_t name, line; /* texts of its log */
	uint64_t count, ns, most_ns;
	/* of the time that it was latest */
	uint64_t paused_ns;
	uint32_t pause_from, pause_to;
};

struct ranks {
	ARRAY(struct rank_log) logs;
	ARRAY(struct rank_clock) clocks;
	ARRAY(struct rank_row) rows;
	ARRAY(struct late_row) late; /* most time first */
	int64_t world;		     /* size of the job, 0: there is no rank */
	uint64_t arrivals, compared; /* collectives; those with more than one rank */
	uint64_t compared_from_ns;   /* first arrival at those, on the clock of the first log */
	uint64_t begin_ns;	     /* earliest start of all logs, on the clock of the first */
};

/* Adds a log; takes over arrivals.  Copies strings, except name. */
void ranks_add_log(struct ranks *ranks, const char *name, const struct model *last,
		   struct collective_arrivals *arrivals);

/* Keeps what the processes of the log added last did on their GPUs. */
void ranks_add_breakdown(struct ranks *ranks, const struct breakdown *breakdown, uint64_t timed_ns);

/* Keeps what the ranks of the log added last did step by step.  all: with PER_STEP and WHY. */
void ranks_add_work(struct ranks *ranks, struct analyses *all, const struct steps *steps);

/* NULL: it is not known. */
const struct rank_work *rank_work_of(const struct ranks *ranks, const struct rank_row *row);

/* What a rank did on all its GPUs; *gpus: how many these are, each of which has the log's timed_ns. */
struct breakdown_sums rank_breakdown(const struct ranks *ranks, const struct rank_row *row, uint32_t *gpus);

/*
 * Puts all logs on one clock.  Returns NULL, or why they do not belong together, which the caller frees.  by_wall: logs
 * without collectives in common are accepted, by their wall clocks, and so are wall clocks that are far apart.
 */
char *ranks_align(struct ranks *ranks, bool by_wall);

/*
 * To be called after ranks_align: finds the late ranks.  Returns NULL, or why they do not belong together, which the
 * caller frees: their collectives never ran at the same time.
 */
char *ranks_compare(struct ranks *ranks);

/* The rank that was late by most time in all, NULL: none was. */
const struct rank_row *ranks_latest(const struct ranks *ranks);
void ranks_free(struct ranks *ranks);

/* From a log's clock to that of the first. */
static inline const struct clock_line *rank_log_clock(const struct ranks *ranks, size_t log)
{
	return &ranks->clocks.items[ranks->logs.items[log].clock].fit.line;
}

/* How far apart recordings began and ended, and how that is known: by the worst of the clocks' kinds. */
struct ranks_span {
	uint64_t begun_ns, ended_ns;
	enum { RANKS_SAME_BOOT, RANKS_BY_COLLECTIVES, RANKS_BY_WALL } by;
	uint64_t error_ns; /* UINT64_MAX: not known */
};

struct ranks_span ranks_span(const struct ranks *ranks);

/* When a log's recording began, on the clock of the first. */
uint64_t rank_log_begun(const struct ranks *ranks, size_t log);

/* What a log's clock was aligned by: "reference", "same boot", "collectives" or "wall clock". */
const char *rank_clock_word(const struct ranks *ranks, size_t log);

/* A text of a rank's log. */
static inline const char *rank_text(const struct ranks *ranks, size_t log, uint32_t text)
{
	return text == NONE ? "" : ranks->logs.items[log].arrivals.texts.list.items[text];
}

/* Whether GPUs of one process are ranks. */
bool ranks_have_gpus(const struct ranks *ranks);

/* The rank of a process of a log, the first one if its GPUs are ranks; -1: not known. */
int64_t rank_of_process(const struct ranks *ranks, size_t log, uint32_t process);
