/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ops of PyTorch, as reported by the agents.  An op is reported when it ends, so children come before their parents.
 * Here ops are sorted by thread and start, and ops that do not nest are found.  Each part of a trace has the ops that
 * start in it, and earlier ones that are still open (model_op.continued).  All input is written by targets: hostile.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/model.h"
#include "model/string_pool.h"
#include "model/tables/forward_ops.h"
#include "model/tables/process_table.h"
#include "model/tables/sampled_stacks.h"

struct pending_op {
	struct model_op op;  /* its thread is not known yet */
	uint32_t collective; /* string, NONE */
	int64_t collective_sequence;
	uint32_t process, tid;
	uint32_t epoch;
	uint64_t sampled; /* new_sampled_stack.number, 0 */
};

/* The texts of a gpt_agent_op's keys: strings, NONE. */
struct op_texts {
	uint32_t name, inputs, collective;
};

/* A thread that has ops, as the process names it. */
struct op_thread_name {
	uint32_t process, tid;
};

/* Counts of ops and inputs for which the agent had no room. */
struct op_losses {
	uint64_t ops, inputs;
};

/* From time_ns on the ops of the process are not observed, or their counts start over. */
struct op_stop {
	uint64_t time_ns;
	uint32_t process;
};

struct ops {
	struct process_table *processes;
	struct string_pool *strings;
	const struct sampled_stacks *sampled;
	ARRAY(struct pending_op) pending;
	ARRAY(struct model_op) list; /* sorted; of the whole trace or the current part */
	ARRAY(struct model_collective) collectives;
	struct lookup texts;   /* (epoch, key) to string */
	struct lookup threads; /* (process + 1, tid) to thread, NONE until ops_find_threads */
	struct lookup_latest latest_texts;
	struct lookup_latest latest_threads;	   /* caches which keys exist, as values change */
	ARRAY(struct op_thread_name) thread_names; /* of `threads`, in order of appearance */
	struct lookup lost_of;			   /* (epoch, 0) to losses: of its latest session, so far */
	ARRAY(struct op_losses) losses;
	ARRAY(struct op_stop) stops; /* a few: one for each trace that had ops */
	struct forward_ops forwards;
	struct op_losses lost; /* in finished sessions */
	bool outer_first;      /* the source has an op before those in it, not when it ends */
	uint64_t number;       /* of the next op in order */
	uint64_t until_ns;     /* ops that start before this have been in a part */
};

void ops_free(struct ops *ops); /* all but the list and the collectives, which are the model's */

/* Adds the text of a key of gpt_agent_op; and returns its string, NONE: not reported. */
void ops_add_text(struct ops *ops, struct process_image program, uint32_t key, struct text text);
uint32_t ops_text(struct ops *ops, struct process_image program, uint32_t key);

/* Adds an op with its texts; or only notes that its thread has ops. */
void ops_add(struct ops *ops, struct process_image program, const struct gpt_agent_op *op, struct op_texts texts);
void ops_note_thread(struct ops *ops, struct process_image program, uint32_t tid);
void ops_add_state(struct ops *ops, struct process_image program, const struct gpt_agent_ops *state,
		   struct text detail);
uint64_t ops_lost(const struct ops *ops);
uint64_t op_inputs_lost(const struct ops *ops); /* ops whose inputs were lost */

/* The thread of a pending op, NONE; known: the ops after the whole trace was read. */
static inline uint32_t ops_thread(const struct ops *known, uint32_t process, uint32_t tid)
{
	const uint32_t *thread = lookup_get(&known->threads, process + 1, tid);

	return thread ? *thread : NONE;
}

static inline uint32_t ops_thread_of(const struct ops *known, const struct pending_op *pending)
{
	return ops_thread(known, pending->process, pending->tid);
}

/* After the last op of the trace: creates the threads that are known from ops only. */
void ops_find_threads(struct ops *ops);

/*
 * Sorts the ops that start before until_ns (UINT64_MAX: all), and sets each thread's range of ops.  known: the ops
 * after the whole trace was read, with its threads; end_ns: of the trace.
 */
void ops_join(struct ops *ops, const struct ops *known, struct model_thread *threads, uint64_t end_ns,
	      uint64_t until_ns);

/* Sets op and node of the calls made before until_ns, which are sorted by start. */
void ops_join_calls(const struct ops *ops, const struct model_thread *threads, size_t thread_count,
		    struct model_call *calls, size_t count);
