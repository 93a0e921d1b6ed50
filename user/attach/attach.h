/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF half, loaded and attached: which processes are traced, which files carry probes, and the ring
 * buffer.  attach/ decides what to probe and keeps it right while processes come and go; it does not
 * interpret what the probes record.  All of it is called by one thread, the one that called attach_open: the guard's
 * parent (attach/load/guard.h).
 */
#ifndef GPUTRACE_ATTACH_ATTACH_H
#define GPUTRACE_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/record.h>
#include <gputrace/schedule.h>

#include "attach/emit.h"

struct attach;

enum attach_scope {
	ATTACH_PIDS,	/* the given processes and the children they start */
	ATTACH_COMMAND, /* the same, and we are the parent: a process may be held until its probes are in place */
	ATTACH_ALL,	/* every process of the machine */
};

enum attach_agent {
	ATTACH_AGENT_AUTO,
	ATTACH_AGENT_REQUIRE,
	ATTACH_AGENT_OFF,
};

/* How what happens in processes comes to gputrace. */
enum attach_way {
	ATTACH_WAY_BPF,	  /* by programs in the kernel: root's */
	ATTACH_WAY_AGENT, /* by the agents alone, through memory that they share with gputrace: needs no right at all */
};

struct attach_options {
	enum attach_scope scope;
	enum attach_way way;
	const char *share_name; /* of ATTACH_WAY_AGENT: by which agents find gputrace (shares_name) */
	uid_t uid;		/* the same: of all processes that are recorded */
	enum attach_agent agent;
	const char *agent_path;	      /* libgputrace-agent.so, NULL: not found */
	const char *cupti;	      /* the libcupti that agents shall use, NULL: what fits the process */
	uint64_t sample_period_ns;    /* of CPU time between two samples of a CPU; 0: none are taken */
	uint64_t off_cpu_min_ns;      /* the shortest wait of a thread that is recorded; 0: none is */
	bool native;		      /* take native stacks too */
	bool python_calls;	      /* entry and end of every Python call, where the interpreter allows it */
	unsigned activity_sets;	      /* of the agent besides kernels: 1 << enum gpt_agent_activity_set */
	bool ops;		      /* PyTorch's ops too: the agent comes into every process that has PyTorch */
	bool shapes;		      /* and what they are called with */
	bool forward_lines;	      /* and the Python stacks of those that have an autograd number */
	bool torch_memory;	      /* what its allocators hand out and take back */
	bool memory_lines;	      /* and the Python stack of each of these events */
	struct gpt_schedule schedule; /* of the steps that are recorded; active 0: everything is */
	size_t ring_bytes;	      /* power of two */
};

/*
 * Loads the programs (nothing is probed yet).  On failure -errno, and why[0..why_size) says what is missing and
 * what to do about it in one line.
 */
int attach_open(const struct attach_options *options, attach_emit emit, void *context, struct attach **out, char *why,
		size_t why_size);

/*
 * Starts to follow a process: its libraries are probed, its Python is examined, its children will be followed.
 * -ESRCH: no such process; -EPERM.  A process without any CUDA library or Python is fine: both may come later.
 */
int attach_process(struct attach *attach, pid_t pid, char *why, size_t why_size);

/* Probes what is known beforehand: for ATTACH_ALL every process now running, for ATTACH_COMMAND the files that
 * the command is likely to load (agent, loader paths).  Call once after attach_open (and attach_process). */
int attach_start(struct attach *attach, char *why, size_t why_size);

/* With a schedule: steps are counted from now on.  Once the recording begins; on failure as attach_start. */
int attach_begin_steps(struct attach *attach, char *why, size_t why_size);

/* The BPF ring buffer map, for capture/; -1 where agents share memory: attach_shares, else NULL. */
int attach_ring_fd(const struct attach *attach);
struct shares *attach_shares(const struct attach *attach);

/* Readable when attach_tick has something to do at once; -1: nothing is. */
int attach_wait_fd(const struct attach *attach);

/* Whether attach_notice has to hear of a record. Looks at nothing else: any thread may call it. */
bool attach_wants(const struct gpt_record *record);

/*
 * capture/ hands every record that attach_wants here, in order, when it is in the log already; later ones may be, too.
 * Probes follow what they say.
 */
void attach_notice(struct attach *attach, const struct gpt_record *record);

/* That many were not handed over: there were too many to be kept. Everything is looked at again instead. */
void attach_missed(struct attach *attach, uint64_t count);

/*
 * Work that waits for time to pass (a mapping not there yet, a reconciliation); call at least every 50 ms, and at
 * the time it returns (CLOCK_MONOTONIC ns, UINT64_MAX: at none in particular).  heard_ns: all records that were in the
 * queue then have been noticed.
 */
uint64_t attach_tick(struct attach *attach, uint64_t now_ns, uint64_t heard_ns);

/* Live processes being followed; for ATTACH_PIDS and ATTACH_COMMAND zero means the trace is over. */
unsigned attach_live_processes(const struct attach *attach);

/* The pid of one of them, 0: none lives. */
pid_t attach_first_process(const struct attach *attach);

/* Probe sites in place over all files; 0 means nothing that launches was found (yet). */
unsigned attach_site_count(const struct attach *attach);

/*
 * Of attach_options.python_calls: 1 some followed process had its calls traced, -ENOTSUP there were Pythons but of none
 * the calls can be traced (why[] names one and says why), 0 no Python was met (yet).
 */
int attach_python_calls(const struct attach *attach, char *why, size_t why_size);

/* Whether all that make steps have recorded all cycles of the schedule. */
bool attach_schedule_is_over(const struct attach *attach);

/* How many of its cycles all that make steps have after them. */
uint32_t attach_cycles_over(const struct attach *attach);

/* Sum over CPUs of each enum gpt_counter. */
void attach_counters(const struct attach *attach, uint64_t counters[GPT_COUNTER_COUNT]);

/*
 * Detaches every probe.  First stops the agents by taking their listener away and waits up to timeout_ms for
 * their last batches; `drain` is called meanwhile: what is in the ring buffer then must be noticed when it returns.
 */
void attach_stop(struct attach *attach, unsigned timeout_ms, void (*drain)(void *), void *drain_context);

void attach_close(struct attach *attach);

#endif
