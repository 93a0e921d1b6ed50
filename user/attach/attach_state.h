/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What attach.c and notice.c share, and no one else. */
#ifndef GPUTRACE_ATTACH_ATTACH_STATE_H
#define GPUTRACE_ATTACH_ATTACH_STATE_H

#include "attach/agents.h"
#include "attach/attach.h"
#include "attach/generated_files.h"
#include "attach/hold.h"
#include "attach/probes/files.h"
#include "attach/processes.h"
#include "attach/share/shares.h"
#include "attach/symbols.h"

#define LOOKS_SHARE 20 /* looking at all takes one part of the time in this many at most */

struct attach {
	bool schedule_over; /* of some process, which may be gone */
	struct attach_options options;
	struct programs programs;
	struct shares *shares; /* of ATTACH_WAY_AGENT, else NULL */
	char *join;	       /* what agents are asked that are let into a process then: GPUTRACE_AGENT_START */
	struct files files;
	struct processes processes;
	struct agents agents;
	struct foreign_reader foreign_reader;
	struct symbols *symbols;
	struct generated_files *generated;
	struct links lifecycle;
	struct links activity;	   /* samples and waits of threads */
	struct probed_file *agent; /* our own library, probed before anyone has loaded it */
	attach_emit emit;
	void *emit_context;
	struct holder *holder;	  /* NULL: no one is held */
	ARRAY(struct hold) holds; /* that did not stop at once */
	uint64_t missed;	  /* records that never came here */
	uint64_t changes_missed;  /* starts, ends and mappings that the kernel did not report, as last looked */
	uint64_t all_looked_ns;	  /* when all were last looked at for that ... */
	uint64_t all_looks_ns;	  /* ... and how long it takes */
	uint64_t found_late;	  /* processes, and files with calls in them, that were only found then */
	uint64_t unseen;	  /* processes whose calls no one has seen for a while */
	bool reconcile;		  /* what is wanted may have changed */
	uint64_t heard_ns;	  /* as attach_tick says */
	uint64_t agents_checked_ns;
	uint64_t titles_checked_ns;
};

/* The agent's file in a process; the one that it will load, when it has not yet. */
const struct probed_file *attach_process_agent(const struct attach *attach, const struct followed *process);

/* Looks whether those that were to stop have; true while some have not. */
bool attach_answer_holds(struct attach *attach);

/* Looks at what the process has mapped, and notes what may have been missed of it. */
void attach_examine_mapped(struct attach *attach, struct followed *process);

/* Before the probes go: looks at all where the kernel has not reported every start, end and mapping since the last
 * look. */
void attach_look_after_last_misses(struct attach *attach);

/* What may be missing of the process since it mapped a library, if that was not said. */
void attach_report_late(struct attach *attach, struct followed *process);

/* ATTACH_WAY_AGENT (by_agents.c): what its functions do there. */
int by_agents_open(struct attach *attach, char *why, size_t why_size);
int by_agents_start(struct attach *attach, char *why, size_t why_size);
uint64_t by_agents_tick(struct attach *attach, uint64_t now_ns);
void by_agents_stop(struct attach *attach, uint64_t end_ns, void (*drain)(void *), void *drain_context);

#endif
