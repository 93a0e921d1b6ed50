/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a timeline: groups (a process, a GPU) of tracks (a thread, a stream), slices on them, arrows between them.
 * It provides what every timeline format needs: the track of a slice, such that slices of one track nest or do not
 * overlap; when Python functions ran; numbers that are unique in a file.
 *
 * A format needs only this header and slice.h.  timeline_new() reads the first part of the trace and finds its groups,
 * tracks and counters; timeline_visit() hands over every slice of it as a value with its arguments, then continues with
 * the other parts, which may add groups, tracks and counters.  So a long trace is joined once.  Memory depends on the
 * size of a part, not on the length of the trace.  A trace of one part (timeline.more is false) is known completely
 * between the two calls; for a longer one the end, the labels of tracks, the thread with most calls, the omissions and
 * the receipt are known only after the visit.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/clock_line.h"
#include "timeline/rows/slice.h"

struct model;
struct trace;

enum timeline_group_kind {
	TIMELINE_GROUP_PROCESS,
	TIMELINE_GROUP_GPU,
	TIMELINE_GROUP_CUPTI, /* CUPTI's own overhead */
};

struct timeline_group {
	enum timeline_group_kind kind;
	uint32_t process; /* model.processes, TIMELINE_NONE: not a process */
	uint32_t device;  /* model_device.id, TIMELINE_NONE: not a GPU */
	uint32_t pid;	  /* of a process */
	const char *name; /* of the process or the GPU, "" not known */
};

enum timeline_track_kind {
	TIMELINE_TRACK_THREAD,	    /* calls and Python functions; they nest */
	TIMELINE_TRACK_INTERPRETER, /* a thread's collections and imports, which need not nest with its slices */
	TIMELINE_TRACK_PYTHON,	 /* for a thread with PyTorch ops: Python functions from calls' stacks, which need not
				  * nest with ops */
	TIMELINE_TRACK_STEPS,	 /* training steps that may not nest with their thread's slices */
	TIMELINE_TRACK_COMPILER, /* JIT compilation on a thread: CUPTI's times are too inexact to nest in its calls */
	TIMELINE_TRACK_RANGES,	 /* NVTX of a thread and domain: pushed ranges nest, started ones are on rows */
	TIMELINE_TRACK_STREAM,	 /* GPU operations of a stream; overlapping ones are on rows */
	TIMELINE_TRACK_WAITS,	 /* waits for a stream, or for events and all of a GPU */
	TIMELINE_TRACK_CUPTI,	 /* CUPTI's overhead on a thread */
	TIMELINE_TRACK_OFF_CPU,	 /* waits of a thread off the CPU, which need not nest with its slices */
	TIMELINE_TRACK_CPU_SAMPLES, /* CPU samples of a thread, which need not nest with its slices either */
};

/* The maximum of tracks for overlapping slices of one stream or thread. */
#define TIMELINE_ROWS_MAX 256

/* Which members are valid depends on the kind; the others are TIMELINE_NONE, 0 and NULL. */
struct timeline_track {
	enum timeline_track_kind kind;
	uint32_t group;
	uint32_t process; /* model.processes: the owner; a GPU's tracks can belong to several processes */
	uint32_t row;	  /* slices that overlap are on rows 1, 2 and so on */
	uint32_t first;	  /* the track of row 0 */
	uint32_t number;  /* from 0, among tracks of its kind; not for THREAD, INTERPRETER, PYTHON, STEPS */
	uint32_t thread;  /* INTERPRETER, STEPS, RANGES, OFF_CPU, CPU_SAMPLES: the track of the thread */
	uint32_t tid;	  /* the system's; 0: not a thread, or not known */
	uint32_t device;  /* STREAM, WAITS: model_device.id */
	uint32_t stream;  /* STREAM, WAITS: CUPTI's id; WAITS: TIMELINE_NONE: not of a stream */
	const char *name; /* THREAD: name of the thread; RANGES: the domain, "" the default one */
	bool started;	  /* RANGES: has started ranges, not pushed ones */
	bool is_default;  /* STREAM: CUDA's default stream */
	int8_t priority;  /* STREAM */
};

/* Memory allocated since the trace began and not yet released. */
struct timeline_counter {
	bool of_host;	 /* memory of the host, of all processes */
	uint32_t device; /* model_device.id, TIMELINE_NONE: the host */
};

/*
 * Kinds of slices that may overlap and so are placed on rows: a line for each kind, in the order of their tracks.
 *	X(one, many, time, track, beside): a struct model_ONE is drawn with its own times (TIMED) or with ones
 *determined elsewhere (SPANNED); on tracks TIMELINE_TRACK_track, which belong to THREADS, to THREADS_KNOWN to the
 *model, to GPUS or to threads and domains (RANGES); see tracks.c
 */
#define TIMELINE_PLACED(X)                                                                                             \
	X(jit, jits, TIMED, COMPILER, THREADS)                                                                         \
	X(range, ranges, SPANNED, RANGES, RANGES)                                                                      \
	X(gpu, gpu, TIMED, STREAM, GPUS)                                                                               \
	X(sync, syncs, TIMED, WAITS, GPUS)                                                                             \
	X(overhead, overheads, SPANNED, CUPTI, THREADS)                                                                \
	X(wait, waits, SPANNED, OFF_CPU, THREADS_KNOWN)                                                                \
	X(sample, samples, SPANNED, CPU_SAMPLES, THREADS_KNOWN)

/* The kinds of slices of a part, in the order in which they are handed over (kinds.h). */
#define TIMELINE_VISITS(X)                                                                                             \
	X(steps)       /* of the whole trace; process by process */                                                    \
	X(python)      /* functions; thread by thread */                                                               \
	X(interpreter) /* collections and imports of the whole trace; thread by thread */                              \
	X(ranges)      /* NVTX; thread by thread */                                                                    \
	X(ops)	       /* of PyTorch; thread by thread */                                                              \
	X(torch_memories)                                                                                              \
	X(jits)                                                                                                        \
	X(calls)                                                                                                       \
	X(operations) /* of GPUs */                                                                                    \
	X(syncs)                                                                                                       \
	X(memories)                                                                                                    \
	X(overheads)                                                                                                   \
	X(waits)       /* off the CPU, by end */                                                                       \
	X(samples)     /* CPU samples, by end */                                                                       \
	X(gpu_samples) /* counters of GPUs */

/* Counts of what is not in the timeline. */
struct timeline_omissions {
	uint64_t untimed; /* GPU operations without times */
	uint64_t unseen;  /* GPU operations whose launch was not seen: shown, but without an arrow */
			  /* More than TIMELINE_ROWS_MAX at a time; for syncs, also those whose device is not known. */
#define TIMELINE_OMITTED(one, many, ...) uint64_t many;
	TIMELINE_PLACED(TIMELINE_OMITTED)
#undef TIMELINE_OMITTED
	uint64_t ops; /* PyTorch ops that overlap others of their thread */
};

struct step;

/* A process's training steps that were seen from start to end. */
struct timeline_steps {
	uint32_t thread;    /* of the model */
	uint32_t track;	    /* TIMELINE_NONE: not known yet */
	bool has_own_track; /* they do not nest with the slices on their thread's track */
	const struct step *list;
	size_t count;
};

struct timeline_placement;
struct timeline_ids;
struct timeline_calls;

/* What the time of a collective's kernel was. */
struct timeline_split {
	bool has_dispatch;
	uint64_t dispatch_ns;
	const char *unknown; /* why the rest is not known; NULL: it is */
	uint64_t waiting_ns, transfer_ns;
	uint64_t error_ns;     /* of waiting, 0: exact */
	char last_rank[32];    /* that it waited for; "": itself */
	const char *last_line; /* "" */
};

/* Finds it for a kernel that began then, with that number of its launch; false: it is no collective's. */
struct timeline_splits {
	bool (*find)(const void *context, uint32_t process, uint64_t start_ns, uint32_t corr,
		     struct timeline_split *split);
	const void *context;
};

/* How a timeline shares one file with others.  All zero: it is alone. */
struct timeline_among {
	bool is_one;
	struct clock_line clock;	      /* from the trace's clock to the file's */
	uint64_t first_number;		      /* first free number for correlations, arrows and ops */
	const struct timeline_splits *splits; /* NULL: none are known */
};

struct timeline {
	struct trace *trace;
	const struct model *model; /* the current part */
	bool more;		   /* more parts follow */
	/* The interval so far: the recording, and slices outside of it.  The start is the first part's. */
	uint64_t start_ns, end_ns;
	bool several;	       /* more than one process makes calls or has GPU work */
	bool has_ops;	       /* of PyTorch */
	bool has_torch_memory; /* events of PyTorch's allocators */
	uint32_t first_on_gpu; /* the first process with GPU work, TIMELINE_NONE: none */
	uint32_t busiest;      /* the track of the thread with most calls, TIMELINE_NONE: none, or `more` is true */

	ARRAY(struct timeline_steps) steps; /* processes in the model's order */

	/* Processes in the model's order, CUPTI, then GPUs. */
	ARRAY(struct timeline_group) groups;
	uint32_t overhead_group; /* CUPTI's, which always exists */
	/*
	 * Each thread's track and its interpreter's, thread by thread; then the others grouped by kind, in the kinds'
	 * order.  Tracks added by later parts follow.
	 */
	ARRAY(struct timeline_track) tracks;
	ARRAY(struct timeline_counter) counters;
	struct timeline_omissions omitted;
	struct timeline_among among;
	uint64_t next_number; /* after the visit: the first free number */

	/* Private to timeline/. */
	const struct model_totals *totals; /* NULL: the first part is the whole trace */
	ARRAY(char *) texts;		   /* names of groups and tracks */
	uint32_t *process_groups;	   /* by process of the model: its group, TIMELINE_NONE: not in the timeline */
	uint32_t *thread_tracks;	   /* by thread of the model: its track, likewise */
	struct timeline_placement *placement;
	struct timeline_ids *ids;
	struct timeline_calls *calls;
};

/* process: index into model.processes, -1: all.  The trace must outlive the timeline.  NULL: see trace->error. */
struct timeline *timeline_new(struct trace *trace, int process);
void timeline_free(struct timeline *timeline);

/*
 * Must be called first: puts the times and numbers handed over on the clock and in the number range of a shared file.
 */
void timeline_put_among(struct timeline *timeline, const struct timeline_among *among);

/* Converts a time of the trace to the file's clock. */
static inline uint64_t timeline_time(const struct timeline *timeline, uint64_t time_ns)
{
	return timeline->among.is_one ? clock_line_at(&timeline->among.clock, time_ns) : time_ns;
}

/*
 * Hands over everything, part by part: first calls visitor->part, then hands over kind after kind, each by start
 * (Python functions and NVTX: thread by thread).  A Python function, an NVTX range, a wait off the CPU and a sample
 * come in the part in which they end, other slices in the part in which they begin; collections and imports come in the
 * first part.  Call it once per timeline.  Returns 0, also if the visitor stopped, or -errno: the trace ended early.
 */
int timeline_visit(struct timeline *timeline, const struct timeline_visitor *visitor);

/* A Python function, by number: from 0 up to timeline_code_count(), which grows from part to part. */
struct timeline_code {
	const char *file, *name; /* file: "" not known */
	uint32_t first_line;
};
uint32_t timeline_code_count(const struct timeline *timeline);
struct timeline_code timeline_code(const struct timeline *timeline, uint32_t code);

/* The label of a track, for people: "stream 7 (default)"; truncated to size. */
void timeline_track_label(const struct timeline *timeline, uint32_t track, char *text, size_t size);
