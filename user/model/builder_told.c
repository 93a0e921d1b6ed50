/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What inputs tell (builder.h), each to the table that keeps it. */
#include <stdlib.h>
#include <string.h>

#include "base/generated_path.h"
#include "base/path.h"
#include "model/op_inputs.h"
#include "model/steps.h"
#include "model/tables.h"

/*
 * An agent's clock sample further than this from the batch that brought it is not CLOCK_MONOTONIC of this
 * machine (a time namespace shifts it): the collector's samples are used instead.
 */
#define SAMPLE_AGE_MAX_NS (600ull * 1000000000)

static const char *keep(struct builder *builder, struct text text)
{
	return string_keep(&builder->strings, text.bytes, text.size);
}

void builder_see_time(struct builder *builder, uint64_t time_ns)
{
	builder->told_ns = time_ns;
	if (time_ns > builder->last_ns)
		builder->last_ns = time_ns;
}

/* ---- the recording ----------------------------------------------------------------------------------------------- */

void builder_set_start(struct builder *builder, uint64_t start_ns, int64_t wall_offset_ns)
{
	builder->model->start_ns = builder->last_ns = start_ns;
	model_source(builder->model)->wall_offset_ns = wall_offset_ns;
}

void builder_set_source(struct builder *builder, struct text version, struct text host, struct text kernel,
			struct text target, uint32_t cpus)
{
	struct model_source *source = model_source(builder->model);

	source->version = keep(builder, version);
	source->host = keep(builder, host);
	source->kernel = keep(builder, kernel);
	source->target = keep(builder, target);
	source->cpus = cpus;
}

void builder_set_tool(struct builder *builder, struct text tool)
{
	model_source(builder->model)->tool = keep(builder, tool);
}

void builder_set_boot(struct builder *builder, struct text boot)
{
	model_source(builder->model)->boot = keep(builder, boot);
}

void builder_set_wishes(struct builder *builder, uint32_t min_complete, bool metric_launches,
			enum model_gpu_times gpu_times)
{
	builder->model->min_complete = min_complete < MODEL_COMPLETE ? min_complete : MODEL_COMPLETE;
	builder->model->metric_launches = metric_launches;
	if (gpu_times != MODEL_GPU_TIMES_UNKNOWN)
		builder->model->gpu_times = gpu_times;
}

void builder_set_end(struct builder *builder, const struct new_end *end)
{
	struct model_receipt *receipt = &model_source(builder->model)->receipt;

	builder_see_time(builder, end->time_ns);
	builder->ended = true;
	builder->model->end_ns = end->time_ns;
	memcpy(receipt->counters, end->counters, sizeof(receipt->counters));
	receipt->cpu_ns = end->cpu_ns;
	receipt->ring_bytes = end->ring_bytes;
	receipt->ring_bytes_max = end->ring_bytes_max;
	receipt->end_reason = end->reason;
}

void builder_set_torn(struct builder *builder)
{
	builder->torn = true;
}

void builder_add_note(struct builder *builder, struct text text)
{
	array_push(&builder->notes, keep(builder, text));
}

void builder_add_probes(struct builder *builder, struct text text)
{
	array_push(&builder->probes, keep(builder, text));
}

void builder_add_clock_sample(struct builder *builder, struct clock_sample sample)
{
	builder_see_time(builder, sample.mono_ns);
	if (builder->first)
		return;
	wall_clock_add_sample(&builder->clock.collector, sample);
}

void builder_note_clock_error(struct builder *builder, uint64_t error_ns)
{
	if (!builder->first && error_ns > builder->clock.error_ns)
		builder->clock.error_ns = error_ns;
}

void builder_count_bad(struct builder *builder)
{
	model_source(builder->model)->receipt.bad_records++;
}

/* ---- processes and threads --------------------------------------------------------------------------------------- */

struct program builder_program(struct builder *builder, uint32_t pid)
{
	return process_table_program(&builder->processes, pid);
}

struct program builder_program_at(struct builder *builder, uint32_t pid, uint64_t time_ns)
{
	return process_table_program_at(&builder->processes, pid, time_ns);
}

void builder_add_thread(struct builder *builder, const struct new_thread *thread)
{
	builder_see_time(builder, thread->time_ns);
	process_table_add_thread(&builder->processes, thread);
}

void builder_add_fork(struct builder *builder, const struct new_fork *fork)
{
	builder_see_time(builder, fork->time_ns);
	process_table_add_fork(&builder->processes, fork);
}

void builder_add_exec(struct builder *builder, uint32_t pid, uint64_t time_ns, struct text name)
{
	uint32_t process = process_table_find(&builder->processes, pid);

	builder_see_time(builder, time_ns);
	agents_process_execs(&builder->agents, process);
	ranges_process_execs(&builder->ranges, pid, time_ns);
	if (!builder->first)
		gaps_process_execs(&builder->gaps, pid, time_ns);
	close_python_spans(builder, process, time_ns);
	process_table_add_exec(&builder->processes, pid, time_ns, name);
}

void builder_add_exit(struct builder *builder, uint32_t pid, uint64_t time_ns)
{
	builder_see_time(builder, time_ns);
	process_table_add_exit(&builder->processes, pid, time_ns);
}

void builder_describe_process(struct builder *builder, const struct new_description *description)
{
	builder_see_time(builder, description->time_ns);
	process_table_describe(&builder->processes, description);
}

/* ---- code, stacks, calls ----------------------------------------------------------------------------------------- */

void builder_add_code(struct builder *builder, uint32_t pid, const struct new_code *code)
{
	struct program program = builder_program(builder, pid);

	if (builder->reading != READING_FIRST)
		codes_add(&builder->codes, program.space, code);
}

bool builder_add_code_lines(struct builder *builder, uint32_t pid, uint64_t code, uint32_t offset, const void *bytes,
			    uint32_t size)
{
	struct program program = builder_program(builder, pid);

	return builder->reading == READING_FIRST ||
	       codes_add_lines(&builder->codes, program.space, code, offset, bytes, size);
}

void builder_add_generated_line(struct builder *builder, const struct new_generated_line *line)
{
	if (builder->first)
		return; /* all are the first reading's, as a slice may end before they are told */
	array_push(&builder->generated_lines,
		   ((struct model_generated_line){.file = keep(builder, line->file),
						  .line = line->line,
						  .kernel = keep(builder, line->kernel),
						  .nodes = keep(builder, line->nodes),
						  .ops = keep(builder, line->ops),
						  .kernel_file = keep(builder, line->kernel_file),
						  .kernel_line = line->kernel_line}));
}

void builder_remove_code(struct builder *builder, uint32_t pid, uint64_t code)
{
	codes_remove(&builder->codes, builder_program(builder, pid).space, code);
}

void builder_add_stack(struct builder *builder, uint32_t pid, const struct new_stack *stack)
{
	struct program program = builder_program(builder, pid);

	if (builder->reading != READING_FIRST)
		stacks_add_python(&builder->stacks, program.space, stack);
}

void builder_add_taken_stack(struct builder *builder, uint32_t pid, const struct new_taken_stack *taken)
{
	struct program program = builder_program(builder, pid);

	if (taken->time_ns < builder->model->start_ns)
		return;
	if (builder->reading == READING_FIRST)
		survey_note_begin(&builder->survey, NONE, taken->time_ns);
	else
		taken_stacks_add(&builder->taken, program.space, taken,
				 stacks_find(&builder->stacks, program.space, taken->stack));
}

void builder_add_native_stack(struct builder *builder, uint32_t pid, uint64_t key, const uint64_t *ips, uint32_t depth)
{
	struct program program = builder_program(builder, pid);

	if (builder->reading != READING_FIRST)
		stacks_add_native(&builder->stacks, program.space, key, ips, depth);
}

void builder_add_native_symbol(struct builder *builder, uint32_t pid, uint64_t ip, struct text symbol,
			       struct text module)
{
	struct program program = builder_program(builder, pid);

	/* a second reading knows all names from the first, as they come behind the stacks that they are in */
	if (!builder->first)
		stacks_add_symbol(&builder->stacks, program.space, ip, symbol, module);
}

static void note_earlier(struct builder *builder, const struct new_call *call)
{
	uint32_t process = process_table_find(&builder->processes, call->pid);
	uint32_t *latest = &builder->processes.states.items[process].earlier_corr;

	if (call->corr && (!*latest || (int32_t)(call->corr - *latest) > 0))
		*latest = call->corr;
}

void builder_add_call(struct builder *builder, const struct new_call *call)
{
	/* other probes were still being put in place */
	if (call->time_ns < builder->model->start_ns) {
		note_earlier(builder, call);
		return;
	}
	builder_see_time(builder, call->time_ns);
	if (builder->reading == READING_FIRST) {
		learn_call(builder, call);
		return;
	}
	calls_add(&builder->calls, call);
	if (builder->first)
		survey_see_call(&builder->survey, builder_program(builder, call->pid).space, call->corr);
}

bool builder_add_return(struct builder *builder, struct program program, const struct new_return *back)
{
	enum told what = told(builder, program, back->corr, SOURCE_CLOCK_MONOTONIC, 0);
	uint32_t call, thread;

	if (what == TOLD_LATE)
		keep_late(builder, &(struct late){.kind = LATE_RETURN, .program = program, .back = *back});
	if (builder->reading == READING_FIRST)
		learn_return(builder, program, back);
	if (what != TOLD_NOW)
		return back->corr != 0;
	call = builder->first ? NONE : calls_find(&builder->calls, program.space, back->corr);
	if (call != NONE) {
		thread = builder->calls.list.items[call].thread;
		if (builder->processes.threads.items[thread].tid != back->tid)
			ranges_learn_tid(&builder->ranges, program.space, back->tid, thread);
	}
	return calls_add_return(&builder->calls, program.space, back);
}

bool builder_add_api_activity(struct builder *builder, struct program program, const struct new_api_activity *activity)
{
	enum told what;

	if (!api_activity_makes_sense(activity))
		return false;
	learn_activity(builder, program, activity);
	what = told(builder, program, 0, activity->clock, activity->span.start_ns);
	if (what == TOLD_LATE)
		keep_late(builder,
			  &(struct late){.kind = LATE_API_ACTIVITY, .program = program, .activity = *activity});
	else if (what == TOLD_NOW)
		api_activities_add(&builder->api_activities, program, activity);
	return true;
}

/* ---- the agent and CUPTI ----------------------------------------------------------------------------------------- */

void builder_add_agent_state(struct builder *builder, struct program program, const struct new_agent_state *state)
{
	agents_add_state(&builder->agents, program.process, state);
}

void builder_set_agent_losses(struct builder *builder, struct program program, const struct model_agent_losses *losses)
{
	builder->processes.list.items[program.process].agent_losses = *losses;
}

void builder_add_foreign_losses(struct builder *builder, const struct model_agent_losses *losses)
{
	agents_add_past(&builder->agents, losses);
}

bool builder_add_agent_clock_sample(struct builder *builder, struct program program, uint64_t told_ns,
				    struct clock_sample sample)
{
	struct process_state *state = &builder->processes.states.items[program.process];
	uint64_t age = told_ns > sample.mono_ns ? told_ns - sample.mono_ns : sample.mono_ns - told_ns;

	if (age > SAMPLE_AGE_MAX_NS)
		return false;
	if (builder->first)
		return true;
	if (state->clock == NONE)
		state->clock = wall_clock_add_agent(&builder->clock);
	wall_clock_add_sample(&builder->clock.agents.items[state->clock], sample);
	return true;
}

void builder_add_registration(struct builder *builder, uint32_t pid, uint64_t time_ns, bool own)
{
	if (builder->first)
		process_table_find(&builder->processes, pid);
	else
		gaps_add_registration(&builder->gaps, pid, time_ns, own);
}

/* "add_kernel (kernels.py:12)" */
static char *kernel_label(const char *name, const char *place)
{
	const char *base = path_base(place), *colon = strrchr(base, ':');
	char *file = xasprintf("%.*s", (int)(colon ? colon - place : 0), place), *shortened = NULL, *label;

	if (colon && file_is_generated(file))
		shortened = generated_name_shorten(path_base(file), (uint32_t)strtoul(colon + 1, NULL, 10));
	label = xasprintf("%s (%s)", name, shortened ? shortened : base);
	free(shortened);
	free(file);
	return label;
}

void builder_add_name(struct builder *builder, struct program program, uint32_t key, struct text name,
		      struct text place)
{
	uint32_t string = string_intern_mangled(&builder->strings, name.bytes, name.size), second;
	char *label;

	*lookup_put(&builder->kernel_names, program.space, key, string) = string;
	builder->kernel_name = (struct lookup_latest){0};
	if (!place.size)
		return;
	second = string_intern(&builder->strings, place.bytes, place.size);
	*lookup_put(&builder->kernel_places, program.space, key, second) = second;
	label = kernel_label(string_at(&builder->strings, string), string_at(&builder->strings, second));
	second = string_intern(&builder->strings, label, strlen(label));
	*lookup_put(&builder->kernel_labels, program.space, key, second) = second;
	free(label);
}

void builder_add_graph_node(struct builder *builder, struct program program, uint64_t node, uint32_t corr)
{
	if (!builder->first)
		graphs_add_node(&builder->graphs, program.space, node, corr);
}

void builder_add_graph_clone(struct builder *builder, struct program program, uint64_t node, uint64_t source)
{
	if (!builder->first)
		graphs_add_clone(&builder->graphs, program.space, node, source);
}

bool builder_add_device(struct builder *builder, struct program program, const struct new_device *device)
{
	return device_table_add(&builder->devices, program.process, device);
}

void builder_add_context(struct builder *builder, struct program program, uint32_t context, uint32_t device, bool mps)
{
	if (!builder->first)
		device_table_add_context(&builder->devices, program.process, context, device);
	if (mps)
		builder->processes.list.items[program.process].mps = true;
}

void builder_add_stream(struct builder *builder, struct program program, const struct new_stream *stream)
{
	if (!builder->first)
		device_table_add_stream(&builder->devices, program.space, stream);
}

/* ---- ranges that the program names ------------------------------------------------------------------------------- */

/* Parts end before what is told later. */
static void note_range(struct builder *builder, const struct new_range *range)
{
	if (builder->reading == READING_FIRST)
		survey_note_begin(&builder->survey, NONE, range->time_ns);
}

bool builder_mark_range(struct builder *builder, struct program program, const struct new_range *range)
{
	note_range(builder, range);
	return ranges_mark(&builder->ranges, program, range);
}

bool builder_push_range(struct builder *builder, struct program program, const struct new_range *range)
{
	note_range(builder, range);
	return ranges_push(&builder->ranges, program, range);
}

bool builder_pop_range(struct builder *builder, struct program program, const struct new_range *range)
{
	note_range(builder, range);
	return ranges_pop(&builder->ranges, program, range);
}

bool builder_start_range(struct builder *builder, struct program program, const struct new_range *range)
{
	note_range(builder, range);
	return ranges_start(&builder->ranges, program, range);
}

bool builder_end_range(struct builder *builder, struct program program, const struct new_range *range)
{
	note_range(builder, range);
	return ranges_end(&builder->ranges, program, range);
}

void builder_lose_ranges(struct builder *builder, struct program program, uint64_t count, uint64_t from_ns,
			 uint64_t to_ns)
{
	ranges_lose(&builder->ranges, program, count, from_ns, to_ns);
}

/* ---- ops of PyTorch ---------------------------------------------------------------------------------------------- */

void builder_add_op_text(struct builder *builder, struct program program, uint32_t key, struct text text)
{
	ops_add_text(&builder->ops, program, key, text);
}

bool builder_add_op_inputs(struct builder *builder, struct program program, uint32_t key, struct text text)
{
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];

	if (!op_inputs_split(text.bytes, text.size, parts))
		return false;
	ops_add_text(&builder->ops, program, key, text);
	return true;
}

bool builder_add_op(struct builder *builder, struct program program, const struct new_op *op)
{
	struct op_texts texts = {
		.name = ops_text(&builder->ops, program, op->name),
		.inputs = op->inputs ? ops_text(&builder->ops, program, op->inputs) : NONE,
		.collective = op->collective ? ops_text(&builder->ops, program, op->collective) : NONE,
	};
	enum told what;

	if (op->end_ns < op->start_ns || builder->ops.arrivals.count >= NONE - 1)
		return false;
	/* what an agent had left over from another trace */
	if (op->start_ns < builder->model->start_ns)
		return true;
	if (!builder->first)
		ops_note_thread(&builder->ops, program, op->tid);
	what = told(builder, program, 0, SOURCE_CLOCK_MONOTONIC, op->start_ns);
	if (what == TOLD_LATE)
		keep_late(builder, &(struct late){.kind = LATE_OP, .program = program, .op = *op, .texts = texts});
	else if (what == TOLD_NOW)
		ops_add(&builder->ops, program, op, texts);
	return true;
}

void builder_add_op_state(struct builder *builder, struct program program, const struct new_op_state *state)
{
	if (!builder->first)
		ops_add_state(&builder->ops, program, state);
}

/* No computer has a PB; sums of sizes that a target made up must not run over. */
#define TORCH_BYTES_MAX (1ll << 50)

bool builder_add_torch_memory(struct builder *builder, struct program program, const struct new_torch_memory *event)
{
	enum told what;

	if (event->bytes >= TORCH_BYTES_MAX || event->bytes <= -TORCH_BYTES_MAX ||
	    builder->torch_memory.arrivals.count >= NONE - 1 ||
	    (event->bytes < 0) != (event->kind == GPT_AGENT_TORCH_MEMORY_FREED && event->has_totals))
		return false;
	/* what an agent had left over from another trace */
	if (event->time_ns < builder->model->start_ns)
		return true;
	if (!builder->first)
		ops_note_thread(&builder->ops, program, event->tid);
	what = told(builder, program, 0, SOURCE_CLOCK_MONOTONIC, event->time_ns);
	if (what == TOLD_LATE)
		keep_late(builder, &(struct late){.kind = LATE_TORCH_MEMORY, .program = program, .torch = *event});
	else if (what == TOLD_NOW)
		torch_memory_add(&builder->torch_memory, program, event);
	return true;
}

void builder_add_torch_memory_state(struct builder *builder, struct program program,
				    const struct new_torch_memory_state *state)
{
	if (!builder->first)
		torch_memory_add_state(&builder->torch_memory, &builder->processes, program, state);
}

/* ---- steps of a schedule ----------------------------------------------------------------------------------------- */

void builder_set_schedule(struct builder *builder, uint64_t first)
{
	builder->model->schedule = (struct model_schedule){.is_there = true, .first = first};
}

/* Of a long trace the first reading has all of them. */
bool builder_add_told_step(struct builder *builder, struct program program, const struct new_told_step *told)
{
	struct told_step_arrival arrival = {.tid = told->tid};

	if (builder->first || told->time_ns < builder->model->start_ns)
		return true;
	builder->late_steps += told->late;
	builder->steps_lost += told->lost;
	if (builder->told_steps_arrived.count >= STEPS_MAX)
		return false;
	ops_note_thread(&builder->ops, program, told->tid);
	arrival.step = (struct model_told_step){.time_ns = told->time_ns,
						.number = told->number,
						.process = program.process,
						.thread = NONE,
						.cycle = told->cycle,
						.phase = told->phase,
						.by = told->by};
	array_push(&builder->told_steps_arrived, arrival);
	return true;
}

void find_told_steps(struct builder *builder)
{
	for (size_t i = 0; i < builder->told_steps_arrived.count; i++) {
		struct told_step_arrival *arrival = &builder->told_steps_arrived.items[i];

		arrival->step.thread = ops_thread(&builder->ops, arrival->step.process, arrival->tid);
		array_push(&builder->told_steps, arrival->step);
	}
	builder->told_steps_arrived.count = 0;
}
