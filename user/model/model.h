/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The joined model of one trace, or of a part of it (struct model_in_part): what report/ and export/ read.  Made by a
 * builder (builder.h) that an input feeds, never changed afterwards.  Plain arrays; cross references are indices into
 * them, NONE where there is none.  All times are CLOCK_MONOTONIC ns; strings are UTF-8, valid, owned by the model.
 */
#ifndef GPUTRACE_MODEL_H
#define GPUTRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/values.h>

#include "model/activity.h"
#include "model/gpu.h"
#include "model/losses.h"
#include "model/program.h"

#define NONE UINT32_MAX

/* Whether launches were meant to have GPU times (--agent); a model that is finished knows. */
enum model_gpu_times {
	MODEL_GPU_TIMES_UNKNOWN, /* the log does not say: meant where an agent recorded */
	MODEL_GPU_TIMES_MEANT,
	MODEL_GPU_TIMES_OFF,
};

/* Where a part of the model comes from: one recording on one machine, with its own clock and its own losses. */
#define MODEL_LABELS_MAX 32 /* of a recording */

struct model_source {
	const char *version, *host, *kernel, *target; /* of what recorded it; "" not recorded */
	const char *boot; /* of the machine: those of one boot have one clock; "" not recorded */
	const char *tool; /* that recorded it, in words; "" gputrace. Of another no one knows what it lost, how good its
			   * times are, and what it cost */
	uint32_t cpus;	  /* 0: not recorded */
	int64_t rank, world; /* of a job, as a file of another tool says: which it is, where is_rank; of how many, 0:
			      * not known */
	bool is_rank;
	int64_t wall_offset_ns; /* CLOCK_REALTIME = time + this (at the start) */
	int64_t slept_ns;	/* CLOCK_BOOTTIME = time + this (at the start); 0 where it is not recorded */
	const char *labels[MODEL_LABELS_MAX]; /* "key=value", as the user gave them (-M) */
	uint32_t label_count;
	const char *step; /* by what the recording found steps (--step), NULL: as they fit */
	struct model_receipt receipt;
};

/*
 * A long trace is handed over part by part, in order of time: each part is a model, and its arrays of events hold what
 * belongs to that part, [from, count - later); before these, events of earlier parts to which something still refers;
 * after them, events of later ones.  So every index in a part is good in that part, and in no other.  All zero: the
 * model is the whole trace, and so is each array.
 *
 * Functions and NVTX ranges have a length that may go beyond a part: a part has all that are open in it, and they say
 * so themselves (model_span.continued, .open).
 */
struct model_in_part {
	uint32_t from, later;
	uint64_t number; /* of the first: how many of this kind earlier parts had */
};

/*
 * A row for each kind of event that a part has some of: all that is done for every kind is made of these rows.
 *
 *	X(one, many, time, timing)
 *
 * The model has an array `many` of struct model_ONE by their member `time`, one_count of them, and many_in_part.  Kinds
 * of MODEL_JOINED_EVENTS come as a struct new_ONE with a SPAN or a MOMENT of time (events.h), or, by CLOCK_MONOTONIC,
 * at a TICK or when they END: builder_add_ONE checks it, receive_ONE keeps it or defers it to pass 2 (tables.h), and
 * join_MANY makes the model_ONE of it.
 */
#define MODEL_JOINED_EVENTS(X)                                                                                         \
	X(overhead, overheads, start_ns, SPAN)                                                                         \
	X(jit, jits, start_ns, SPAN)                                                                                   \
	X(sync, syncs, start_ns, SPAN)                                                                                 \
	X(memory, memories, time_ns, MOMENT)                                                                           \
	X(sample, samples, time_ns, TICK)                                                                              \
	X(wait, waits, end_ns, END)
#define MODEL_EVENTS(X)                                                                                                \
	X(call, calls, start_ns, NEVER)                                                                                \
	X(gpu, gpu, start_ns, SPAN) /* untimed ones first */                                                           \
	MODEL_JOINED_EVENTS(X)

/* X(one, many, member, others): model_ONE.member is an index into model.others, or NONE. */
#define MODEL_REFERENCES(X)                                                                                            \
	X(call, calls, args, args)                                                                                     \
	X(call, calls, first_gpu, gpu)                                                                                 \
	X(gpu, gpu, next, gpu)                                                                                         \
	X(memory, memories, other, memories)                                                                           \
	MODEL_REFERENCES_TO_CALLS(X)
#define MODEL_REFERENCES_TO_CALLS(X)                                                                                   \
	X(gpu, gpu, call, calls)                                                                                       \
	X(gpu, gpu, captured_by, calls)                                                                                \
	X(jit, jits, call, calls)                                                                                      \
	X(sync, syncs, call, calls)                                                                                    \
	X(sync, syncs, recorded_by, calls)                                                                             \
	X(memory, memories, call, calls)

struct model_totals;

struct model {
	uint64_t start_ns, end_ns; /* the recording, or the slice of it */
	const char *slice;	   /* what of the recording this is, for people; NULL: all */
	uint32_t min_complete;	   /* thousandths of a percent */
	bool metric_launches;
	enum model_gpu_times gpu_times;

	struct model_process *processes;
	struct model_thread *threads;
	struct model_code *codes;
	struct model_frame *frames;
	struct model_stack *stacks;
	uint32_t *stack_frames;
	struct model_native *natives;
	uint32_t *native_frames;
	struct model_args *args;
#define MODEL_ARRAY(one, many, time, timing)                                                                           \
	struct model_##one *many;                                                                                      \
	uint32_t one##_count;                                                                                          \
	struct model_in_part many##_in_part;
	MODEL_EVENTS(MODEL_ARRAY)
#undef MODEL_ARRAY
	struct model_device *devices;		    /* by id */
	struct model_gap *gaps;			    /* by process and start */
	struct model_span *pyspans;		    /* garbage collections and imports, by thread and start */
	struct model_span *pycalls;		    /* functions, by thread and start */
	struct model_span *ranges;		    /* NVTX, by thread, start, and those around others first */
	struct model_op *ops;			    /* by thread, start, and those around others first */
	struct model_collective *collectives;	    /* by op; of a long trace the latest, until those of this part */
	struct model_collective *nccl_calls;	    /* by launch_ns and thread; the same */
	struct model_torch_memory *torch_memories;  /* by time_ns */
	struct model_reported_step *reported_steps; /* where there was a schedule: of the whole trace, as they came */
	const char **strings;
	const char **probes; /* one line per file with probe sites found and missed */
	const char **notes;  /* remarks the report must show */
	struct model_cell_line
		*cell_lines; /* of a file one after the other, from line 1 on; the last of a file count */
	uint32_t cell_line_count;
	struct model_generated_line *generated_lines; /* as they were reported: the last of a file and line counts */
	uint32_t process_count, thread_count, code_count, frame_count, stack_count, stack_frame_count, native_count,
		native_frame_count, args_count, device_count, gap_count, string_count, probe_count, note_count,
		pyspan_count, pycall_count, range_count, op_count, collective_count, nccl_call_count,
		torch_memory_count, reported_step_count, generated_line_count;

	bool continued; /* earlier parts of the trace came before this one */
	bool more;	/* later parts follow: the receipt, but for its clock_error_ns, and gpu_ops of processes are not
			 * yet complete */
	uint64_t until_ns; /* where more: every event that begins before this is in this part, or was in an earlier one
			    */
	struct model_schedule schedule;
	uint64_t forwards_forgotten;	   /* nodes so far whose forward op was too long ago to be kept */
	const struct model_totals *totals; /* on all parts, where there may be several; NULL: this is the only one */

	struct model_source *sources; /* at least one */
	uint32_t source_count;
	void *private; /* memory that all of it lies in */
};

void model_free(struct model *model);

/* The source of a model that has one, or its first. */
static inline struct model_source *model_source(const struct model *model)
{
	return &model->sources[0];
}

/* Whether another tool recorded it. */
static inline bool model_is_foreign(const struct model *model)
{
	const char *tool = model_source(model)->tool;

	return tool && *tool;
}

/* Whether it has all CUDA calls: files that gputrace made have those that it follows (cuda_api.h). */
static inline bool model_has_all_calls(const struct model *model)
{
	return model_is_foreign(model) && strncmp(model_source(model)->tool, "gputrace", strlen("gputrace")) != 0;
}

/* The end of what belongs to a part, of an array with `count` events. */
static inline uint32_t in_part_end(const struct model_in_part *part, uint32_t count)
{
	return count - part->later;
}

static inline bool is_in_part(const struct model_in_part *part, uint32_t count, uint32_t index)
{
	return index >= part->from && index < in_part_end(part, count);
}

/* The place of an event of the part among those of its kind in the whole trace, from 0. */
static inline uint64_t in_part_number(const struct model_in_part *part, uint32_t index)
{
	return part->number + (index - part->from);
}

/* What became of a call as a launch; what follows LAUNCH_UNASKED are launches that were meant to have GPU times. */
enum launch_fate {
	LAUNCH_NONE,	  /* the call is none */
	LAUNCH_FAILED,	  /* it did nothing */
	LAUNCH_CAPTURED,  /* it became a node of a graph */
	LAUNCH_UNASKED,	  /* no GPU times were asked for: --agent off */
	LAUNCH_WHOLE,	  /* all its GPU operations, with times; its stack, or the reason why there is none */
	LAUNCH_SHORT,	  /* of a graph; some of its operations are missing */
	LAUNCH_UNTIMED,	  /* CUPTI could not time some of its operations */
	LAUNCH_STACKLESS, /* its stack was lost */
	LAUNCH_MISSED,	  /* no GPU operation, though an agent recorded */
	LAUNCH_AWAY,	  /* no agent recorded at that time */
	LAUNCH_ALONE,	  /* no agent ever recorded in that process */
};
enum launch_fate launch_fate(const struct model *model, const struct model_call *call);

/* Whether the launch was to have GPU times and has none. */
static inline bool launch_lacks_times(enum launch_fate fate)
{
	return fate >= LAUNCH_MISSED;
}

/* Launches that were made, seen, and meant to have GPU times. */
uint64_t model_launches_meant(const struct model *model);

#define MODEL_COMPLETE 100000u

/*
 * How much of what should be there is, in thousandths of a percent, rounded down: MODEL_COMPLETE only where all is
 * known and nothing was lost.  docs/formats.md says what is counted.
 */
uint32_t model_completeness(const struct model *model);

/*
 * The call whose line the operation is put on: of a graph's operation the one that was captured, where that was seen
 * and has a Python stack; else the one that launched it.  NONE: not seen.
 */
static inline uint32_t gpu_attributed_call(const struct model *model, const struct model_gpu *op)
{
	return op->captured_by != NONE && model->calls[op->captured_by].stack != NONE ? op->captured_by : op->call;
}

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)" or the kernel's name; into buffer when needed. */
const char *gpu_name(const struct model *model, const struct model_gpu *op, char *buffer, size_t size);

/* A command line as people know it: the program without its folder; its name where that is not known.  Caller frees. */
char *process_command(const struct model_process *process);

/* "rank 3, local rank 1", NULL: neither is known; and "python3 41230", with the rank: "python3 41230 rank 3".  free()
 */
char *process_rank(const struct model_process *process);
char *process_label(const struct model_process *process);

/*
 * What a trace is of: "python train.py (pid 5087)" where one process used the GPU, else what was asked for ("" where
 * that is not known).  Caller frees.
 */
char *trace_title(const struct model *model);

/*
 * The part of a call's native stack (call->native is not NONE) that stands between Python and the CUDA call:
 * native_frames[natives[call->native].first + *first .. *end), innermost first; may be empty.
 */
void model_native_span(const struct model *model, const struct model_call *call, uint32_t *first, uint32_t *end);

#endif
