/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The joined model of one trace, or of a part of it (struct model_in_part): what report/ and export/ read.  Made by a
 * builder (builder.h) that an input feeds; never changed afterwards.  It consists of plain arrays; cross references are
 * indices into them, NONE if absent.  All times are CLOCK_MONOTONIC ns; strings are UTF-8, valid, owned by the model.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/costs.h>
#include <gputrace/details.h>
#include <gputrace/values.h>

#include "model/activity.h"
#include "model/gpu.h"
#include "model/gpu_counters.h"
#include "model/losses.h"
#include "model/program.h"

#define NONE UINT32_MAX

/* Whether launches should have GPU times (--agent); always known in a finished model. */
enum model_gpu_times {
	MODEL_GPU_TIMES_UNKNOWN, /* the log does not say: MEANT if an agent recorded */
	MODEL_GPU_TIMES_MEANT,
	MODEL_GPU_TIMES_OFF,
};

/* How a recording began: all processes at one instant, its start.  All zero: not recorded. */
struct model_began {
	uint64_t set_up_at_ns;	/* when set-up began: of two gputraces of one machine never the same */
	uint64_t set_up_ns;	/* how long set-up took */
	uint64_t start_ns;	/* of the recording, also of a slice of it */
	int64_t asked_wall_ns;	/* the moment that was asked for, CLOCK_REALTIME; 0: none */
	uint64_t late_ns;	/* after that moment */
	uint64_t wall_error_ns; /* the kernel's bound of the wall clock's error; UINT64_MAX: not known */
	bool is_unsynced;	/* the kernel said that nothing keeps the wall clock right */
	bool with_command;	/* gputrace started the program */
	uint32_t processes;	/* that were there */
	uint32_t unready;	/* of these, agents that had not begun yet */
	uint64_t calls_before;	/* seen, but not in the trace */
};

/* A part of what the recording took of the traced programs. */
struct model_cost {
	enum gpt_cost_state state; /* 0: the recording had no such part */
	uint64_t count, ns;
	uint64_t long_count, long_ns; /* of these, runs that other work may have interrupted */
};

/* What BPF programs took of the thread that paid most to them, without the way into them and out of them. */
struct model_cost_thread {
	uint32_t pid, tid; /* 0: none */
	uint64_t count, ns, long_ns;
	uint64_t span_ns; /* the time in which it paid that */
};

/* From then on less or more was recorded (gputrace/details.h). */
struct model_detail {
	uint64_t time_ns;
	uint64_t measured, limit; /* what had lowered the level: as enum gpt_detail_why says */
	uint32_t off;		  /* 1 << enum gpt_detail_kind: not recorded from then on */
	enum gpt_detail_why why;
	uint32_t pid, tid; /* GPT_DETAIL_COST: the thread that paid; else 0 */
	bool is_last;	   /* no change, but the last measurement */
};

#define MODEL_LABELS_MAX 32 /* of a recording */

/* Where a part of the model comes from: one recording on one machine, with its own clock and its own losses. */
struct model_source {
	const char *version, *host, *kernel, *target; /* of the recorder; "" not recorded */
	const char *boot; /* of the machine: sources of one boot share one clock; "" not recorded */
	const char *tool; /* name of the recording tool; "" gputrace. For other tools losses, accuracy of times and cost
			   * are not known */
	uint32_t cpus;	  /* 0: not recorded */
	int64_t rank, world; /* in a job, from another tool's file: rank is valid if is_rank; world is the number of
			      * ranks, 0: not known */
	bool is_rank;
	int64_t wall_offset_ns;		      /* CLOCK_REALTIME = time + this (at the start) */
	int64_t slept_ns;		      /* CLOCK_BOOTTIME = time + this (at the start); 0: not recorded */
	const char *labels[MODEL_LABELS_MAX]; /* "key=value", as the user gave them (-M) */
	uint32_t label_count;
	struct model_began began;
	bool is_part;	       /* the log is one of several of a recording, maybe the only one: GPT_LOG_PART */
	const char *step;      /* how the recording found steps (--step), NULL: automatically */
	uint8_t nvml;	       /* enum gpt_nvml_state; 0: counters of GPUs were not recorded */
	const char *nvml_text; /* READ: the driver's version, else why there is none; NULL: as 0 */
	struct model_receipt receipt;
	struct model_cost costs[GPT_PART_COUNT]; /* by enum gpt_cost_part */
	struct model_cost_thread cost_thread;
};

/*
 * A long trace is handed over part by part, in order of time.  Each part is a model, whose arrays of events hold the
 * part's own events at [from, count - later); before them come events of earlier parts that are still referred to;
 * after them, events of later parts.  So an index is valid only within its part.  All zero: the model is the whole
 * trace, and so is each array.
 *
 * Functions and NVTX ranges may extend beyond a part: a part has all that are open in it, marked by
 * model_span.continued and .open.
 */
struct model_in_part {
	uint32_t from, later;
	uint64_t number; /* number of the part's first event: how many of this kind earlier parts had */
};

/*
 * A row for each kind of event that is divided among parts.  Code that treats all kinds alike is generated from these
 * rows.
 *
 *	X(one, many, time, timing, record, slicing)
 *
 * The model has an array `many` of struct model_ONE sorted by the member `time`, with one_count elements, and
 * many_in_part.  Kinds of MODEL_JOINED_EVENTS arrive as a struct gpt_RECORD with a SPAN or a MOMENT of time on its
 * sender's clock, or, in CLOCK_MONOTONIC, at a TICK or when they END: builder_add_RECORD checks it, receive_ONE keeps
 * it or defers it to pass 2 (tables.h), and join_ONE turns it into a model_ONE.  What a slice has of them (slice.c)
 * goes by that time and by their CALL, by the system's TID, or by their THREAD; a LOOP's wait may have begun before.
 * What is of a DEVICE is of no process.
 */
#define MODEL_JOINED_EVENTS(X)                                                                                         \
	X(overhead, overheads, start_ns, SPAN, agent_overhead, TID)                                                    \
	X(jit, jits, start_ns, SPAN, agent_jit, CALL_OR_TID)                                                           \
	X(sync, syncs, start_ns, SPAN, agent_sync, CALL)                                                               \
	X(memory, memories, time_ns, MOMENT, agent_memory, CALL)                                                       \
	X(sample, samples, time_ns, TICK, sample, THREAD)                                                              \
	X(await, awaits, time_ns, TICK, await, LOOP)                                                                   \
	X(wait, waits, end_ns, END, wait, THREAD)                                                                      \
	X(gpu_sample, gpu_samples, time_ns, TICK, gpu_sample, DEVICE)                                                  \
	X(gpu_process, gpu_processes, time_ns, TICK, gpu_process, DEVICE)                                              \
	X(gpu_error, gpu_errors, time_ns, TICK, gpu_error, DEVICE)
#define MODEL_EVENTS(X)                                                                                                \
	X(call, calls, start_ns, NEVER, , )                                                                            \
	X(gpu, gpu, start_ns, SPAN, , ) /* untimed ones first */                                                       \
	MODEL_JOINED_EVENTS(X)

/* Kinds of events that stay pending in the builder until they are joined: the model's, and kinds that help to join. */
#define PENDING_EVENTS(X)                                                                                              \
	MODEL_JOINED_EVENTS(X)                                                                                         \
	X(event_record, event_records, , CALL, agent_event, ) /* its time is its call's */

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

/* A GPU operation that began before a slice and runs on in it.  The slice counts its time, not the operation. */
struct model_crossing {
	struct model_gpu op; /* starts with the slice; without references to calls */
	struct model_call launch, captured;
	bool has_launch, has_captured; /* those two were seen */
};

struct model {
	uint64_t start_ns, end_ns; /* the recording, or the slice of it */
	const char *slice;	   /* which slice of the recording this is, for people; NULL: all of it */
	uint32_t min_complete;	   /* thousandths of a percent */
	bool metric_launches;
	bool samples_unasked; /* samples and waits were recorded by default: no output counts them of itself */
	bool no_sudo;	      /* where it was recorded sudo gives no right to use BPF */
	enum model_gpu_times gpu_times;

	struct model_process *processes;
	struct model_thread *threads;
	struct model_code *codes;
	struct model_frame *frames;
	struct model_stack *stacks;
	uint32_t *stack_frames;
	struct model_stack_module *stack_modules;
	struct model_module *modules; /* of the whole trace's descriptions, those that this part's stacks refer to */
	struct model_native *natives;
	uint32_t *native_frames;
	struct model_args *args;
#define MODEL_ARRAY(one, many, ...)                                                                                    \
	struct model_##one *many;                                                                                      \
	uint32_t one##_count;                                                                                          \
	struct model_in_part many##_in_part;
	MODEL_EVENTS(MODEL_ARRAY)
#undef MODEL_ARRAY
	struct model_device *devices;		    /* by id */
	struct model_gap *gaps;			    /* by process and start */
	struct model_span *pyspans;		    /* garbage collections and imports, by thread and start */
	struct model_span *pycalls;		    /* functions, by thread and start */
	struct model_span *ranges;		    /* NVTX, by thread and start, enclosing ones first */
	struct model_op *ops;			    /* by thread and start, enclosing ones first */
	struct model_collective *collectives;	    /* by op; of a long trace the latest, up to this part's */
	struct model_collective *nccl_calls;	    /* by launch_ns and thread; likewise */
	struct model_torch_memory *torch_memories;  /* by time_ns */
	struct model_reported_step *reported_steps; /* with a schedule: of the whole trace, in order of arrival */
	const char **strings;
	const char **probes;		    /* one line per file with probe sites found and missed */
	const char **notes;		    /* remarks the report must show */
	struct model_detail *details;	    /* in order of time */
	struct model_cell_line *cell_lines; /* grouped by file, from line 1 on; the last group of a file counts */
	uint32_t cell_line_count;
	struct model_generated_line *generated_lines; /* in the order reported: the last of a file and line counts */
	/* Of the whole trace, in order of arrival; held_storages in the order of holders. */
	struct model_holder_search *holder_searches;
	struct model_holder *holders;
	struct model_held_storage *held_storages;
	uint32_t holder_search_count, holder_count, held_storage_count;
	uint32_t process_count, thread_count, code_count, frame_count, stack_count, stack_frame_count, native_count,
		native_frame_count, args_count, device_count, gap_count, string_count, probe_count, note_count,
		detail_count, pyspan_count, pycall_count, range_count, op_count, collective_count, nccl_call_count,
		torch_memory_count, reported_step_count, generated_line_count, stack_module_count, module_count;

	struct model_crossing *crossings; /* of a slice: found in this part; later ones may start earlier */
	uint32_t crossing_count;

	bool continued;	   /* earlier parts of the trace came before this one */
	bool more;	   /* later parts follow: the receipt (except clock_error_ns) and processes' gpu_ops are not yet
			    * complete */
	uint64_t until_ns; /* valid with `more`: every event that starts before this time is in this part or an earlier
			    * one */
	struct model_schedule schedule;
	uint64_t forwards_forgotten;	   /* backward nodes so far whose forward op had already been dropped */
	const struct model_totals *totals; /* totals over all parts; NULL: this is the only part */

	struct model_source *sources; /* at least one */
	uint32_t source_count;
	void *private; /* memory of the strings */
};

void model_free(struct model *model);

/* The source of a model, or the first of several. */
static inline struct model_source *model_source(const struct model *model)
{
	return &model->sources[0];
}

/* The i-th module call of a stack, 0: the outermost. */
static inline const struct model_module *model_stack_module(const struct model *model, const struct model_stack *stack,
							    uint32_t i)
{
	return &model->modules[model->stack_modules[stack->first_module + i].module];
}

/* A stack by its index; NULL: it is none (NONE and the like). */
static inline const struct model_stack *model_known_stack(const struct model *model, uint32_t index)
{
	return index < model->stack_count ? &model->stacks[index] : NULL;
}

/* The innermost module call of a stack; NULL: there is none, or it may be among frames that are missing. */
static inline const struct model_module *model_innermost_module(const struct model *model, uint32_t index)
{
	const struct model_stack *stack = model_known_stack(model, index);

	if (!stack || !stack->module_count || stack->module_missing)
		return NULL;
	return model_stack_module(model, stack, stack->module_count - 1);
}

/*
 * The stack of the forward op of the node in which a call was made, if the call's module is that op's: it is the node's
 * own, or of Python code that calls no module.  NONE: it is not, or that stack is not known.
 */
static inline uint32_t model_forward_of_layer(const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack = call->in_node ? model_known_stack(model, call->stack) : NULL;

	if (stack && (stack->module_count || stack->module_missing))
		return NONE;
	return call->in_node ? call->around : call->forward;
}

/* Its name for people; where it has none its class says more. */
static inline const char *model_module_label(const struct model_module *module)
{
	return *module->label ? module->label : "[no name]";
}

/* Whether another tool recorded it. */
static inline bool model_is_foreign(const struct model *model)
{
	const char *tool = model_source(model)->tool;

	return tool && *tool;
}

/* Whether it was not gputrace that recorded it: no option of gputrace would have put more into it. */
static inline bool model_is_of_other_tool(const struct model *model)
{
	return model_is_foreign(model) && strncmp(model_source(model)->tool, "gputrace", strlen("gputrace")) != 0;
}

/*
 * The line that a frame is shown with; 0: none. Files of other tools may say only in which function a call was made: it
 * has its first line, by which functions of one name are told apart.
 */
static inline uint32_t model_shown_line(const struct model *model, const struct model_frame *frame)
{
	return frame->line || !model_is_foreign(model) ? frame->line : model->codes[frame->code].first_line;
}

/* Whether the trace has all CUDA calls: files made by gputrace only have the calls that it follows (cuda_api.h). */
static inline bool model_has_all_calls(const struct model *model)
{
	return model_is_of_other_tool(model);
}

/* The end index of a part's own events in an array of `count` events. */
static inline uint32_t in_part_end(const struct model_in_part *part, uint32_t count)
{
	return count - part->later;
}

static inline bool is_in_part(const struct model_in_part *part, uint32_t count, uint32_t index)
{
	return index >= part->from && index < in_part_end(part, count);
}

/* The number of a part's event among all events of its kind in the whole trace, from 0. */
static inline uint64_t in_part_number(const struct model_in_part *part, uint32_t index)
{
	return part->number + (index - part->from);
}

/* What became of a call as a launch.  All values after LAUNCH_UNASKED are of launches that should have GPU times. */
enum launch_fate {
	LAUNCH_NONE,	  /* the call is not a launch */
	LAUNCH_FAILED,	  /* it returned an error */
	LAUNCH_CAPTURED,  /* it became a node of a graph */
	LAUNCH_UNASKED,	  /* no GPU times were requested: --agent off */
	LAUNCH_WHOLE,	  /* has all its GPU operations, with times, and its stack or the reason why there is none */
	LAUNCH_SHORT,	  /* of a graph: some of its operations are missing */
	LAUNCH_UNTIMED,	  /* CUPTI could not time some of its operations */
	LAUNCH_STACKLESS, /* its stack was lost, or not recorded as detail was lowered */
	LAUNCH_MISSED,	  /* no GPU operation, though an agent recorded */
	LAUNCH_AWAY,	  /* no agent recorded at that time */
	LAUNCH_ALONE,	  /* no agent ever recorded in that process */
};
enum launch_fate launch_fate(const struct model *model, const struct model_call *call);

/* Whether the launch should have GPU times and has none. */
static inline bool launch_lacks_times(enum launch_fate fate)
{
	return fate >= LAUNCH_MISSED;
}

/* The number of launches that were seen and should have GPU times. */
uint64_t model_launches_meant(const struct model *model);

#define MODEL_COMPLETE 100000u

/*
 * How complete the model is, in thousandths of a percent, rounded down: MODEL_COMPLETE only if everything is known and
 * nothing was lost.  docs/formats.md says what is counted.
 */
uint32_t model_completeness(const struct model *model);

/*
 * The attributed call, to whose line the operation belongs: for a graph's operation the captured call, if it was seen
 * and has a Python stack; else the launch.  NONE: not seen.
 */
static inline uint32_t gpu_attributed_call(const struct model *model, const struct model_gpu *op)
{
	return op->captured_by != NONE && model->calls[op->captured_by].stack != NONE ? op->captured_by : op->call;
}

/*
 * The innermost module of PyTorch that was called when the operation was launched, or for a graph captured; of a
 * backward pass as the forward op ran, where that is known.  NULL: none is known.
 */
const struct model_module *gpu_module(const struct model *model, const struct model_gpu *op);

/* "Memcpy HtoD (Pageable -> Device)", "Memset (Device)" or the kernel's name; written to buffer if needed. */
const char *gpu_name(const struct model *model, const struct model_gpu *op, char *buffer, size_t size);

/* A command line for people: the program without its folder; the process's name if that is not known.  Caller frees. */
char *process_command(const struct model_process *process);

/* "rank 3, local rank 1", NULL: neither is known; and "python3 41230", with the rank: "python3 41230 rank 3".  free()
 */
char *process_rank(const struct model_process *process);
char *process_label(const struct model_process *process);

/*
 * The title of a trace: "python train.py (pid 5087)" if one process used the GPU, else the requested target ("" if not
 * known).  Caller frees.
 */
char *trace_title(const struct model *model);

/*
 * The part of a call's native stack (call->native is not NONE) that stands between Python and the CUDA call:
 * native_frames[natives[call->native].first + *first .. *end), innermost first; may be empty.
 */
void model_native_span(const struct model *model, const struct model_call *call, uint32_t *first, uint32_t *end);
