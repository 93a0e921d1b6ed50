/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a model (model.h) of the events that an input feeds: one function for each kind of event (events.h), in the
 * order of the source.  Then builder_finish joins calls, stacks and GPU work.
 *
 * Functions that return bool return false for an event that makes no sense; the builder leaves it out and the input
 * counts it (builder_count_bad).  The input checks lengths: every pointer passed here is valid for the size passed with
 * it.
 */
#pragma once

#include "model/events.h"
#include "model/model.h"

struct builder;

struct builder *builder_new(void);

/* Joins all events and frees the builder; the caller frees the model with model_free. */
struct model *builder_finish(struct builder *builder);

/*
 * A source that is too long to fit in memory is fed twice, with the same events.  In pass 1 the builder collects facts
 * about the whole trace; in pass 2 it hands over each part (struct model_in_part) as soon as it is complete:
 *
 *	first = builder_new_first();
 *	(feed all; builder_begin_chunk before each chunk)
 *	builder_finish_first(first);
 *	second = builder_new_second(first);
 *	(feed all again; after some chunk, and after the last:)
 *		part = builder_part(second, the next chunk);
 *	builder_discard(second); builder_discard(first);
 *
 * A chunk is a piece of the source, of any length, the same in both passes; chunks are numbered from 0.
 */
struct builder *builder_new_first(void);
void builder_finish_first(struct builder *builder);

/* The first builder remains the caller's; several second builders may follow one another. */
struct builder *builder_new_second(struct builder *first);
void builder_begin_chunk(struct builder *builder, uint32_t chunk);

/*
 * The part that is complete once all chunks before next_chunk have been fed; NULL: nothing new is complete.  The last
 * part (model.more is false) comes once all chunks have been fed.  Valid until the builder is fed again.
 */
const struct model *builder_part(struct builder *builder, uint32_t next_chunk);

/*
 * Runs look(context) on a separate thread to read the latest part, while the builder is fed and joins the next one.  A
 * part's events have their own memory.  Tables that parts share (stacks, strings, ops, spans) do not: a caller that
 * feeds the builder more than events must call builder_wait first, as the builder does before it hands over the next
 * part.
 */
void builder_look(struct builder *builder, void (*look)(void *context), void *context);

/* Waits until the look at the part has finished. */
void builder_wait(struct builder *builder);

/* Pass 2 was fed different events from pass 1, e.g. because the file changed in between: the builder is unusable. */
bool builder_diverged(const struct builder *builder);

/* Approximate number of events not yet handed over; 0 after the last part. */
uint64_t builder_waiting(const struct builder *builder);

/* Frees everything: used instead of builder_finish after a read error, and for first and second builders. */
void builder_discard(struct builder *builder);

/* ---- the recording ----------------------------------------------------------------------------------------------- */

/* The log is a GPT_LOG_PART. */
void builder_set_part(struct builder *builder);
/* The log is a GPT_LOG_CONTINUED. */
void builder_set_continued(struct builder *builder);
/* Whether the events fed from now on are also in the log before this one (gpt_log_header.shared_below). */
void builder_set_shared(struct builder *builder, bool shared);
/* When the recording began, and how far CLOCK_REALTIME was ahead at that time. */
void builder_set_start(struct builder *builder, uint64_t start_ns, int64_t wall_offset_ns);
bool builder_add_start(struct builder *builder, const struct sender *none, const struct gpt_start *start);
bool builder_add_cost(struct builder *builder, const struct sender *none, const struct gpt_cost *cost);
bool builder_add_detail(struct builder *builder, const struct sender *none, const struct gpt_detail *detail);
void builder_set_source(struct builder *builder, struct text version, struct text host, struct text kernel,
			struct text target, uint32_t cpus);

/* The tool that recorded the file, if not gputrace; see model_source.tool. */
void builder_set_tool(struct builder *builder, struct text tool);

/* The rank in its job of another tool's file; world: the number of ranks, 0: not known. */
void builder_set_rank(struct builder *builder, uint32_t rank, uint32_t world);

/* The boot of the machine: sources from the same boot share one CLOCK_MONOTONIC.  Empty: not known. */
void builder_set_boot(struct builder *builder, struct text boot, int64_t slept_ns);

/* A label that the user gave the recording, "key=value"; labels beyond MODEL_LABELS_MAX are dropped. */
void builder_add_label(struct builder *builder, struct text label);

/* Whether NVML answered (enum gpt_nvml_state), and the driver's version or why not; the last one counts. */
void builder_set_nvml(struct builder *builder, uint32_t state, struct text text);

/* How the recording found steps (--step). */
void builder_set_step(struct builder *builder, struct text step);

/* What runs and what waits was recorded without being asked for. */
void builder_set_unasked(struct builder *builder);

/* Where it was recorded sudo gives no right to use BPF. */
void builder_set_no_sudo(struct builder *builder);

/* The user's options; min_complete: thousandths of a percent. */
void builder_set_options(struct builder *builder, uint32_t min_complete, bool metric_launches,
			 enum model_gpu_times gpu_times);
void builder_set_end(struct builder *builder, const struct new_end *end);

/* The source is truncated: it ends in the middle of a record. */
void builder_set_torn(struct builder *builder);
void builder_add_note(struct builder *builder, struct text text);
void builder_add_probes(struct builder *builder, struct text text);
bool builder_add_clock(struct builder *builder, const struct sender *none, const struct gpt_clock *clock);

/* The error bound of times converted to CLOCK_MONOTONIC. */
void builder_note_clock_error(struct builder *builder, uint64_t error_ns);
void builder_count_bad(struct builder *builder, enum bad_reason reason, uint64_t count);

/* ---- processes and threads --------------------------------------------------------------------------------------- */

/* The process image of a pid now, created if it is new; and the one at time_ns, which may be in the past. */
struct process_image builder_process_image(struct builder *builder, uint32_t pid);
struct process_image builder_process_image_at(struct builder *builder, uint32_t pid, uint64_t time_ns);

/* Notes that the source reached time_ns: a trace without an end record ends at the latest such time. */
void builder_see_time(struct builder *builder, uint64_t time_ns);
void builder_add_thread(struct builder *builder, const struct new_thread *thread);
bool builder_add_fork(struct builder *builder, const struct sender *none, const struct gpt_process_event *fork);
bool builder_add_exec(struct builder *builder, const struct sender *none, const struct gpt_process_event *exec);
bool builder_add_exit(struct builder *builder, const struct sender *none, const struct gpt_process_event *exit);
void builder_describe_process(struct builder *builder, const struct new_description *description);

/* ---- code, stacks, calls ----------------------------------------------------------------------------------------- */

void builder_add_code(struct builder *builder, uint32_t pid, const struct new_code *code);
bool builder_add_code_lines(struct builder *builder, uint32_t pid, uint64_t code, uint32_t offset, const void *bytes,
			    uint32_t size);
/* Source text that is in no file, e.g. a notebook cell's; the last one for a file name counts. */
void builder_add_cell(struct builder *builder, struct text file, struct text source);
void builder_add_generated_line(struct builder *builder, const struct new_generated_line *line);
/* Before or after stacks that refer to it; the last one of an address and generation counts. */
void builder_add_module(struct builder *builder, const struct new_module *module);
void builder_add_holder_search(struct builder *builder, const struct gpt_holders *search, struct text why);
/* Its storages follow, each by builder_add_held_storage. */
void builder_add_holder(struct builder *builder, const struct new_holder *holder);
void builder_add_held_storage(struct builder *builder, uint64_t address, uint64_t bytes);
bool builder_add_code_dead(struct builder *builder, const struct sender *none, const struct gpt_code_dead *dead);
void builder_add_stack(struct builder *builder, uint32_t pid, const struct new_stack *stack);

/* Comes before the events that refer to it; its own state is not read. */
bool builder_add_stack_at(struct builder *builder, const struct sender *none, const struct gpt_stack_at *sampled);

/* A native stack; and the name of one of its addresses: symbol (mangled, empty: not known) and module. */
void builder_add_native_stack(struct builder *builder, uint32_t pid, uint64_t key, const uint64_t *ips, uint32_t depth);
void builder_add_native_symbol(struct builder *builder, uint32_t pid, uint64_t ip, struct text symbol,
			       struct text module);
/* A thread entered a CUDA call. */
bool builder_add_call(struct builder *builder, const struct sender *none, const struct gpt_call *call);
bool builder_add_call_args(struct builder *builder, const struct sender *none, const struct gpt_call_args *call);
/* enclosing: NULL where none is known. */
void builder_add_enclosed_call(struct builder *builder, const struct gpt_call *call, struct new_enclosing *enclosing);

/*
 * The call at launch_ns of that thread is a launch by NCCL for a collective; it may come before or after that call.
 * fields: as in an op's collective (enum gpt_collective_field).
 */
void builder_add_nccl_launch(struct builder *builder, uint32_t pid, uint32_t tid, struct model_collective launch,
			     struct text fields);
bool builder_add_agent_api(struct builder *builder, const struct sender *sender, const struct gpt_agent_api *back);
bool builder_add_agent_api_activity(struct builder *builder, const struct sender *sender,
				    const struct gpt_agent_api_activity *activity);

/* ---- inside the interpreter -------------------------------------------------------------------------------------- */

/* name: the imported module; generation: the garbage collection's, -1: not known. */
bool builder_begin_gc(struct builder *builder, const struct python_moment *at, int32_t generation);
bool builder_begin_import(struct builder *builder, const struct python_moment *at, const struct python_text *name);
void builder_end_pyevent(struct builder *builder, const struct python_moment *at, enum model_span_kind kind);

/* A Python function is entered or resumed; and left. */
bool builder_enter_function(struct builder *builder, const struct python_moment *at, uint64_t code);
void builder_leave_function(struct builder *builder, const struct python_moment *at);

/* ---- the agent and CUPTI ----------------------------------------------------------------------------------------- */

void builder_add_agent_state(struct builder *builder, struct process_image program,
			     const struct new_agent_state *state);

/* Totals since the agent began; foreign losses come on top, from a buffer of another profiler. */
void builder_set_agent_losses(struct builder *builder, struct process_image program,
			      const struct model_agent_losses *losses);
void builder_add_foreign_losses(struct builder *builder, const struct model_agent_losses *losses);

/* A sample that the process itself took. */
bool builder_add_agent_clock(struct builder *builder, const struct sender *sender, const struct gpt_agent_clock *clock);

bool builder_add_cupti_use(struct builder *builder, const struct sender *none, const struct gpt_cupti_use *use);

/*
 * A kernel's name (mangled), before the first kernel that has it.  place: of the kernel's function in the source, ""
 * where it is not known.
 */
void builder_add_name(struct builder *builder, struct process_image program, uint32_t key, struct text name,
		      struct text place);

/* GPU operations; numbers that are small on every GPU saturate. */
bool builder_add_agent_kernel(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_kernel *kernel);
bool builder_add_agent_memcpy(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_memcpy *memcpy);
bool builder_add_agent_memset(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_memset *memset);

/*
 * The same as another tool has it: with the source's times and CUPTI's id of the device, in fields that its kind lacks
 * 0. name: a kernel's key, 0: none.
 */
bool builder_add_gpu(struct builder *builder, struct process_image program, const struct model_gpu *op, uint32_t name);

/* A node of a graph was made by a call under capture, or as the clone of another. */
bool builder_add_agent_graph_node(struct builder *builder, const struct sender *sender,
				  const struct gpt_agent_graph_node *node);

/* builder_add_agent_sync and so on: makes an event of one of the model's kinds pending. */
#define BUILDER_ADD(one, many, time, timing, record, ...)                                                              \
	bool builder_add_##record(struct builder *builder, const struct sender *sender, const struct gpt_##record *one);
PENDING_EVENTS(BUILDER_ADD)
#undef BUILDER_ADD
/* With CUPTI's id of the device; its own name is not read. */
bool builder_add_device(struct builder *builder, struct process_image program, const struct model_device *device,
			struct text name);
bool builder_add_agent_context(struct builder *builder, const struct sender *sender,
			       const struct gpt_agent_context *context);
bool builder_add_agent_stream(struct builder *builder, const struct sender *sender,
			      const struct gpt_agent_stream *stream);

/* ---- ranges that the program names (NVTX) ------------------------------------------------------------------------ */

/* False: it makes no sense, e.g. time goes backwards. */
bool builder_add_range(struct builder *builder, struct process_image program, const struct new_range *range);

/* Starts and ends of ranges were lost in that interval, for lack of room. */
void builder_lose_ranges(struct builder *builder, struct process_image program, uint64_t count, uint64_t from_ns,
			 uint64_t to_ns);

/* ---- ops of PyTorch ---------------------------------------------------------------------------------------------- */

/* The text of a key of ops; comes before the first op that has the key. */
void builder_add_op_text(struct builder *builder, struct process_image program, uint32_t key, struct text text);
/* False: not a text in the format of op_inputs.h. */
bool builder_add_op_inputs(struct builder *builder, struct process_image program, uint32_t key, struct text text);
bool builder_add_agent_op(struct builder *builder, const struct sender *sender, const struct gpt_agent_op *op);
bool builder_add_agent_torch_memory(struct builder *builder, const struct sender *sender,
				    const struct gpt_agent_torch_memory *event);
/* Whether memory events are reported; detail: why something is not. */
void builder_add_torch_memory_state(struct builder *builder, struct process_image program,
				    const struct gpt_agent_torch_memory_state *state, struct text detail);
/* There is a schedule: only some steps are recorded. */
bool builder_add_agent_schedule(struct builder *builder, const struct sender *sender,
				const struct gpt_agent_schedule *schedule);
/* False: there are too many. */
bool builder_add_agent_step(struct builder *builder, const struct sender *sender, const struct gpt_agent_step *step);
/* Whether ops are observed; detail: why they are not. */
void builder_add_op_state(struct builder *builder, struct process_image program, const struct gpt_agent_ops *state,
			  struct text detail);
