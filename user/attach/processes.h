/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes being followed: what each has mapped, its Python, whether its agent speaks.  Writes the BPF map of
 * processes; uses files/ for probes.
 */
#ifndef GPUTRACE_PROCESSES_H
#define GPUTRACE_PROCESSES_H

#include "attach/files.h"
#include "attach/neighbours.h"
#include "attach/ride.h"

/* How far the agent is on its way into the process (agents.c). */
struct agent_entry {
	enum {
		ENTRY_WAITING,
		ENTRY_ASKED, /* loaded or woken; what follows it says itself */
		ENTRY_REFUSED,
	} state;
	unsigned tries;
	uint64_t next_ns, asked_ns;
	char why[192]; /* refused */
};

struct followed {
	pid_t pid;
	bool ours;	    /* started by us */
	bool forked;	    /* was seen to begin as a copy, and has executed nothing since */
	bool agent_live;    /* it is at work, as last seen in the BPF map */
	bool agent_calls;   /* it reports the calls of the process: no symbol probes are needed */
	bool agent_stopped; /* its last HELLO said so */
	bool has_python;
	bool told;		/* its GPT_PROCESS record was written */
	bool python_told;	/* an interpreter that cannot be walked was reported */
	uint64_t look_again_ns; /* 0: nothing to wait for */
	unsigned looks;
	uint64_t unfit_since_ns; /* first look at an interpreter whose memory makes no sense (yet), 0: none */
	struct agent_entry entry;
	struct neighbour neighbour;
	struct ride ride;
	uint64_t called_ns; /* the first time that it was seen to call CUDA, 0 not yet */
	bool agent_older;   /* its agent was there when we first looked */
	struct links anew;  /* raised until an agent that was there before us has spoken */
	ARRAY(struct probed_file *) files;
};

struct processes {
	struct files *files;
	attach_emit emit;
	void *emit_context;
	ARRAY(struct followed *) list;
	bool probe_later; /* processes_examine only looks: many processes are known before the first is probed */
};

struct followed *processes_find(struct processes *processes, pid_t pid);

/* Begins to follow; `inherited`: the BPF side has made the map entry already (fork). NULL: no room or no process. */
struct followed *processes_add(struct processes *processes, pid_t pid, bool ours, bool inherited);
void processes_remove(struct processes *processes, pid_t pid);

/* Looks at what the process has mapped now: probes files, finds its Python, tells the log. -errno */
int processes_examine(struct processes *processes, struct followed *process);

/* Ends probe_later and probes what was found meanwhile. */
void processes_probe_all(struct processes *processes);

/* The process runs another program now. */
void processes_forget_program(struct processes *processes, struct followed *process);

/* Reads from the BPF map whether the agent of the process is at work and reports its calls; true when that changed. */
bool processes_update_agent(struct processes *processes, struct followed *process);

void processes_close(struct processes *processes);

#endif
