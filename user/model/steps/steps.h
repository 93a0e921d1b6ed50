/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training, seen without code of ours in the program: from one boundary to the next, where a boundary is
 * something that a program does once a step.  They are found by a round through a trace of its own, before the caller
 *that shows them: so how many there are, which is the median one, and when each begins and ends is known then.
 *
 *	PROFILER   ProfilerStep#N of torch.profiler: as they are, from begin to end, with that number
 *	OPTIMIZER  the end of an op Optimizer.step#...; several optimizers: of the one that came first on its thread
 *	BACKWARD   the end of a backward pass: of its last op, or, without ops, of the last CUDA call in it
 *	FUNCTION   the begin of a Python function; by stacks of calls, samples and waits where it was not traced
 *	RANGE      the begin of an NVTX range, or of a record_function
 *	BURST      the first GPU operation of the process after none of its GPUs had work for longer than gap_ns
 *
 * Where boundaries are ends, the first step began before it was seen: it is step 0, and struct step_track.first_cut.
 * Where they are begins the last step ends with its function or range.  What lies before and after is in no step.
 *
 * Steps outlive the trace, and know processes and threads by the system's numbers: a trace that is read again may
 * number them in another way.
 */
#ifndef GPUTRACE_MODEL_STEPS_H
#define GPUTRACE_MODEL_STEPS_H

#include "base/array.h"
#include "model/model.h"
#include "model/slice/slice.h"

struct trace;

/* Steps that are kept in all; what comes later is counted. */
#define STEPS_MAX (1u << 21)

enum step_source {
	STEP_FITTING, /* requested: the first of PROFILER, OPTIMIZER and BACKWARD (by ops) that a process has */
	STEP_PROFILER,
	STEP_OPTIMIZER,
	STEP_BACKWARD,
	STEP_FUNCTION,
	STEP_RANGE,
	STEP_BURST,
	STEP_CAPTURE, /* not requested: between cudaProfilerStart and cudaProfilerStop, as they were recorded */
	STEP_SOURCES
};

/* By what steps are to be found. */
struct step_request {
	enum step_source source;
	const char *name; /* FUNCTION: step_functions.h; RANGE: with * at its end, how it begins */
	const char *file; /* FUNCTION: the end of its path, after a slash, or its module; NULL: any */
	uint32_t line;	  /* FUNCTION: where it begins in the file, whatever its name; 0: it has that name */
	uint64_t gap_ns;  /* BURST, whose name is how that was requested */
};

struct step {
	uint64_t start_ns, end_ns;
	uint64_t number;
	uint32_t cycle; /* of a schedule, from 1; 0: there is none */
};

/* The steps of a process. */
struct step_track {
	uint32_t pid, tid; /* the thread whose boundaries these are */
	uint64_t process_start_ns;
	enum step_source source;
	char *name;		 /* of the op, function or range, "": it has none */
	ARRAY(struct step) list; /* by start; they do not overlap */
	bool first_cut;		 /* the first of them began before it was seen */
	bool nests;	   /* with the ops of the thread: none begins in one and ends after it, as far as is known */
	bool from_stacks;  /* boundaries are as exact as what has a stack is close by */
	uint64_t left_out; /* steps beyond STEPS_MAX */
};

/* A Python function of the trace. */
struct step_function {
	char *name, *file;
	uint32_t line; /* where it begins */
};

/* As many are kept of a list. */
#define STEP_FUNCTIONS_MAX 5u

struct step_function_list {
	struct step_function *items;
	size_t count, capacity;
	bool more; /* than were kept */
};

struct steps {
	ARRAY(struct step_track) tracks; /* of processes that have steps, in the order of the trace */
	bool scheduled;			 /* they are those that a schedule had recorded (step_reported.h) */
	uint64_t seen;			 /* with a schedule: steps that were seen to begin, of the process with most */
	bool captured;			 /* by cudaProfilerStart and cudaProfilerStop */
	uint64_t schedule_first;	 /* and the first that it would have recorded, counted from 0 */
	struct step_function_list functions; /* FUNCTION: those that the request names */
	struct step_function_list similar;   /* and those with a similar name */
};

/* 0 or -errno of reading; freed in any case. */
int steps_find(struct steps *steps, struct trace *trace, const struct step_request *request);
void steps_free(struct steps *steps);

/* The steps of a process of a model, NULL: it has none. */
const struct step_track *steps_of_process(const struct steps *steps, const struct model *model, uint32_t process);

/* Its thread in that model, NONE. */
uint32_t step_track_thread(const struct step_track *track, const struct model *model, uint32_t process);

/* The first step that was seen from its begin on, and how many there are from there on. */
static inline size_t step_track_first_whole(const struct step_track *track)
{
	return track->first_cut && track->list.count ? 1 : 0;
}

/* The last step that begins at that time or before, among the `count` first; SIZE_MAX: none does. */
size_t step_at(const struct step *list, size_t count, uint64_t time_ns);

/* Only those with numbers from first to last stay. */
void steps_keep_numbers(struct steps *steps, uint64_t first, uint64_t last);

/* Only those of a cycle of the schedule stay. */
void steps_keep_cycle(struct steps *steps, uint32_t cycle);

/*
 * Only those that begin and end in a slice of the model stay; numbered from 0 on, but for those that torch.profiler has
 * numbered.
 */
void steps_keep_slice(struct steps *steps, const struct slice *slice, const struct model *model);

#endif
