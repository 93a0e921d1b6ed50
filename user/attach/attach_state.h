/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to activity.c, attach.c, by_agents.c, detail.c, ending.c, newcomers.c, notice.c, set_up.c and tick.c. */
#pragma once

#include "attach/clients/cupti_uses.h"
#include "attach/activity.h"
#include "attach/agents.h"
#include "attach/attach.h"
#include "attach/awaits.h"
#include "attach/detail.h"
#include "attach/load/calibrate.h"
#include "attach/emit/generated_files.h"
#include "attach/stopper.h"
#include "attach/probes/files.h"
#include "attach/processes.h"
#include "attach/share/shares.h"
#include "attach/emit/symbols.h"

#define LOOKS_SHARE 20 /* looking at all processes takes at most one part in this many of the time */

/* A process with CUDA that is not among those to be traced, as last seen. */
struct passed_process {
	pid_t pid;
	uint64_t start_ticks; /* as process_start_ticks */
};

struct attach {
	bool schedule_over; /* in some process, which may be gone */
	struct attach_options options;
	struct programs programs;
	struct shares *shares; /* for ATTACH_WAY_AGENT, else NULL */
	char *join;	       /* the request (GPUTRACE_AGENT_START) to agents that are let into a process */
	struct files files;
	struct processes processes;
	struct agents agents;
	struct foreign_reader foreign_reader;
	struct symbols *symbols;
	struct generated_files *generated;
	struct links lifecycle;
	struct activity activity;  /* samples and waits of threads */
	struct detail detail;	   /* how much of all is recorded */
	struct probed_file *agent; /* gputrace's own library, probed before any process has loaded it */
	attach_emit emit;
	void *emit_context;
	struct calibration calibration;
	struct awaits *awaits;	  /* NULL: no waits are recorded */
	struct stopper *stopper;  /* NULL: no process is held */
	ARRAY(struct stop) stops; /* threads that did not stop at once */
	ARRAY(struct passed_process) passed;
	uint64_t passed_checked_ns;
	uint64_t passed_lost; /* for which there was no room */
	struct cupti_uses cupti_uses;
	bool ending;		 /* the recording is over: agents leave, or go on for another gputrace */
	uint64_t missed;	 /* records that attach_notice did not get */
	uint64_t batches_missed; /* the same of batches of agents */
	uint64_t changes_missed; /* starts, ends and mappings that the kernel did not report, as last read */
	uint64_t all_looked_ns;	 /* when all processes were last looked at for that ... */
	uint64_t all_looks_ns;	 /* ... and how long that takes */
	uint64_t found_late;	 /* processes, and files with calls, that were only found by such a look */
	uint64_t unseen;	 /* processes whose calls have not been reported for a while */
	bool reconcile;		 /* which probes are wanted may have changed */
	uint64_t changed_ns;	 /* when something was last reported for which more has to be done soon */
	uint64_t heard_ns;	 /* as for attach_tick */
	uint64_t agents_checked_ns;
	unsigned agents_pending; /* of agents_tick */
	unsigned agents_steps;	 /* set_up.c: how far they are ... */
	uint64_t agents_step_ns; /* ... since when */
	uint64_t set_up_ns;	 /* since when agents are let in */
	uint64_t titles_checked_ns;
};

/*
 * Follows a process that the user has not named and that has CUDA loaded, if it is one to be traced (newcomers.c);
 * NULL: it is not, or it cannot be followed.
 */
struct followed *attach_newcomer(struct attach *attach, pid_t pid);

/* Looks for them among all processes of the machine, and examines them. */
void attach_find_newcomers(struct attach *attach);

/* Looks again, each second, at those that were not to be traced. */
void attach_check_passed(struct attach *attach, uint64_t now_ns);

/* The agent's file in a process, or the one that it will load. */
const struct probed_file *attach_process_agent(const struct attach *attach, const struct followed *process);

/* Checks which threads in `holds` have stopped; true while some have not. */
bool attach_answer_stops(struct attach *attach);

/* Takes the uses of CUPTI that waited for time; all: also those of users who have none left. */
void attach_take_cupti_uses(struct attach *attach, bool all);

/* Looks at what the process has mapped, and notes what may have been missed in it. */
void attach_examine_mapped(struct attach *attach, struct followed *process);

/*
 * Called before the probes are detached: looks at all processes if the kernel has not reported every start, end and
 * mapping since the last look.
 */
void attach_look_after_last_misses(struct attach *attach);

/* Reports, once, what may be missing of the process since it mapped a library. */
void attach_report_late(struct attach *attach, struct followed *process);

/* The same functions for ATTACH_WAY_AGENT (by_agents.c). */
int by_agents_open(struct attach *attach, char *why, size_t why_size);
int by_agents_start(struct attach *attach, char *why, size_t why_size);
uint64_t by_agents_tick(struct attach *attach, uint64_t now_ns);
void by_agents_stop(struct attach *attach, uint64_t end_ns, void (*drain)(void *), void *drain_context);
