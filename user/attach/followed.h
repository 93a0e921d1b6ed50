/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A followed process, and the list of them: what is known of each.  Who changes what stands beside it. */
#ifndef GPUTRACE_ATTACH_FOLLOWED_H
#define GPUTRACE_ATTACH_FOLLOWED_H

#include "attach/clients/cupti_client.h"
#include "attach/clients/foreign_buffers.h"
#include "attach/clients/kineto_session.h"
#include "attach/emit.h"
#include "attach/hold.h"
#include "attach/inject/entering.h"
#include "attach/probes/files.h"
#include "base/user_budget.h"

/* How far the agent is on its way into the process (agents.c). */
struct agent_entry {
	enum {
		ENTRY_WAITING,
		ENTRY_ENTERING, /* a thread is at it: `entering` */
		ENTRY_ASKED,	/* loaded or woken; what follows it says itself */
		ENTRY_DRIVER,	/* the driver is to load it when the process starts CUDA */
		ENTRY_REFUSED,
	} state;
	bool driver_fails;  /* the process has called CUDA, and the driver had not loaded it */
	bool asked_for_ops; /* the latest try did */
	struct entering *entering;
	unsigned tries;
	uint64_t next_ns, asked_ns;
	uint64_t unused_ns;   /* since when CUPTI was seen not to be used by torch.profiler; 0 not looked, or it is */
	uint64_t left_out_ns; /* since when: forks.h; 0 it is not */
	bool no_right;	      /* refused, as the kernel lets no one enter it */
	char why[192];	      /* refused */
	char last_why[192];   /* waiting: what kept it out the last time */
};

struct followed {
	pid_t pid;
	int pidfd;	      /* says when the process is over, even if its pid is reused; -1: not to be had */
	uint64_t start_ticks; /* as process_start_ticks */
	uid_t uid;	      /* the real one, as last seen */
	uint64_t program;     /* gpt_process_state.program of what was examined last, 0 nothing */
	unsigned looks_over;  /* how often it was seen to be over */
	bool ours;	      /* started by us */
	bool brought;	      /* the driver brings the agent: ours, and not seen to lack it in its environment */
	bool named;	      /* by the user, or the command itself */
	bool forked;	      /* began as a copy, and has executed nothing since */
	struct {
		pid_t of;      /* who forked it */
		bool seen;     /* by us */
		bool cuda_up;  /* there, at that time: known where it was seen */
		bool observed; /* and its ops of PyTorch were taken, which they are not here */
		uint64_t ns;   /* when it was noticed; 0: the log has a note that its ops are not seen */
		bool unsaid;   /* left out, which matters once it calls CUDA: entry.last_why */
	} fork;		       /* of a forked one: forks.h */
	bool forks_said, forks_without_ops_said; /* of those that it has forked: one note is for all */
	bool has_schedule;	  /* its agent counts steps for us: those reported before were another trace's */
	bool makes_steps;	  /* it has reported one */
	bool schedule_over;	  /* the last cycle of the schedule is after it */
	uint32_t cycle;		  /* from 1, in whose active steps it is, 0: in none */
	uint32_t cycles_over;	  /* the latest that is after it */
	bool agent_live;	  /* it is at work, as last seen in the BPF map */
	bool agent_calls;	  /* it reports the calls of the process: no symbol probes are needed */
	bool agent_stopped;	  /* its last HELLO said so */
	bool agent_heard;	  /* it has sent something */
	bool agent_joined;	  /* without BPF: it has come together with gputrace */
	unsigned hidden_runtimes; /* files with a CUDA runtime linked in without names */
	char hidden_runtime[64];  /* one of them */
	bool ops_live;		  /* it waits for ops of PyTorch, or observes them */
	bool has_python;
	bool deaths_seen;	/* the end of its code objects is */
	bool written;		/* its GPT_PROCESS record was written */
	uint64_t title;		/* a hash of the command line in the latest of them */
	bool python_reported;	/* an interpreter that cannot be walked was reported */
	uint64_t look_again_ns; /* 0: nothing to wait for */
	uint64_t entered_ns;	/* when the BPF side came to know it by us; 0: it knew before */
	bool mapping_missed;	/* perhaps: the next look is for that */
	unsigned found_late;	/* itself, and files with calls in it, as the kernel did not report them */
	unsigned looks;
	unsigned early_looks;	 /* of processes_look: how many more at once ... */
	uint64_t looked_ns;	 /* ... and since when they come back */
	uint64_t look_cost_ns;	 /* how long the last look took */
	uint64_t unfit_since_ns; /* first look at an interpreter whose memory makes no sense (yet), 0: none */
	struct agent_entry entry;
	struct cupti_client cupti_client;
	struct foreign_buffers foreign_buffers;
	struct hold mapped;	      /* the library that it has mapped last */
	enum hold_state mapped_state; /* and whether it was held for that */
	struct {
		uint64_t ns; /* for how long a library was mapped before its probes were in place; 0: none was */
		char name[64];
		bool refused;	    /* and it could not be held: another tracer has it */
	} late;			    /* of the longest, until the log has it */
	uint64_t called_ns;	    /* the first time that it was seen to call CUDA, 0 not yet */
	bool agent_older;	    /* its agent was there when we first looked */
	struct links restart_links; /* raised until an agent that was there before us has spoken */
	bool agent_gives_up;	    /* another is about to have CUPTI's callbacks: it waits for probes on calls */
	struct links calls_links;   /* raised once these are in place */
	struct {
		uint32_t number;   /* shares_given_way */
		uint64_t since_ns; /* when that was first seen */
		bool recorded;	   /* torch.profiler was seen to record since */
		uint64_t over_ns;  /* since when it was seen not to any more, 0: it was not */
	} gave_way;		   /* without BPF: of its agent, which has made way for another profiler */
	struct kineto_place kineto;
	bool calls_unseen; /* no one reports its calls, and a note says so */
	ARRAY(struct probed_file *) files;
};

struct processes {
	struct shares *shares; /* of agents without BPF, NULL: what happens comes from BPF */
	struct files *files;
	struct probed_file *agent; /* that processes will get; NULL: none */
	attach_emit emit;
	void *emit_context;
	ARRAY(struct followed *) list;
	bool probe_later; /* processes_examine only looks: many processes are known before the first is probed */
	uint64_t refused; /* how many could not be followed: the BPF side's table, or the part of it for one user, is
			     full */
	uint64_t silent;  /* how many did not answer */
	bool fair;	  /* processes of users who do not know of the trace: none of them takes what others need */
	struct user_budget time;    /* that looking at each user's has taken */
	struct user_counts crowded; /* users of whom the log knows that they have too many */
};

struct followed *processes_find(struct processes *processes, pid_t pid);

/* Whether it has mapped a file of that kind, as was seen last. */
bool followed_maps(const struct followed *process, enum library_kind kind);

#endif
