/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF half, loaded and attached: which processes are traced, which files carry probes, and the ring
 * buffer.  attach/ decides what to probe and updates that while processes come and go; it does not
 * interpret what the probes record.  One thread makes all calls, the one that called attach_open: it is the guard's
 * parent (attach/load/guard.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/record.h>
#include <gputrace/schedule.h>

#include "attach/emit/emit.h"

struct attach;
struct selection;

enum attach_scope {
	ATTACH_PIDS,	 /* the given processes and the children they start */
	ATTACH_COMMAND,	 /* the same, and gputrace is the parent: a process may be held until its probes are in place */
	ATTACH_SELECTED, /* those of the machine's processes with CUDA that fit, and the children they start */
	ATTACH_ALL,	 /* every process of the machine */
};

enum attach_agent {
	ATTACH_AGENT_AUTO,
	ATTACH_AGENT_REQUIRE,
	ATTACH_AGENT_OFF,
};

/* How gputrace gets the events of processes. */
enum attach_way {
	ATTACH_WAY_BPF,	  /* by programs in the kernel: needs root */
	ATTACH_WAY_AGENT, /* by the agents alone, through memory that they share with gputrace: needs no privilege */
};

struct attach_options {
	enum attach_scope scope;
	const struct selection *selection; /* for ATTACH_SELECTED; the caller's, until attach_close */
	enum attach_way way;
	const char *share_name; /* for ATTACH_WAY_AGENT: the name by which agents find gputrace (shares_name) */
	uid_t uid;		/* for ATTACH_WAY_AGENT: the user of all recorded processes */
	enum attach_agent agent;
	const char *agent_path;	      /* libgputrace-agent.so, NULL: not found */
	const char *cupti;	      /* the libcupti that agents shall use, NULL: the one that fits the process */
	uint64_t sample_period_ns;    /* CPU time between two samples of a CPU; 0: no samples */
	uint64_t off_cpu_min_ns;      /* the shortest wait of a thread that is recorded; 0: no waits */
	bool activity_adapts;	      /* both change by themselves: with the GPU's gaps, and to keep their cost low */
	bool native;		      /* take native stacks too */
	bool python_calls;	      /* start and end of every Python call, where the interpreter allows it */
	unsigned activity_sets;	      /* what the agent records besides kernels: 1 << enum gpt_agent_activity_set */
	bool ops;		      /* PyTorch's ops too: every process with PyTorch gets the agent */
	bool shapes;		      /* and the arguments of each op (--shapes) */
	bool forward_lines;	      /* and the Python stacks of ops with an autograd number */
	bool torch_memory;	      /* allocations and frees of PyTorch's allocators */
	bool memory_lines;	      /* and the Python stack of each of these events */
	struct gpt_schedule schedule; /* which steps are recorded; active 0: everything is */
	size_t ring_bytes;	      /* power of two */
	uint64_t memory_limit;	      /* bytes of gputrace; 0: none */
	uint64_t cost_limit_ns;	      /* of a thread's second; 0: none. Not for ATTACH_WAY_AGENT */
};

/*
 * Loads the programs (nothing is probed yet). On failure returns -errno, and why[0..why_size) says in one line what is
 * missing and what to do about it.
 */
int attach_open(const struct attach_options *options, attach_emit emit, void *context, struct attach **out, char *why,
		size_t why_size);

/*
 * Starts to follow a process: its libraries are probed, its Python is examined, its children will be followed. -ESRCH:
 * no such process; -EPERM. The process may load a CUDA library or Python later.
 */
int attach_process(struct attach *attach, pid_t pid, char *why, size_t why_size);

/*
 * Probes what is known beforehand: for ATTACH_ALL every running process, for ATTACH_COMMAND the files that the command
 * is likely to load (agent, loader paths). Call once after attach_open (and attach_process).
 */
int attach_start(struct attach *attach, char *why, size_t why_size);

/*
 * Whether all is in place that attach_start has begun, to be asked between calls of attach_tick: the agents of
 * processes that run have begun, and probes that they replace are gone.  What takes too long is not waited for.
 */
bool attach_is_set_up(struct attach *attach, uint64_t now_ns);

/* How many followed processes wait for their agent. */
unsigned attach_unready(struct attach *attach);

/* Starts to count steps, if there is a schedule. Call once the recording begins; failure as for attach_start. */
int attach_begin_steps(struct attach *attach, char *why, size_t why_size);

/*
 * The BPF ring buffer map, for capture/. With ATTACH_WAY_AGENT it is -1 and attach_shares returns the shared memory,
 * else NULL.
 */
int attach_ring_fd(const struct attach *attach);
/* Incremented before each pass over the ring: what users sent before counts no more (bpf/common.bpf.h). NULL: no ring
 */
_Atomic uint32_t *attach_ring_passes(const struct attach *attach);
struct shares *attach_shares(const struct attach *attach);

/* Readable when attach_tick has something to do at once; -1: there is no such descriptor. */
int attach_wait_fd(const struct attach *attach);

/* Whether attach_notice needs this record. Looks at the record only: any thread may call it. */
bool attach_wants(const struct gpt_record *record);

/*
 * capture/ passes here every record that attach_wants, in order, after it has written it to the log; later records may
 * be in the log already. Probes are updated accordingly.
 */
void attach_notice(struct attach *attach, const struct gpt_record *record);

/* `count` records were not passed, as there were too many to be kept. All processes are looked at again instead. */
void attach_missed(struct attach *attach, uint64_t count);
/* So many batches of agents that it wants. */
void attach_missed_batches(struct attach *attach, uint64_t count);

/* So many ns of GPUs' gaps were seen in all that are shorter than two samples' usual distance (capture/gaps.h). */
void attach_report_gaps(struct attach *attach, uint64_t short_ns);

/*
 * Whether nothing has to be done soon: no agent is about to come in, and of processes nothing was reported for some
 * seconds.  attach_tick may then be called less often.
 */
bool attach_is_calm(const struct attach *attach, uint64_t now_ns);

/* The most bytes of the ring buffer that were full since the last call, of its size. Without BPF of any agent's ring.
 */
void attach_report_ring(struct attach *attach, uint64_t fill, uint64_t bytes);

/*
 * Does work that is due at some time (a mapping not there yet, a reconciliation). Call at least every 50 ms, and at the
 * time it returns (CLOCK_MONOTONIC ns, UINT64_MAX: no particular time). heard_ns: all records that were in the queue at
 * that time have been noticed.
 */
uint64_t attach_tick(struct attach *attach, uint64_t now_ns, uint64_t heard_ns);

/* The number of live followed processes; for ATTACH_PIDS and ATTACH_COMMAND zero means the trace is over. */
unsigned attach_live_processes(const struct attach *attach);

/* The pid of one of them, 0: none lives. */
pid_t attach_first_process(const struct attach *attach);

/* Those of them that have PyTorch, up to `most`; returns how many there are. */
size_t attach_torch_processes(const struct attach *attach, pid_t *pids, size_t most);

/* The number of probe sites in all files, in place or replaced by agents; 0: nothing that launches was found (yet). */
unsigned attach_site_count(const struct attach *attach);

/* A named process that maps libcudart, and not the driver's libcuda: the agent alone sees nothing of it yet. 0: none.
 */
pid_t attach_without_driver(const struct attach *attach);

/* Without BPF: a named process that the agent could not enter, so that nothing saw its calls, and why. 0: none. */
pid_t attach_unentered(const struct attach *attach, const char **why);

/*
 * The result of attach_options.python_calls: 1 calls of some followed process were traced, -ENOTSUP there were Pythons
 * but none whose calls can be traced (why[] is the path of one), 0 no Python was met (yet).
 */
int attach_python_calls(const struct attach *attach, char *why, size_t why_size);

/* Whether all processes that make steps have recorded all cycles of the schedule. */
bool attach_schedule_is_over(const struct attach *attach);

/* How many of its cycles all processes that make steps have completed. */
uint32_t attach_cycles_over(const struct attach *attach);

/* Sum over CPUs of each enum gpt_counter. */
void attach_counters(const struct attach *attach, uint64_t counters[GPT_COUNTER_COUNT]);

/*
 * What BPF programs took of the traced programs so far, with the way into them as far as it is known.  False: not
 * known, as there are none, or not yet.
 */
bool attach_cost(struct attach *attach, uint64_t *ns);

/*
 * Detaches every probe. First stops the agents by removing their listener, and waits up to timeout_ms for their last
 * batches. Calls `drain` meanwhile: it must return only after all records now in the ring buffer have been noticed.
 */
void attach_stop(struct attach *attach, unsigned timeout_ms, void (*drain)(void *), void *drain_context);

void attach_close(struct attach *attach);
