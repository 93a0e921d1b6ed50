/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ops of PyTorch, as the agents reported them: each is known when it has ended, so children come before what is around
 * them.  Here they are put in order, by thread and begin, and those that do not nest are found.  Of a trace in parts
 * each has the ops that begin in it, and those of before that are still open (model_op.continued).  Everything here is
 * written by targets: hostile.
 */
#ifndef GPUTRACE_MODEL_OPS_H
#define GPUTRACE_MODEL_OPS_H

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

/* What the keys of a new_op stand for: strings, NONE. */
struct op_texts {
	uint32_t name, inputs, collective;
};

/* A thread that has ops, as the process names it. */
struct op_thread_name {
	uint32_t process, tid;
};

/* What the agent had no room for. */
struct op_losses {
	uint64_t ops, inputs;
};

/* From then on the ops of the process are not observed, or their counts start over. */
struct op_stop {
	uint64_t time_ns;
	uint32_t process;
};

struct ops {
	struct process_table *processes;
	struct string_pool *strings;
	const struct sampled_stacks *sampled;
	ARRAY(struct pending_op) pending;
	ARRAY(struct model_op) list; /* in order: of all, or of the current part */
	ARRAY(struct model_collective) collectives;
	struct lookup texts;   /* (epoch, key) to string */
	struct lookup threads; /* (process + 1, tid) to thread, NONE until ops_find_threads */
	struct lookup_latest latest_texts;
	struct lookup_latest latest_threads;	   /* which there are, as the values change */
	ARRAY(struct op_thread_name) thread_names; /* those of threads, as they were met */
	struct lookup lost_of;			   /* (epoch, 0) to losses: what its latest session lost so far */
	ARRAY(struct op_losses) losses;
	ARRAY(struct op_stop) stops; /* a few: one for each trace that had ops */
	struct forward_ops forwards;
	struct op_losses lost; /* in sessions that are over */
	uint64_t number;       /* of the next one in order */
	uint64_t until_ns;     /* those that begin before this have been in a part */
};

void ops_init(struct ops *ops, struct process_table *processes, struct string_pool *strings,
	      const struct sampled_stacks *sampled, uint64_t seed);
void ops_free(struct ops *ops); /* all but the list and the collectives, which are the model's */

/* What a key of new_op stands for, and the string of that; NONE: not reported. */
void ops_add_text(struct ops *ops, struct process_image program, uint32_t key, struct text text);
uint32_t ops_text(struct ops *ops, struct process_image program, uint32_t key);

/* An op with those texts, or that its thread has one. */
void ops_add(struct ops *ops, struct process_image program, const struct new_op *op, struct op_texts texts);
void ops_note_thread(struct ops *ops, struct process_image program, uint32_t tid);
void ops_add_state(struct ops *ops, struct process_image program, const struct new_op_state *state);
uint64_t ops_lost(const struct ops *ops);
uint64_t op_inputs_lost(const struct ops *ops); /* ops whose inputs were */

/* The thread of a pending op; known: the ops, once the whole trace is read.  NONE. */
static inline uint32_t ops_thread(const struct ops *known, uint32_t process, uint32_t tid)
{
	const uint32_t *thread = lookup_get(&known->threads, process + 1, tid);

	return thread ? *thread : NONE;
}

static inline uint32_t ops_thread_of(const struct ops *known, const struct pending_op *pending)
{
	return ops_thread(known, pending->process, pending->tid);
}

/* After the last one of the trace: makes the threads that no one else knew. */
void ops_find_threads(struct ops *ops);

/*
 * Puts those in order that begin before until_ns (UINT64_MAX: all); threads learn where theirs are.  known: the ops of
 * a caller that has read the whole trace, with its threads; end_ns: of the trace.
 */
void ops_join(struct ops *ops, const struct ops *known, struct model_thread *threads, uint64_t end_ns,
	      uint64_t until_ns);

/* Calls that were made before until_ns learn which op, and which node, they were made in; they are by start. */
void ops_join_calls(const struct ops *ops, const struct model_thread *threads, size_t thread_count,
		    struct model_call *calls, size_t count);

#endif
