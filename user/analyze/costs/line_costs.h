/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The costs of each Python line, on the GPU and on the CPU: its own, and those of all that was called under it, where
 * every stack counts once however often the line is in it.  The lines of a function follow each other, as in a listing.
 * Sums are kept by stack while events come; GPU time and launches are those of line_sums.h, idle time that of idle.h,
 * waits those of waits.h, memory of PyTorch that of torch_memory.h.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/sums/gpu_tally.h"
#include "analyze/events/lines.h"
#include "analyze/memory/torch_memory.h"
#include "analyze/sums/waits.h"
#include "analyze/why/idle.h"

/* Bytes of PyTorch's allocators, as in torch_memory_row; growth: as in torch_holder. */
struct line_memory {
	uint64_t at_peak, held;
	double growth;
};

struct line_cost {
	uint64_t gpu_ns;
	uint64_t launches;			   /* calls that put work on a GPU */
	uint64_t copies;			   /* those that are memcpys and memsets */
	uint64_t copy_ns;			   /* time of memcpys and memsets, part of gpu_ns */
	uint64_t wait_ns;			   /* of the CPU for the GPU */
	uint64_t idle_ns;			   /* of a GPU that waited for the line */
	uint64_t cpu_ns;			   /* in CUDA calls */
	uint64_t sampled_ns;			   /* CPU time by samples */
	struct line_memory gpu_memory, cpu_memory; /* of all GPUs, each at its own peak; of the CPU */
};

struct line_cost_row {
	uint32_t line;
	struct line_cost own, under; /* under includes own */
};

struct function_cost {
	uint32_t code;		  /* model.codes: one of the codes with its file, name and first line */
	uint32_t process;	  /* the first process that had it */
	uint32_t first_row, rows; /* in line_costs.rows, by line */
	struct line_cost own, under;
	/*
	 * GPU time and GPU idle time (without a GPU: launches; without launches: CPU time by samples; without samples:
	 * bytes at the peak) of stacks in which it is the innermost function that is no library's, or else the
	 * innermost one
	 */
	uint64_t owned;
};

/* CPU time by samples of what has no Python line. */
struct line_cost_outside {
	uint32_t line; /* which says why */
	uint64_t sampled_ns;
};

struct line_costs {
	const struct model *model; /* the latest part */
	struct gpu_tally gpu;	   /* stack or caller, process, stack of a graph's launch; more: time of copies */
	struct tally copies;	   /* stack or caller, process, stack of a graph's launch; count */
	struct tally calls;	   /* stack or caller, process; ns: in CUDA calls; more: calls that put work on a GPU */
	struct tally samples;	   /* stack or caller, process; ns */
	const struct idle *idle;   /* set when finished */
	struct waits waits;	   /* only its sums are used */
	uint64_t gpu_ns;	   /* of all */
	uint64_t sampled_ns;	   /* of all */
	bool has_gpu;		   /* there are GPU operations */
	bool has_memory;	   /* memory of PyTorch was recorded */
	bool has_growth;	   /* memory was recorded, and steps of training are known */
	bool has_samples;	   /* of the CPU */
	struct line_cost_row *rows;
	struct function_cost *functions; /* most owned first */
	size_t count, function_count;
	ARRAY(struct line_cost_outside) outside; /* most time first */
};

void line_costs_free(struct line_costs *costs);
void line_costs_begin_part(struct line_costs *costs, const struct model *part);
void line_costs_add_call(struct line_costs *costs, const struct call_event *event);
void line_costs_add_gpu(struct line_costs *costs, const struct gpu_event *event);
void line_costs_add_sync(struct line_costs *costs, const struct sync_event *event);
void line_costs_add_sample(struct line_costs *costs, const struct sample_event *event);

/* idle, memory: finished; memory may be empty. */
void line_costs_finish(struct line_costs *costs, struct lines *lines, const struct idle *idle,
		       const struct torch_memory_sums *memory);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_LINE_COSTS(X)                                                                                         \
	X(LINE_COSTS, begin, all->line_costs.model = event->first)                                                     \
	X(LINE_COSTS, part, line_costs_begin_part(&all->line_costs, event->part))                                      \
	X(LINE_COSTS, call, line_costs_add_call(&all->line_costs, event))                                              \
	X(LINE_COSTS, gpu, line_costs_add_gpu(&all->line_costs, event))                                                \
	X(LINE_COSTS, sync, line_costs_add_sync(&all->line_costs, event))                                              \
	X(LINE_COSTS, sample, line_costs_add_sample(&all->line_costs, event))                                          \
	X(LINE_COSTS, finish, line_costs_finish(&all->line_costs, event->lines, &all->idle, &all->torch_memory))       \
	X(LINE_COSTS, free, line_costs_free(&all->line_costs))
