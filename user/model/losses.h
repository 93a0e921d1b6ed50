/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts of events seen, joined and lost, in the model (model.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/losses.h>
#include <gputrace/values.h>

/* Losses of an agent, and what it took; losses.h names them. */
struct model_agent_losses {
#define MODEL_LOSS_MEMBER(member, ...) uint64_t member;
	GPT_AGENT_LOSSES(MODEL_LOSS_MEMBER)
	GPT_AGENT_NOTES(MODEL_LOSS_MEMBER)
	GPT_AGENT_COSTS(MODEL_LOSS_MEMBER)
#undef MODEL_LOSS_MEMBER
};

/* Why a record makes no sense: enumerator, name for programs, words after a count. */
#define GPT_BAD_REASONS(X)                                                                                             \
	X(BAD_TIME, "bad_time", "a time is missing or impossible")                                                     \
	X(BAD_OWNER, "bad_owner", "no process or thread is named")                                                     \
	X(BAD_VALUE, "bad_value", "a field is missing or impossible")                                                  \
	X(BAD_ROOM, "bad_room", "there are more of a kind than are kept")

enum bad_reason {
#define GPT_BAD_REASON(enumerator, ...) enumerator,
	GPT_BAD_REASONS(GPT_BAD_REASON)
#undef GPT_BAD_REASON
		BAD_REASONS
};

/* Counts of events seen, lost and joined: the basis of every "Complete" line. */
struct model_receipt {
	/* Up to early_max_ns: sums over events (join/receipt.c). */
	uint64_t calls;		      /* recorded, all classes */
	uint64_t launches;	      /* recorded calls of class LAUNCH or GRAPH that did not fail */
	uint64_t launches_failed;     /* calls of these classes that returned an error */
	uint64_t launches_captured;   /* of the launches: became nodes of a graph under capture */
	uint64_t launches_expected;   /* of the other launches: made while an agent recorded */
	uint64_t launches_joined;     /* of the expected: with at least one GPU operation */
	uint64_t launches_whole;      /* of the joined: with all GPU operations and stacks, see enum launch_fate */
	uint64_t launches_short;      /* of the joined: graph launches with missing operations */
	uint64_t launches_agent_away; /* should have GPU times; made before the agent recorded or after it left */
	uint64_t launches_no_agent;   /* should have GPU times; in processes where no agent ever recorded */
	uint64_t operations_missing;  /* calls that lack their GPU operations, plus nodes_missing */
	uint64_t stacks_missing;      /* calls whose stack was lost */
	uint64_t stacks_lowered;      /* calls whose stack was not recorded, as detail was lowered */
	uint64_t calls_with_stack;    /* any class */
	uint64_t launches_with_stack;
	uint64_t launches_with_line; /* of launches with a stack: the innermost frame has a line, as its line table was
				      * not too long */
	uint64_t gpu_ops, gpu_ops_joined, gpu_ops_untimed;
	uint64_t gpu_ops_before;       /* launched before the trace began: not joined, and not lost */
	uint64_t gpu_ops_migrated;     /* gpu_is_migration: no call launches them */
	uint64_t gpu_ops_foreign;      /* from buffers of another CUPTI client */
	uint64_t gpu_ns;	       /* sum of durations of all GPU operations */
	uint64_t gpu_ns_with_line;     /* of operations whose call's innermost frame has a line */
	uint64_t gpu_ns_with_function; /* of operations whose call has a frame */
	uint64_t graph_ns;	       /* of graph operations */
	uint64_t graph_ns_captured;    /* of graph operations attributed to the captured call */
	uint64_t early;		       /* GPU operations that seem to start before their call, beyond clock_error_ns */
	uint64_t early_max_ns;
	uint64_t counters[GPT_COUNTER_COUNT]; /* of the BPF side */
	uint64_t gaps, gap_ns; /* intervals in which another CUPTI client had the activity records; total length */
	uint64_t gap_launches; /* of the launches expected but not joined: those in gaps */
	/* of the launches expected but not joined: those whose records ended with their process, or stayed in its
	 * agent; how many processes, and of the one in which it is longest: from the first of these launches to the
	 * last call, pid, signal, whether it still ran when the trace ended */
	uint64_t cut_launches, cut_processes, cut_ns;
	uint32_t cut_pid, cut_signal; /* signal: 0 none, or not known */
	bool cut_alive;
	uint64_t lost; /* records of any kind known to be lost, all causes */
	/* causes of loss that are not in counters (losses.h): cupti_dropped and so on, summed over agents */
#define GPT_LOSS_MEMBER(member, ...) uint64_t member;
	GPT_AGENT_LOSSES(GPT_LOSS_MEMBER)
	GPT_AGENT_NOTES(GPT_LOSS_MEMBER) /* not a loss */
	GPT_AGENT_COSTS(GPT_LOSS_MEMBER) /* nor this */
	GPT_RECORD_LOSSES(GPT_LOSS_MEMBER)
#undef GPT_LOSS_MEMBER
	uint64_t python_unpaired; /* collections, imports and Python calls left out because their end was lost */
	uint64_t bad_records;	  /* records that did not make sense */
	uint64_t bad_reasons[BAD_REASONS];
	uint64_t clock_error_ns; /* bound of the wall clock conversion */
	uint64_t clock_steps;	 /* steps of the wall clock during the trace */
	uint64_t cpu_ns, ring_bytes, ring_bytes_max;
	enum gpt_end_reason end_reason; /* 0: the log was truncated */
	bool truncated;			/* the log ends in the middle of a record or without GPT_END */
};

/* One cause of loss, and its count. */
struct model_loss {
	const char *name;  /* in the Chrome trace */
	const char *words; /* after the count, for people */
	uint64_t count;
	enum gpt_loss_kind kind;
};

#define GPT_LOSS_ONE(source, name, kind, words) +1
enum {
	MODEL_LOSSES = 0 GPT_COUNTER_LOSSES(GPT_LOSS_ONE) GPT_AGENT_LOSSES(GPT_LOSS_ONE) GPT_RECORD_LOSSES(GPT_LOSS_ONE)
};
#undef GPT_LOSS_ONE

/* All causes, including those with a count of 0. */
void model_losses(const struct model_receipt *receipt, struct model_loss losses[MODEL_LOSSES]);
