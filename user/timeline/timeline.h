/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a timeline: groups (a process, a GPU) of tracks (a thread, a stream), slices on them, arrows between them.
 * Here is what every timeline file needs and no format has to find out again: which track a slice goes to, so that
 * those of one track nest or do not meet; when Python functions ran; numbers that are unique in one file.
 *
 * A format is written over this and slice.h alone.  timeline_new() looks at the first part of the trace and says which
 * groups, tracks and counters there are in it; timeline_visit() hands over every slice of it as a value with its
 * arguments, then goes on with the other parts, which may add some.  So a long trace is joined once.  Memory depends on
 * how large a part of the trace is, not on how long the trace is.  A trace of one part (timeline.more is false) is
 * known as a whole between the two; of a longer one only after the visit is known how far it goes, the label of a
 * track, the thread with most calls, what was left out, and the receipt.
 */
#ifndef GPUTRACE_TIMELINE_TIMELINE_H
#define GPUTRACE_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/clock_line.h"
#include "timeline/slice.h"

struct model;
struct trace;

enum timeline_group_kind {
	TIMELINE_GROUP_PROCESS,
	TIMELINE_GROUP_GPU,
	TIMELINE_GROUP_CUPTI, /* what CUPTI itself cost */
};

struct timeline_group {
	enum timeline_group_kind kind;
	uint32_t process; /* model.processes, TIMELINE_NONE: it is no process */
	uint32_t device;  /* model_device.id, TIMELINE_NONE: it is no GPU */
	uint32_t pid;	  /* of a process */
	const char *name; /* of the process, or what GPU it is, "" not known */
};

enum timeline_track_kind {
	TIMELINE_TRACK_THREAD,	    /* calls and Python functions; they nest */
	TIMELINE_TRACK_INTERPRETER, /* a thread's collections and imports, which need not nest with its slices */
	TIMELINE_TRACK_PYTHON,	 /* of a thread with ops of PyTorch: Python functions as far as calls show them, which
				  * need not nest with those */
	TIMELINE_TRACK_STEPS,	 /* of training, where they need not nest with the slices of their thread */
	TIMELINE_TRACK_COMPILER, /* JIT compilation on a thread: CUPTI's times are too inexact to nest in its calls */
	TIMELINE_TRACK_RANGES,	 /* NVTX of a thread and domain: those pushed nest, those started are on rows */
	TIMELINE_TRACK_STREAM,	 /* GPU operations of a stream; what overlaps is on rows */
	TIMELINE_TRACK_WAITS,	 /* waits for a stream, or for events and all of a GPU */
	TIMELINE_TRACK_CUPTI,	 /* what CUPTI cost a thread */
	TIMELINE_TRACK_OFF_CPU,	 /* waits of a thread off the CPU, which need not nest with its slices */
	TIMELINE_TRACK_CPU_SAMPLES, /* what a thread ran, by samples, which need not nest with its slices either */
};

/* Slices that overlap are on at most this many tracks of one stream, or one thread. */
#define TIMELINE_ROWS_MAX 256

/* Which members mean something depends on the kind; the others are TIMELINE_NONE, 0 and NULL. */
struct timeline_track {
	enum timeline_track_kind kind;
	uint32_t group;
	uint32_t process; /* model.processes: whose; a GPU's tracks can be of several */
	uint32_t row;	  /* slices that overlap are on rows 1, 2 and so on */
	uint32_t first;	  /* the track of row 0 */
	uint32_t number;  /* from 0, among those of its kind; not of THREAD, INTERPRETER, PYTHON, STEPS */
	uint32_t thread;  /* INTERPRETER, STEPS, RANGES, OFF_CPU, CPU_SAMPLES: the track of the thread */
	uint32_t tid;	  /* as the system has it; 0: of no thread, or not known */
	uint32_t device;  /* STREAM, WAITS: model_device.id */
	uint32_t stream;  /* the same: CUPTI's id; WAITS: TIMELINE_NONE: of no stream */
	const char *name; /* THREAD: what the thread is called; RANGES: the domain, "" the default one */
	bool started;	  /* RANGES: of those that are started, not pushed */
	bool is_default;  /* STREAM: the one that CUDA has without being asked for it */
	int8_t priority;  /* STREAM */
};

/* How much memory is held of what was handed out since the trace began. */
struct timeline_counter {
	bool of_host;	 /* memory of the host, of all processes */
	uint32_t device; /* model_device.id, TIMELINE_NONE: the host */
};

/*
 * Kinds of slices that may overlap and so are placed on rows: a line for each kind, in the order of their tracks.
 *	X(one, many, time, track, beside): model_ONEs with a time of their own (TIMED) or a span that is found elsewhere
 * (SPANNED); on TIMELINE_TRACK_track, beside THREADS, THREADS_KNOWN to the model or GPUS, or as RANGES are (tracks.c)
 */
#define TIMELINE_PLACED(X)                                                                                             \
	X(jit, jits, TIMED, COMPILER, THREADS)                                                                         \
	X(range, ranges, SPANNED, RANGES, RANGES)                                                                      \
	X(gpu, gpu, TIMED, STREAM, GPUS)                                                                               \
	X(sync, syncs, TIMED, WAITS, GPUS)                                                                             \
	X(overhead, overheads, SPANNED, CUPTI, THREADS)                                                                \
	X(wait, waits, SPANNED, OFF_CPU, THREADS_KNOWN)                                                                \
	X(sample, samples, SPANNED, CPU_SAMPLES, THREADS_KNOWN)

/* What a part has of each kind, in the order in which it is handed over (kinds.h). */
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
	X(waits)   /* off the CPU, by end */                                                                           \
	X(samples) /* of what threads ran, by end */

/* What is not in the timeline. */
struct timeline_omissions {
	uint64_t untimed; /* GPU operations without times */
	uint64_t unseen;  /* GPU operations whose launch was not seen: they are there, but no arrow leads to them */
			  /* Beyond TIMELINE_ROWS_MAX at a time; of syncs also those on no known device. */
#define TIMELINE_OMITTED(one, many, ...) uint64_t many;
	TIMELINE_PLACED(TIMELINE_OMITTED)
#undef TIMELINE_OMITTED
	uint64_t ops; /* of PyTorch, that overlap others of their thread */
};

struct step;

/* Steps of training of a process, those that were seen from begin to end. */
struct timeline_steps {
	uint32_t thread;    /* of the model */
	uint32_t track;	    /* TIMELINE_NONE: it is not known yet */
	bool has_own_track; /* they do not nest with what is on their thread's */
	const struct step *list;
	size_t count;
};

struct timeline_placement;
struct timeline_ids;
struct timeline_calls;

/* How a timeline stands in one file with others.  All zero: it is alone. */
struct timeline_among {
	bool is_one;
	struct clock_line clock; /* from the trace's to that of the file */
	uint64_t first_number;	 /* of correlations, arrows and ops: those below are taken */
};

struct timeline {
	struct trace *trace;
	const struct model *model; /* the current part */
	bool more;		   /* parts follow that one */
	/* What it spans so far: the recording, and whatever lies outside of it.  The start is that of the first part.
	 */
	uint64_t start_ns, end_ns;
	bool several;	       /* more than one process makes calls or has GPU work */
	bool has_ops;	       /* of PyTorch */
	bool has_torch_memory; /* events of PyTorch's allocators */
	uint32_t first_on_gpu; /* the first process with GPU work, TIMELINE_NONE: there is none */
	uint32_t busiest; /* the track of the thread with most calls, TIMELINE_NONE: there is none, or more is true */

	ARRAY(struct timeline_steps) steps; /* processes in the model's order */

	/* Processes in the model's order, CUPTI, then GPUs. */
	ARRAY(struct timeline_group) groups;
	uint32_t overhead_group; /* CUPTI's, which is always there */
	/* A thread and its interpreter's, thread after thread; then those of a kind together, in the kinds' order. What
	 * a later part adds stands after them. */
	ARRAY(struct timeline_track) tracks;
	ARRAY(struct timeline_counter) counters;
	struct timeline_omissions omitted;
	struct timeline_among among;
	uint64_t next_number; /* after the visit: the first that is not taken */

	/* Only for the files of timeline/. */
	const struct model_totals *totals; /* NULL: the first part is all */
	ARRAY(char *) texts;		   /* names of groups and tracks */
	uint32_t *process_groups; /* by process of the model: its group, TIMELINE_NONE: it is not in the timeline */
	uint32_t *thread_tracks;  /* by thread of the model: the same for its track */
	struct timeline_placement *placement;
	struct timeline_ids *ids;
	struct timeline_calls *calls;
};

/* process: index into model.processes, -1: all.  The trace has to stay.  NULL: trace->error says why. */
struct timeline *timeline_new(struct trace *trace, int process);
void timeline_free(struct timeline *timeline);

/* Before anything else: what is handed over is on the clock, and has the numbers, of a file with several. */
void timeline_put_among(struct timeline *timeline, const struct timeline_among *among);

/* A time of the trace as the file has it. */
static inline uint64_t timeline_time(const struct timeline *timeline, uint64_t time_ns)
{
	return timeline->among.is_one ? clock_line_at(&timeline->among.clock, time_ns) : time_ns;
}

/*
 * Hands over everything, part after part of the trace, after visitor->part with that part, in each kind after
 * kind, each by start (Python functions and NVTX: thread by thread).  What has a length comes in the part in which it
 * ends, if it is a Python function, NVTX, a wait off the CPU or a sample; else in that in which it begins; collections
 * and imports come in the first. Once for a timeline.  Returns 0, also when the visitor has had enough, or -errno: the
 * trace ended early.
 */
int timeline_visit(struct timeline *timeline, const struct timeline_visitor *visitor);

/* A Python function, by number: from 0 to timeline_code_count(), which grows from part to part. */
struct timeline_code {
	const char *file, *name; /* file: "" not known */
	uint32_t first_line;
};
uint32_t timeline_code_count(const struct timeline *timeline);
struct timeline_code timeline_code(const struct timeline *timeline, uint32_t code);

/* What to call a track, for people: "stream 7 (default)"; cut to size. */
void timeline_track_label(const struct timeline *timeline, uint32_t track, char *text, size_t size);

#endif
