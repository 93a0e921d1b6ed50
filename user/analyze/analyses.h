/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All analyses there are, and who of them is fed with which events: begin, add events in the order of events.h, finish,
 * look at the rows.
 */
#ifndef GPUTRACE_ANALYZE_ANALYSES_H
#define GPUTRACE_ANALYZE_ANALYSES_H

#include "analyze/sums/activity_sums.h"
#include "analyze/sums/api_times.h"
#include "analyze/attribution.h"
#include "analyze/tree/call_tree.h"
#include "analyze/callers.h"
#include "analyze/sums/collective_sums.h"
#include "analyze/sums/complete.h"
#include "analyze/events.h"
#include "analyze/sums/failures.h"
#include "analyze/sums/idle.h"
#include "analyze/sums/interpreter.h"
#include "analyze/sums/jit.h"
#include "analyze/sums/kernels.h"
#include "analyze/sums/key_averages.h"
#include "analyze/sums/line_costs.h"
#include "analyze/sums/line_sums.h"
#include "analyze/lines.h"
#include "analyze/ranks/meetings.h"
#include "analyze/sums/memcpys.h"
#include "analyze/sums/memory_peaks.h"
#include "analyze/sums/nvtx.h"
#include "analyze/sums/op_stacks.h"
#include "analyze/sums/ops.h"
#include "analyze/sums/per_step.h"
#include "analyze/sums/stack_sums.h"
#include "analyze/sums/step_blocks.h"
#include "analyze/sums/step_tables.h"
#include "analyze/sums/threads.h"
#include "analyze/sums/torch_memory.h"
#include "analyze/sums/untimed.h"
#include "analyze/sums/utilization.h"
#include "analyze/sums/waits.h"
#include "analyze/why/why.h"

enum analysis {
	ANALYZE_GPU_LINES = 1 << 0,
	ANALYZE_CALL_LINES = 1 << 1,
	ANALYZE_UNTIMED = 1 << 2,
	ANALYZE_KERNELS = 1 << 3,
	ANALYZE_MEMCPYS = 1 << 4,
	ANALYZE_IDLE = 1 << 5,
	ANALYZE_WAITS = 1 << 6,
	ANALYZE_API_TIMES = 1 << 7,
	ANALYZE_JIT = 1 << 8,
	ANALYZE_FAILURES = 1 << 9,
	ANALYZE_MEMORY_PEAKS = 1 << 10,
	ANALYZE_INTERPRETER = 1 << 11,
	ANALYZE_NVTX = 1 << 12,
	ANALYZE_UTILIZATION = 1 << 13,
	ANALYZE_THREADS = 1 << 14,
	ANALYZE_OPS = 1 << 15,
	ANALYZE_GPU_STACKS = 1 << 16,
	ANALYZE_CALL_STACKS = 1 << 17,
	ANALYZE_KEY_AVERAGES = 1 << 18,
	ANALYZE_TABLES = ANALYZE_GPU_STACKS - 1, /* all of those before */
	/* of use where there are GPU operations */
	ANALYZE_WITH_GPU = ANALYZE_GPU_LINES | ANALYZE_UNTIMED | ANALYZE_KERNELS | ANALYZE_MEMCPYS | ANALYZE_IDLE |
			   ANALYZE_WAITS | ANALYZE_UTILIZATION | ANALYZE_GPU_STACKS,
	ANALYZE_WITHOUT_GPU = ANALYZE_CALL_LINES | ANALYZE_CALL_STACKS, /* and where there are none */
	ANALYZE_IF_OF_USE = 1 << 19, /* of those two only what is, once that is known */
	ANALYZE_STEPS = 1 << 20,     /* with ANALYZE_OPS; of use where the trace has steps */
	ANALYZE_OP_STACKS = 1 << 21,
	ANALYZE_TORCH_MEMORY = 1 << 22,
	ANALYZE_CALL_TREE = 1 << 23,
	ANALYZE_PER_STEP = 1 << 24,
	ANALYZE_WHY = 1 << 27, /* with ANALYZE_UNTIMED */
	ANALYZE_LINE_COSTS = 1 << 25,
	ANALYZE_ACTIVITY_SUMS = 1 << 28,
	ANALYZE_MEETINGS = 1 << 26,
	ANALYZE_EACH_GPU = 1 << 29,				     /* analyze_options.each_gpu */
	ANALYZE_IN_BLOCKS = ANALYZE_PER_STEP | ANALYZE_TORCH_MEMORY, /* of steps */
};

struct analyses;

/* All zero: what most want. */
struct analyze_options {
	const struct attribution *attribution; /* NULL: the usual one */
	struct key_grouping keys;
	enum tree_by tree_by;
	/* is handed every GPU operation that has times, in the order in which they began; analyses are as far then.
	 * false: it has had enough, and no further part is read. */
	bool (*each_gpu)(void *context, const struct analyses *all, const struct gpu_event *event);
	void *each_context;
};

/* Stays where it is while it is in use. */
struct analyses {
	const struct model *model; /* the latest part */
	unsigned which;		   /* enum analysis */
	struct attribution attribution;
	uint64_t calls, gpu_ops;
	struct window window;
	uint64_t last_ns; /* latest begin of a call, end of a GPU operation */
	uint32_t active;  /* processes with calls or GPU work */
	struct callers callers;
	struct lines lines;
	struct line_sums gpu_lines;  /* GPU time by line */
	struct line_sums call_lines; /* launches by line: where there are no GPU times */
	struct untimed untimed;
	struct kernels kernels;
	struct memcpys memcpys;
	struct idle idle;
	struct waits waits;
	struct api_times api_times;
	struct jit jit;
	struct failures failures;
	struct memory_peaks memory;
	struct torch_memory_sums torch_memory;
	struct interpreter interpreter;
	struct nvtx nvtx;
	struct ops_by_name ops;
	struct key_averages keys;
	struct op_stacks op_stacks;
	struct collective_sums collectives; /* with ANALYZE_OPS */
	struct step_tables steps;
	struct step_blocks blocks; /* with ANALYZE_IN_BLOCKS */
	struct per_step per_step;
	struct utilization utilization;
	struct threads threads;
	struct why why;
	struct stack_sums gpu_stacks;  /* GPU time by stack */
	struct stack_sums call_stacks; /* launches by stack */
	struct call_tree tree;
	struct line_costs line_costs;
	struct activity_sums gpu_sums, api_sums;
	struct meeting_taker *meeting_taker;
	struct meetings meetings;
	bool (*each_gpu)(void *context, const struct analyses *all, const struct gpu_event *event);
	bool had_enough;
	void *each_context;
	struct complete complete; /* always */
};

/* With the first part, which begins thereby, too; the tables of parts are looked at, their events are not. */
void analyses_begin(struct analyses *all, const struct model *first, unsigned which,
		    const struct analyze_options *options);
void analyses_begin_part(struct analyses *all, const struct model *part);
void analyses_free(struct analyses *all);

void analyses_add_call(struct analyses *all, const struct call_event *event);
void analyses_add_gpu(struct analyses *all, const struct gpu_event *event);
void analyses_add_sync(struct analyses *all, const struct sync_event *event);
void analyses_add_jit(struct analyses *all, const struct jit_event *event);
void analyses_add_memory(struct analyses *all, const struct memory_event *event);
void analyses_add_torch_memory(struct analyses *all, const struct torch_memory_event *event);
void analyses_add_exit(struct analyses *all, const struct exit_event *event);
void analyses_add_span(struct analyses *all, const struct span_event *event);
void analyses_add_range(struct analyses *all, const struct range_event *event);
void analyses_end_range(struct analyses *all, const struct range_event *event);

void analyses_add_op(struct analyses *all, const struct op_event *event);

/* Whether the sums of call_event over operations are looked at. */
static inline bool analyses_want_operations(const struct analyses *all)
{
	return (all->which & ANALYZE_NVTX && nvtx_has_ranges(&all->nvtx)) ||
	       (all->which & ANALYZE_OPS && ops_by_name_has_ops(&all->ops)) ||
	       (all->which & ANALYZE_KEY_AVERAGES && op_tree_has_ops(&all->keys.tree)) ||
	       (all->which & ANALYZE_OP_STACKS && op_tree_has_ops(&all->op_stacks.tree)) ||
	       (all->which & ANALYZE_PER_STEP && op_tree_has_ops(&all->per_step.tree));
}

/* Makes the rows. */
void analyses_finish(struct analyses *all);

#endif
