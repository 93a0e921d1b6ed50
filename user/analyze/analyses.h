/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The list of all analyses, and the events that each of them gets.  Use: begin, add events in the order of events.h,
 * finish, read the rows.
 */
#pragma once

#include "analyze/sums/activity_sums.h"
#include "analyze/events/attribution.h"
#include "analyze/breakdown/breakdown.h"
#include "analyze/ranks/collective_causes.h"
#include "analyze/tree/call_tree.h"
#include "analyze/events/callers.h"
#include "analyze/sums/collective_sums.h"
#include "analyze/sums/complete.h"
#include "analyze/events/events.h"
#include "analyze/sums/cpu_lines.h"
#include "analyze/sums/interpreter.h"
#include "analyze/gpus/gpu_counters.h"
#include "analyze/sums/groups.h"
#include "analyze/sums/key_averages.h"
#include "analyze/layers/layers.h"
#include "analyze/costs/line_costs.h"
#include "analyze/sums/line_sums.h"
#include "analyze/events/lines.h"
#include "analyze/ranks/collective_arrivals.h"
#include "analyze/ranks/collective_kernels.h"
#include "analyze/sums/memcpys.h"
#include "analyze/memory/memory_peaks.h"
#include "analyze/sums/nvtx.h"
#include "analyze/sums/op_stacks.h"
#include "analyze/sums/off_cpu.h"
#include "analyze/sums/ops.h"
#include "analyze/steps/per_step.h"
#include "analyze/sums/stack_sums.h"
#include "analyze/steps/step_blocks.h"
#include "analyze/steps/step_tables.h"
#include "analyze/sums/threads.h"
#include "analyze/memory/torch_held.h"
#include "analyze/memory/torch_memory.h"
#include "analyze/sums/untimed.h"
#include "analyze/gpus/utilization.h"
#include "analyze/sums/waits.h"
#include "analyze/why/idle.h"
#include "analyze/why/why.h"

/*
 * A row for each analysis, in the order in which they finish: lines without Python get their numbers in that order.  An
 * analysis lists its hooks in its own header, as rows of ANALYSIS_name(X):
 *	X(ANALYSIS, hook, statement) with `all`, a struct analyses, and the hook's `event` (enum hook)
 * The hooks begin, part and free run for all analyses, the others only for those that were asked for.
 *	X(ANALYSIS, table, of_use)
 * table: part of the REPORT, or made only on request (ASKED); of_use: ALWAYS, or only in a trace with GPU operations
 * (WITH_GPU) or without them (WITHOUT_GPU), or where one is in the trace around the slice, too (AROUND_GPU).
 */
#define ANALYSIS_ROWS(X)                                                                                               \
	X(ACTIVITY_SUMS, ASKED, ALWAYS)                                                                                \
	X(GPU_LINES, REPORT, WITH_GPU)                                                                                 \
	X(CALL_LINES, REPORT, WITHOUT_GPU)                                                                             \
	X(UNTIMED, REPORT, AROUND_GPU)                                                                                 \
	X(KERNELS, REPORT, WITH_GPU)                                                                                   \
	X(MEMCPYS, REPORT, WITH_GPU)                                                                                   \
	X(IDLE, REPORT, ALWAYS)	      /* without a GPU: what compiled */                                               \
	X(LAYERS, REPORT, AROUND_GPU) /* with GPU_LINES and IDLE */                                                    \
	X(WAITS, REPORT, AROUND_GPU)                                                                                   \
	X(API_TIMES, REPORT, ALWAYS)                                                                                   \
	X(JIT, REPORT, ALWAYS)                                                                                         \
	X(MEMORY_PEAKS, REPORT, ALWAYS)                                                                                \
	X(TORCH_MEMORY, REPORT, ALWAYS)                                                                                \
	X(TORCH_HELD, REPORT, ALWAYS) /* with TORCH_MEMORY */                                                          \
	X(LAYER_PARTS, ASKED, ALWAYS) /* in the place of LAYERS; with GPU_LINES, IDLE and TORCH_MEMORY */              \
	X(FAILURES, REPORT, ALWAYS)                                                                                    \
	X(INTERPRETER, REPORT, ALWAYS)                                                                                 \
	X(NVTX, REPORT, ALWAYS)                                                                                        \
	X(OPS, REPORT, ALWAYS)                                                                                         \
	X(KEY_AVERAGES, ASKED, ALWAYS)                                                                                 \
	X(OP_STACKS, ASKED, ALWAYS)                                                                                    \
	X(CALL_TREE, ASKED, ALWAYS)                                                                                    \
	X(LINE_COSTS, ASKED, ALWAYS) /* with IDLE */                                                                   \
	X(STEPS, REPORT, ALWAYS)     /* with OPS; of use where the trace has steps */                                  \
	X(PER_STEP, ASKED, ALWAYS)                                                                                     \
	X(BREAKDOWN, REPORT, AROUND_GPU)                                                                               \
	X(UTILIZATION, REPORT, AROUND_GPU)                                                                             \
	X(GPU_COUNTERS, REPORT, AROUND_GPU)                                                                            \
	X(THREADS, REPORT, ALWAYS)                                                                                     \
	X(CPU_LINES, REPORT, ALWAYS)                                                                                   \
	X(OFF_CPU, REPORT, ALWAYS)                                                                                     \
	X(CPU_STACKS, ASKED, ALWAYS)                                                                                   \
	X(WHY, REPORT, AROUND_GPU) /* with UNTIMED and IDLE */                                                         \
	X(ARRIVALS, REPORT, WITH_GPU)                                                                                  \
	X(COLLECTIVE_KERNELS, REPORT, WITH_GPU)                                                                        \
	X(GPU_STACKS, ASKED, WITH_GPU)                                                                                 \
	X(CALL_STACKS, ASKED, WITHOUT_GPU)

enum analysis {
	ANALYZE_END, /* ends a list */
#define ANALYSIS(name, ...) ANALYZE_##name,
	ANALYSIS_ROWS(ANALYSIS)
#undef ANALYSIS
		ANALYZE_COUNT,
};

/* A list of analyses. */
#define ANALYSES(...) ((const enum analysis[]){__VA_ARGS__, ANALYZE_END})

/* The analyses of the report. */
extern const enum analysis analyses_of_report[];

struct analyses;

/* All zero is the usual choice. */
struct analyze_options {
	const struct attribution *attribution; /* NULL: the default */
	struct key_grouping keys;
	enum tree_by tree_by;
	bool if_of_use; /* leave out analyses that are of no use for this trace, once that is known (ANALYSIS_ROWS) */
	/*
	 * gets every GPU operation with times, in the order of their starts; the analyses have had all events up to it.
	 * Returns false to stop: no further part is read.
	 */
	bool (*each_gpu)(void *context, const struct analyses *all, const struct gpu_event *event);
	void *each_context;
	/* gets the parts of each gap (idle.h), on the thread that reads the trace or another; NULL: not wanted */
	idle_take_gap *take_gap;
	void *gap_context;
	const struct comm_kernels *comm_names; /* for COLLECTIVE_KERNELS; NULL: none of a user's */
};

/* When an analysis runs: once at the start, with each part, with each event, and at the end; see analyses.c. */
enum hook {
	HOOK_begin,
	HOOK_part,
#define HOOK(kind, one, ...) HOOK_##one,
	EVENT_ROWS(HOOK, HOOK)
#undef HOOK
		HOOK_range_end,
	HOOK_finish,
	HOOK_free,
	HOOK_COUNT,
};

typedef void analysis_hook(struct analyses *all, const void *event);

/* Must not move while in use. */
struct analyses {
	const struct model *model;			     /* the latest part */
	const char *file;				     /* trace.file */
	bool has[ANALYZE_COUNT];			     /* it was asked for, and is of use */
	analysis_hook *hooks[HOOK_COUNT][ANALYZE_COUNT + 1]; /* the hooks of those, ended by NULL */
	bool if_of_use;
	bool in_around;	  /* events are those of the trace around the slice (analyses_begin_around) */
	bool idle_is_fed; /* the account of idle time has had all events */
	struct attribution attribution;
	uint64_t calls, gpu_ops;
	struct window window;
	uint64_t last_ns; /* latest start of a call or end of a GPU operation */
	uint32_t active;  /* processes with calls or GPU work */
	struct callers callers;
	struct lines lines;
	struct line_sums gpu_lines; /* GPU time by line */
	struct layers layers;	    /* the same by module of PyTorch */
	struct layer_parts layer_parts;
	struct line_sums call_lines; /* launches by line: where there are no GPU times */
	struct untimed untimed;
	struct group kernels;
	struct memcpys memcpys;
	struct idle idle;
	struct waits waits;
	struct group api_times;
	struct group jit;
	struct group failures;
	struct memory_peaks memory;
	struct torch_memory_sums torch_memory;
	struct torch_held torch_held;
	struct interpreter interpreter;
	struct nvtx nvtx;
	struct ops_by_name ops;
	struct key_averages keys;
	struct op_stacks op_stacks;
	struct collective_sums collectives; /* with OPS */
	struct step_tables steps;
	struct step_blocks blocks; /* with PER_STEP or TORCH_MEMORY */
	struct per_step per_step;
	struct breakdown breakdown;
	struct utilization utilization;
	struct gpu_counter_sums gpu_counters;
	struct threads threads;
	struct why why;
	struct stack_sums gpu_stacks;  /* GPU time by stack */
	struct stack_sums call_stacks; /* launches by stack */
	struct stack_sums cpu_stacks;  /* CPU time by stack */
	struct cpu_lines cpu_lines;    /* CPU time by line */
	struct off_cpu off_cpu;	       /* waits by line */
	struct call_tree tree;
	struct line_costs line_costs;
	struct activity_sums gpu_sums, api_sums;
	struct arrival_collector *arrival_collector;
	struct collective_arrivals arrivals;
	const struct comm_kernels *comm_names;
	struct kernel_collector *kernel_collector;
	struct collective_kernels collective_kernels;
	struct collective_causes collective_causes; /* with COLLECTIVE_KERNELS and IDLE */
	bool (*each_gpu)(void *context, const struct analyses *all, const struct gpu_event *event);
	bool had_enough;
	void *each_context;
	idle_take_gap *take_gap;
	void *gap_context;
	struct complete complete; /* always made */
};

/* first: the first part; analyses_begin_part is still called for it.  Reads the tables of parts, not their events. */
void analyses_begin(struct analyses *all, const struct model *first, const struct steps *steps,
		    const enum analysis *which, const struct analyze_options *options);
void analyses_begin_part(struct analyses *all, const struct model *part);
void analyses_free(struct analyses *all);

/*
 * Before any part of a slice by time, which ends at to_ns: what is fed until the end belongs to the trace around it
 * (trace.around).  The account of idle time is made of that and cut to the slice, so the accounts of two halves add up
 * to that of the whole.  Other analyses get what runs on from before the slice as crossings, and so does this account
 * where a slice has no trace around it.
 */
void analyses_begin_around(struct analyses *all, const struct model *first, uint64_t to_ns);
void analyses_end_around(struct analyses *all);

/* For each kind of events: feeds one; whether any analysis wants them. */
#define ANALYSES_ADD(kind, one, ...)                                                                                   \
	void analyses_add_##one(struct analyses *all, const struct one##_event *event);                                \
	bool analyses_want_##one(const struct analyses *all);
EVENT_ROWS(ANALYSES_ADD, ANALYSES_ADD)
#undef ANALYSES_ADD

void analyses_end_range(struct analyses *all, const struct range_event *event);

/* Calls analyze_options.each_gpu. */
void analyses_show_gpu(struct analyses *all, const struct gpu_event *event);

/* Whether it is known when GPUs worked: they did in this trace or, if it is a slice, around it. */
static inline bool analyses_know_gpus(const struct analyses *all)
{
	return all->gpu_ops || (all->idle_is_fed && all->idle.devices.count);
}

/* Notes that the trace reaches this time. */
static inline void analyses_see_time(struct analyses *all, uint64_t time_ns)
{
	if (time_ns > all->last_ns && !all->in_around)
		all->last_ns = time_ns;
}

/* Whether any analysis uses call_event's sums over operations. */
static inline bool analyses_want_operations(const struct analyses *all)
{
	return (all->has[ANALYZE_NVTX] && nvtx_has_ranges(&all->nvtx)) ||
	       (all->has[ANALYZE_OPS] && ops_by_name_has_ops(&all->ops)) ||
	       (all->has[ANALYZE_KEY_AVERAGES] && op_tree_has_ops(&all->keys.tree)) ||
	       (all->has[ANALYZE_OP_STACKS] && op_tree_has_ops(&all->op_stacks.tree)) ||
	       (all->has[ANALYZE_LAYER_PARTS] && op_tree_has_ops(&all->layer_parts.tree)) ||
	       (all->has[ANALYZE_PER_STEP] && op_tree_has_ops(&all->per_step.tree));
}

/* Makes the rows. */
void analyses_finish(struct analyses *all);
