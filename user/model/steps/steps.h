/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training, found without instrumenting the program: a step goes from one boundary to the next, where a
 * boundary is something that a program does once a step.  A separate walk through the trace finds them before the walk
 * that shows them, so that their number, the median step, and all starts and ends are known by then.
 *
 *	PROFILER   ProfilerStep#N of torch.profiler: each is a step from its start to its end, with that number
 *	OPTIMIZER  the end of an op Optimizer.step#...; with several optimizers, of the first one on its thread
 *	BACKWARD   the end of a backward pass: the end of its last op or, without ops, of its last CUDA call
 *	FUNCTION   the start of a Python function; from stacks of calls, samples and waits if it was not traced
 *	RANGE      the start of an NVTX range, or of a record_function
 *	BURST      the first GPU operation after the process had no GPU work for longer than gap_ns
 *
 * If boundaries are ends, the start of the first step was not seen: it is step 0, and struct step_track.first_cut is
 * set.  If they are starts, the last step ends with its function or range.  Events before the first and after the last
 * step are in no step.
 *
 * Steps outlive the trace, and identify processes and threads by the system's numbers, as their indices may differ when
 * the trace is read again.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"
#include "model/slice/slice.h"

struct trace;

/* The maximum of steps kept in total; later ones are only counted. */
#define STEPS_MAX (1u << 21)

/* Of fewer steps than this there is no p99: it would be the slowest one. */
#define STEP_P99_MIN 100u

enum step_source {
	STEP_FITTING, /* request only: the first of PROFILER, OPTIMIZER and BACKWARD (by ops) that a process has */
	STEP_PROFILER,
	STEP_OPTIMIZER,
	STEP_BACKWARD,
	STEP_FUNCTION,
	STEP_RANGE,
	STEP_BURST,
	STEP_CAPTURE, /* never requested: as recorded between cudaProfilerStart and cudaProfilerStop */
	STEP_SOURCES
};

/* How to find steps. */
struct step_request {
	enum step_source source;
	const char *name; /* FUNCTION: see step_functions.h; RANGE: a name, or a prefix with a final * */
	const char *file; /* FUNCTION: its path or the end of it after a slash, or its module; NULL: any */
	uint32_t line;	  /* FUNCTION: its first line in the file, with any name; 0: selected by name */
	uint64_t gap_ns;  /* BURST; `name` is the text of the request */
};

struct step {
	uint64_t start_ns, end_ns;
	uint64_t number;
	uint32_t cycle; /* of a schedule, from 1; 0: no schedule */
};

/* The steps of a process. */
struct step_track {
	uint32_t pid, tid; /* the thread with the boundaries */
	uint64_t process_start_ns;
	enum step_source source;
	char *name;		 /* of the op, function or range, "": none */
	ARRAY(struct step) list; /* by start; they do not overlap */
	bool first_cut;		 /* the start of the first step was not seen */
	bool nests;		 /* no known op of the thread begins in a step and ends after it */
	bool from_stacks;	 /* boundaries come from stacks, and are only as exact as those are frequent */
	uint64_t left_out;	 /* steps beyond STEPS_MAX */
};

/* A Python function of the trace. */
struct step_function {
	char *name, *file;
	uint32_t line; /* first line */
};

/* The maximum of functions kept in a list. */
#define STEP_FUNCTIONS_MAX 5u

struct step_function_list {
	struct step_function *items;
	size_t count, capacity;
	bool more; /* there were more than are kept */
};

struct steps {
	ARRAY(struct step_track) tracks; /* of processes that have steps, in the order of the trace */
	bool scheduled;			 /* steps are those recorded by a schedule (step_reported.h) */
	uint64_t seen;			 /* with a schedule: steps whose start was reported, in the process with most */
	bool captured;			 /* recorded between cudaProfilerStart and cudaProfilerStop */
	uint64_t schedule_first;	 /* with a schedule: number of the first step to record, from 0 */
	struct step_function_list functions; /* FUNCTION: functions that the request names */
	struct step_function_list similar;   /* FUNCTION: functions with a similar name */
};

/* Returns 0 or -errno of reading.  The caller frees *steps in any case. */
int steps_find(struct steps *steps, struct trace *trace, const struct step_request *request);
void steps_free(struct steps *steps);

/* The steps of a process of a model, NULL: none. */
const struct step_track *steps_of_process(const struct steps *steps, const struct model *model, uint32_t process);

/* Its thread in that model, NONE. */
uint32_t step_track_thread(const struct step_track *track, const struct model *model, uint32_t process);

/* The index of the first step whose start was seen. */
static inline size_t step_track_first_whole(const struct step_track *track)
{
	return track->first_cut && track->list.count ? 1 : 0;
}

/* The last of the first `count` steps that begins at or before time_ns; SIZE_MAX: none. */
size_t step_at(const struct step *list, size_t count, uint64_t time_ns);

/* Keeps only steps numbered from first to last. */
void steps_keep_numbers(struct steps *steps, uint64_t first, uint64_t last);

/* Keeps only steps of a cycle of the schedule. */
void steps_keep_cycle(struct steps *steps, uint32_t cycle);

/*
 * Keeps only steps that begin and end in a slice of the model, and renumbers them from 0, except steps numbered by
 * torch.profiler.
 */
void steps_keep_slice(struct steps *steps, const struct slice *slice, const struct model *model);
