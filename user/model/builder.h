/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a model (model.h) of the events that an input feeds: one function for each kind of event, with values
 * (events.h), in the order of the source.  Then builder_finish joins calls, stacks and GPU work.
 *
 * Functions that return bool return false for what does not make sense; it is left out, and the input counts it
 * (builder_count_bad).  Lengths are the input's to check: every pointer given here is good for the size given.
 */
#ifndef GPUTRACE_MODEL_BUILDER_H
#define GPUTRACE_MODEL_BUILDER_H

#include "model/events.h"
#include "model/model.h"

struct builder;

struct builder *builder_new(void);

/* Joins all events and frees the builder; the caller frees the model with model_free. */
struct model *builder_finish(struct builder *builder);

/*
 * A source that is too long to be held whole is fed twice, with the same events.  In pass 1 the builder collects facts
 * about the whole trace; in pass 2 it hands over a part (struct model_in_part) whenever one is complete:
 *
 *	first = builder_new_first();
 *	(feed all; builder_begin_chunk before each chunk)
 *	builder_finish_first(first);
 *	second = builder_new_second(first);
 *	(feed all again; after some chunk, and after the last:)
 *		part = builder_part(second, the next chunk);
 *	builder_discard(second); builder_discard(first);
 *
 * A chunk is a piece of the source, of any length, the same both times: its number, from 0 on.
 */
struct builder *builder_new_first(void);
void builder_finish_first(struct builder *builder);

/* The first stays the caller's; there may be one second builder after the other. */
struct builder *builder_new_second(struct builder *first);
void builder_begin_chunk(struct builder *builder, uint32_t chunk);

/*
 * What is complete when the chunks before this one have been fed; NULL: nothing more than before.  The last part (not
 * model.more) comes when all have been.  Valid until the builder is fed more.
 */
const struct model *builder_part(struct builder *builder, uint32_t next_chunk);

/*
 * Has look(context) read the part that was handed over last on a thread of its own, while the builder is fed the
 * next one and joins it: a part's events are in memory of their own.  Tables that parts share (stacks, strings, ops,
 * spans) are not: who feeds a builder more than events waits first, as the builder does before it hands over the next
 * part.
 */
void builder_look(struct builder *builder, void (*look)(void *context), void *context);

/* Until no one reads the part any more. */
void builder_wait(struct builder *builder);

/* Pass 2 was fed other events than pass 1, as where a file was changed meanwhile: the builder is of no use. */
bool builder_diverged(const struct builder *builder);

/* How much waits to be handed over: about as many events, 0 after the last part. */
uint64_t builder_waiting(const struct builder *builder);

/* Instead, where reading failed, and of a first and a second builder: frees everything. */
void builder_discard(struct builder *builder);

/* ---- the recording ----------------------------------------------------------------------------------------------- */

/* When it began, and what CLOCK_REALTIME was ahead by then. */
void builder_set_start(struct builder *builder, uint64_t start_ns, int64_t wall_offset_ns);
void builder_set_source(struct builder *builder, struct text version, struct text host, struct text kernel,
			struct text target, uint32_t cpus);

/* Whose file it is, where gputrace itself did not record it; see model_source.tool. */
void builder_set_tool(struct builder *builder, struct text tool);

/* Which rank of a job such a file is of; world: how many there are, 0: not known. */
void builder_set_rank(struct builder *builder, uint32_t rank, uint32_t world);

/* Which boot of its machine: sources of one have one CLOCK_MONOTONIC.  Empty: not known. */
void builder_set_boot(struct builder *builder, struct text boot, int64_t slept_ns);

/* Something that the user wants to be known of the recording, "key=value"; those after the MODEL_LABELS_MAXth are left
 * out. */
void builder_add_label(struct builder *builder, struct text label);

/* By what the recording found steps (--step). */
void builder_set_step(struct builder *builder, struct text step);

/* What the user asked for; min_complete: thousandths of a percent. */
void builder_set_options(struct builder *builder, uint32_t min_complete, bool metric_launches,
			 enum model_gpu_times gpu_times);
void builder_set_end(struct builder *builder, const struct new_end *end);

/* The source ends in the middle of something. */
void builder_set_torn(struct builder *builder);
void builder_add_note(struct builder *builder, struct text text);
void builder_add_probes(struct builder *builder, struct text text);
void builder_add_clock_sample(struct builder *builder, struct clock_sample sample);

/* Times by CLOCK_MONOTONIC are no better than this. */
void builder_note_clock_error(struct builder *builder, uint64_t error_ns);
void builder_count_bad(struct builder *builder);

/* ---- processes and threads --------------------------------------------------------------------------------------- */

/* The program that a process runs now, made when it is new; and that it ran at a time that may be past. */
struct process_image builder_process_image(struct builder *builder, uint32_t pid);
struct process_image builder_process_image_at(struct builder *builder, uint32_t pid, uint64_t time_ns);

/* The source got so far: a trace without an end ends with the latest time. */
void builder_see_time(struct builder *builder, uint64_t time_ns);
void builder_add_thread(struct builder *builder, const struct new_thread *thread);
void builder_add_fork(struct builder *builder, const struct new_fork *fork);
void builder_add_exec(struct builder *builder, uint32_t pid, uint64_t time_ns, struct text name);
void builder_add_exit(struct builder *builder, uint32_t pid, uint64_t time_ns);
void builder_describe_process(struct builder *builder, const struct new_description *description);

/* ---- code, stacks, calls ----------------------------------------------------------------------------------------- */

void builder_add_code(struct builder *builder, uint32_t pid, const struct new_code *code);
bool builder_add_code_lines(struct builder *builder, uint32_t pid, uint64_t code, uint32_t offset, const void *bytes,
			    uint32_t size);
/* Source that is in no file, as that of a notebook's cell; the last of a file counts. */
void builder_add_cell(struct builder *builder, struct text file, struct text source);
void builder_add_generated_line(struct builder *builder, const struct new_generated_line *line);
void builder_remove_code(struct builder *builder, uint32_t pid, uint64_t code);
void builder_add_stack(struct builder *builder, uint32_t pid, const struct new_stack *stack);

/* Before events that have it. */
void builder_add_sampled_stack(struct builder *builder, uint32_t pid, const struct new_sampled_stack *sampled);

/* A native stack, and what one of its addresses is called: symbol (mangled, empty: not known) and module. */
void builder_add_native_stack(struct builder *builder, uint32_t pid, uint64_t key, const uint64_t *ips, uint32_t depth);
void builder_add_native_symbol(struct builder *builder, uint32_t pid, uint64_t ip, struct text symbol,
			       struct text module);
void builder_add_call(struct builder *builder, const struct new_call *call);

/* Before that call, or after it. */
void builder_add_nccl_launch(struct builder *builder, const struct new_nccl_launch *launch);
bool builder_add_return(struct builder *builder, struct process_image program, const struct new_return *back);
bool builder_add_api_activity(struct builder *builder, struct process_image program,
			      const struct new_api_activity *activity);

/* ---- inside the interpreter -------------------------------------------------------------------------------------- */

/* name: of an import's module; generation: of a garbage collection, -1: not known. */
bool builder_begin_gc(struct builder *builder, const struct python_moment *at, int32_t generation);
bool builder_begin_import(struct builder *builder, const struct python_moment *at, const struct python_text *name);
void builder_end_pyevent(struct builder *builder, const struct python_moment *at, enum model_span_kind kind);

/* A Python function is entered, or goes on; and left. */
bool builder_enter_function(struct builder *builder, const struct python_moment *at, uint64_t code);
void builder_leave_function(struct builder *builder, const struct python_moment *at);

/* ---- the agent and CUPTI ----------------------------------------------------------------------------------------- */

void builder_add_agent_state(struct builder *builder, struct process_image program,
			     const struct new_agent_state *state);

/* In all since the agent began; foreign: beyond that, of a buffer of another profiler. */
void builder_set_agent_losses(struct builder *builder, struct process_image program,
			      const struct model_agent_losses *losses);
void builder_add_foreign_losses(struct builder *builder, const struct model_agent_losses *losses);

/* A sample that the process itself took; reported_ns: when it was reported. */
bool builder_add_agent_clock_sample(struct builder *builder, struct process_image program, uint64_t reported_ns,
				    struct clock_sample sample);

/* Someone registers buffers for the GPU's records: own: the agent, else another client of CUPTI. */
void builder_add_registration(struct builder *builder, uint32_t pid, uint64_t time_ns, bool own);

/* A kernel's name (mangled), before the first kernel that has it. */
/* place: of the kernel's function in the source, "" where it is not known. */
void builder_add_name(struct builder *builder, struct process_image program, uint32_t key, struct text name,
		      struct text place);
bool builder_add_gpu_work(struct builder *builder, struct process_image program, const struct new_gpu_work *work);

/* Where the next one may be made, which need not be copied then: for callers with many.  Valid until it is added. */
struct new_gpu_work *builder_room_for_gpu_work(struct builder *builder);

/* A node of a graph was made by a call under capture, or as the clone of another. */
void builder_add_graph_node(struct builder *builder, struct process_image program, uint64_t node, uint32_t corr);
void builder_add_graph_clone(struct builder *builder, struct process_image program, uint64_t node, uint64_t source);
#define BUILDER_ADD(one, ...)                                                                                          \
	bool builder_add_##one(struct builder *builder, struct process_image program, const struct new_##one *one);
MODEL_JOINED_EVENTS(BUILDER_ADD)
#undef BUILDER_ADD
void builder_add_event_record(struct builder *builder, struct process_image program,
			      const struct new_event_record *record);
bool builder_add_device(struct builder *builder, struct process_image program, const struct new_device *device);
void builder_add_context(struct builder *builder, struct process_image program, uint32_t context, uint32_t device,
			 bool mps);
void builder_add_stream(struct builder *builder, struct process_image program, const struct new_stream *stream);

/* ---- ranges that the program names (NVTX) ------------------------------------------------------------------------ */

bool builder_mark_range(struct builder *builder, struct process_image program, const struct new_range *range);
bool builder_push_range(struct builder *builder, struct process_image program, const struct new_range *range);
bool builder_pop_range(struct builder *builder, struct process_image program, const struct new_range *range);
bool builder_start_range(struct builder *builder, struct process_image program, const struct new_range *range);
bool builder_end_range(struct builder *builder, struct process_image program, const struct new_range *range);
/* One that was started and has ended, whose end no one reports. */
bool builder_add_range(struct builder *builder, struct process_image program, const struct new_range *range);

/* Begins and ends of ranges had no room in a interval. */
void builder_lose_ranges(struct builder *builder, struct process_image program, uint64_t count, uint64_t from_ns,
			 uint64_t to_ns);

/* ---- ops of PyTorch ---------------------------------------------------------------------------------------------- */

/* What the keys of ops stand for, before the first op that has them. */
void builder_add_op_text(struct builder *builder, struct process_image program, uint32_t key, struct text text);
/* False: it is not such a text (op_inputs.h). */
bool builder_add_op_inputs(struct builder *builder, struct process_image program, uint32_t key, struct text text);
bool builder_add_op(struct builder *builder, struct process_image program, const struct new_op *op);
bool builder_add_torch_memory(struct builder *builder, struct process_image program,
			      const struct new_torch_memory *event);
void builder_add_torch_memory_state(struct builder *builder, struct process_image program,
				    const struct new_torch_memory_state *state);
/* Only some steps are recorded; the first of all is number `first`. */
void builder_set_schedule(struct builder *builder, uint64_t first, bool is_capture);
/* False: there are too many. */
bool builder_add_reported_step(struct builder *builder, struct process_image program,
			       const struct new_reported_step *step);
void builder_add_op_state(struct builder *builder, struct process_image program, const struct new_op_state *state);

#endif
