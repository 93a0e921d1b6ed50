/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A followed process, and the list of them: what is known of each. Comments say which file changes what. */
#pragma once

#include "attach/clients/cupti_client.h"
#include "attach/clients/foreign_buffers.h"
#include "attach/clients/kineto_session.h"
#include "attach/emit/emit.h"
#include "attach/modules.h"
#include "attach/stopper.h"
#include "attach/inject/entering.h"
#include "attach/probes/files.h"
#include "base/user_budget.h"

/* Progress of letting the agent into the process (agents.c). */
struct agent_entry {
	enum {
		ENTRY_WAITING,
		ENTRY_ENTERING, /* a thread is injecting it: `entering` */
		ENTRY_ASKED,	/* loaded or woken; the agent reports the rest itself */
		ENTRY_DRIVER,	/* the driver will load it when the process starts CUDA */
		ENTRY_REFUSED,
	} state;
	bool driver_fails;  /* the process has called CUDA, and the driver had not loaded the agent */
	bool asked_for_ops; /* by the latest try */
	struct entering *entering;
	unsigned tries;
	uint64_t next_ns, asked_ns;
	uint64_t unused_ns;   /* since when torch.profiler was seen not to use CUPTI; 0: not checked, or it uses it */
	uint64_t left_out_ns; /* since when it is left out (forks.h); 0: it is not */
	bool no_right;	      /* refused, as the kernel does not let it be entered */
	char why[192];	      /* why it was refused */
	char last_why[192];   /* waiting: what prevented the last try */
};

struct followed {
	pid_t pid;
	int pidfd;	      /* reports the end of the process, even if its pid is reused; -1: none could be had */
	uint64_t start_ticks; /* as from process_start_ticks */
	uid_t uid;	      /* the real uid, as last seen */
	uint64_t program;     /* gpt_process_state.program of the image examined last, 0: none */
	unsigned looks_over;  /* how many looks found that it has ended */
	bool ours;	      /* started by gputrace */
	bool brought;	      /* the driver loads the agent: `ours`, and not seen to lack it in its environment */
	bool named;	      /* named by the user, or the command itself */
	bool forked;	      /* forked, and has not called exec since */
	struct {
		pid_t of;	/* the parent */
		bool seen;	/* gputrace saw the fork */
		bool cuda_up;	/* CUDA was up in the parent at that time; only known if seen */
		bool observed;	/* the parent's PyTorch ops were recorded; the child's are not */
		bool own_agent; /* its agent was loaded after the fork; else the parent's copy is mapped */
		uint64_t ns;	/* when the fork was noticed; 0: the log has a note that its ops are not seen */
		bool not_noted; /* left out without a note yet; one is due once it calls CUDA: entry.last_why */
	} fork;			/* if forked: forks.h */
	bool forks_said, forks_without_ops_said; /* about its forked children: one note covers all */
	bool has_schedule;	  /* its agent counts steps for gputrace: steps reported before were another trace's */
	bool makes_steps;	  /* it has reported a step */
	bool schedule_over;	  /* it has completed the last cycle of the schedule */
	uint32_t cycle;		  /* the cycle, from 1, in whose active steps it is; 0: none */
	uint32_t cycles_over;	  /* cycles completed */
	bool agent_live;	  /* its agent is at work, as last seen in the BPF map */
	bool agent_calls;	  /* the agent reports the calls of the process: no symbol probes are needed */
	bool agent_stopped;	  /* the agent's last HELLO said so */
	bool agent_began;	  /* its last HELLO was of a session that has not ended */
	bool agent_heard;	  /* the agent has sent something */
	bool agent_joined;	  /* without BPF: the agent has joined gputrace */
	unsigned hidden_runtimes; /* files with a statically linked CUDA runtime without symbols */
	char hidden_runtime[64];  /* the name of one of them */
	bool ops_heard;		  /* the agent has said whether it observes PyTorch's ops */
	bool ops_live;		  /* the agent waits for PyTorch's ops, or observes them */
	bool has_python;
	bool deaths_seen;	/* the deaths of its code objects are reported */
	bool written;		/* its GPT_PROCESS record was written */
	uint64_t title;		/* a hash of the command line in the latest of them */
	bool python_reported;	/* a note about an interpreter that cannot be walked was written */
	uint64_t look_again_ns; /* 0: nothing to wait for */
	uint64_t entered_ns;	/* when gputrace made its entry on the BPF side; 0: the BPF side had one before */
	bool mapping_missed;	/* a mapping may have been missed: the next look is for that */
	unsigned found_late;	/* found without a kernel report: the process itself, and files with calls in it */
	unsigned looks;
	unsigned early_looks;	 /* for processes_may_look: how many more are allowed at once ... */
	uint64_t looked_ns;	 /* ... and since when that number recovers */
	uint64_t look_cost_ns;	 /* how long the last look took */
	uint64_t unfit_since_ns; /* first look at an interpreter whose memory makes no sense (yet); 0: none */
	struct agent_entry entry;
	struct cupti_client cupti_client;
	struct foreign_buffers foreign_buffers;
	struct stop mapped;	      /* the library that it mapped last */
	enum stop_state mapped_state; /* and whether the process was held for it */
	struct {
		uint64_t ns; /* how long a library was mapped before its probes were in place; 0: no such library */
		char name[64];
		bool refused;	    /* the process could not be held: another tracer has it */
	} late;			    /* the longest such time, until it is in the log */
	uint64_t called_ns;	    /* when it was first seen to call CUDA; 0: not yet */
	bool agent_older;	    /* its agent was there when gputrace first looked */
	struct links restart_links; /* raised until an agent that was there before gputrace has reported */
	bool agent_gives_up; /* another client is about to get CUPTI's callbacks: the agent waits for call probes */
	struct links calls_links; /* raised once those probes are in place */
	struct {
		uint32_t number;   /* from shares_given_way */
		uint64_t since_ns; /* when that was first seen */
		bool recorded;	   /* torch.profiler was seen to record since then */
		uint64_t over_ns;  /* since when it was seen not to record any more; 0: not seen */
	} gave_way;		   /* without BPF: its agent has made way for another profiler */
	struct {
		const char *how;    /* as process_halted, when it last was; NULL: never, or reported */
		bool now;	    /* as of the latest look */
		uint64_t looked_ns; /* the latest look */
		uint64_t ns;	    /* between looks that found it halted */
	} halt;			    /* halts.c */
	struct kineto_place kineto;
	bool unentered;	   /* counted as GPT_COUNTER_PROCESSES_UNENTERED */
	bool calls_unseen; /* nothing reports its calls, and a note says so */
	ARRAY(struct probed_file *) files;
	struct {
		uint64_t from;	 /* address at which the next look at its files goes on; 0: at the first */
		unsigned hidden; /* files with a statically linked CUDA runtime seen so far */
		ARRAY(struct probed_file *) seen; /* what `files` will be after the last of these looks */
	} pass;
	struct gpt_python python;	 /* if has_python: as the walker knows it */
	struct process_modules *modules; /* modules.c; NULL: none so far */
};

struct processes {
	struct shares *shares; /* for agents without BPF; NULL: events come from BPF */
	struct files *files;
	struct probed_file *agent; /* the agent that processes will get; NULL: none */
	attach_emit emit;
	void *emit_context;
	ARRAY(struct followed *) list;
	bool probe_later; /* processes_examine attaches no probes: many processes are found before any is probed */
	uint64_t refused; /* how many could not be followed: the BPF side's table or a user's share of it was full */
	uint64_t silent;  /* how many processes did not answer */
	/* how many have CUDA and no agent, where only agents record */
	uint64_t unentered;
	pid_t unentered_named; /* the first of these that was named; 0: none */
	char unentered_why[192];
	bool fair;		 /* users do not know of the trace: no user's processes may use up what others need */
	struct user_budget time; /* time spent on looking at each user's processes */
	struct user_counts crowded; /* users with too many processes, of whom the log has a note */
};

struct followed *processes_find(struct processes *processes, pid_t pid);

/* Whether the process has mapped a file of that kind, as last seen. */
bool followed_maps(const struct followed *process, enum library_kind kind);
