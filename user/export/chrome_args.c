/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The args of API rows and GPU rows: Kineto's names and types, because HTA and the TensorBoard plugin read them,
 * and a few of our own.  HTA takes a row for GPU work when its args have `stream`, so what a call was given is
 * named "launch stream" and so on.
 */
#include "export/chrome.h"
#include "timeline/occupancy.h"

void chrome_put_number(struct sink *out, const char *name, int64_t value)
{
	sink_literal(out, ",\"");
	sink_text(out, name);
	sink_literal(out, "\":");
	sink_i64(out, value);
}

static void put_field(struct sink *out, const char *name, uint64_t value)
{
	sink_literal(out, ",\"");
	sink_text(out, name);
	sink_literal(out, "\":");
	sink_u64(out, value);
}

static void put_triple(struct sink *out, const char *name, const uint32_t values[3])
{
	sink_literal(out, ",\"");
	sink_text(out, name);
	sink_literal(out, "\":[");
	for (int i = 0; i < 3; i++) {
		if (i)
			sink_char(out, ',');
		sink_u64(out, values[i]);
	}
	sink_char(out, ']');
}

void chrome_put_code(struct chrome *chrome, uint32_t code, uint32_t line)
{
	const size_t *at = &chrome->code_at[2 * (size_t)code];

	sink_put(chrome->out, chrome->code_text.buffer + at[0], at[1] - at[0]);
	sink_char(chrome->out, '(');
	sink_u64(chrome->out, line);
	sink_literal(chrome->out, "): ");
	sink_put(chrome->out, chrome->code_text.buffer + at[1], at[2] - at[1]);
}

static void put_gap(struct sink *out, const struct model_stack *stack)
{
	if (stack->missing == MODEL_MISSING_UNKNOWN) {
		sink_literal(out, ";[frames left out]");
		return;
	}
	sink_literal(out, ";[");
	sink_u64(out, stack->missing);
	sink_literal(out, " frames left out]");
}

static void put_stack(struct chrome *chrome, const struct model_stack *stack)
{
	const struct model *model = chrome->model;

	sink_literal(chrome->out, ",\"Call stack\":\"");
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		if (i)
			sink_char(chrome->out, ';');
		chrome_put_code(chrome, frame->code, frame->line);
		if (stack->missing && stack->gap == i + 1)
			put_gap(chrome->out, stack);
	}
	sink_char(chrome->out, '"');
	if (stack->missing)
		sink_literal(chrome->out, ",\"Call stack cut\":true");
}

static void put_native(struct chrome *chrome, const struct model_call *call)
{
	const struct model_native *native = &chrome->model->natives[call->native];
	uint32_t first, end;

	model_native_span(chrome->model, call, &first, &end);
	sink_literal(chrome->out, ",\"Native stack\":\"");
	for (uint32_t i = first; i < end; i++) {
		if (i > first)
			sink_char(chrome->out, ';');
		sink_json_part(chrome->out, chrome->model->strings[chrome->model->native_frames[native->first + i]],
			       true);
	}
	sink_char(chrome->out, '"');
}

/* What the call was given, as far as it was taken from its arguments. */
static void put_given(struct sink *out, const struct model_args *args)
{
	if (args->block[0]) {
		put_triple(out, "launch grid", args->grid);
		put_triple(out, "launch block", args->block);
		put_field(out, "launch shared memory", args->shared_bytes);
	}
	if (args->bytes)
		put_field(out, "launch bytes", args->bytes);
	if (args->stream)
		put_field(out, "launch stream", args->stream);
}

/* enum gpt_stack_state */
static const char *const stack_reasons[] = {
	[GPT_STACK_NO_PYTHON] = "no Python in the process",
	[GPT_STACK_NO_THREAD] = "not a Python thread",
	[GPT_STACK_EMPTY] = "no Python frame",
	[GPT_STACK_UNREADABLE] = "could not be read",
	[GPT_STACK_UNKNOWN_LAYOUT] = "this Python is not supported or was not examined yet",
	[GPT_STACK_LOST] = "lost",
	[GPT_STACK_AMBIGUOUS] = "several interpreters on one thread",
};

void chrome_put_call_args(struct chrome *chrome, uint32_t index)
{
	const struct model *model = chrome->model;
	const struct model_call *call = &model->calls[index];
	struct sink *out = chrome->out;

	sink_literal(out, "\"External id\":0");
	put_field(out, "cbid", GPT_API_CBID(call->api));
	put_field(out, "correlation", chrome_correlation(chrome, index));
	if (chrome->renumbered && call->corr)
		put_field(out, "cupti correlation", call->corr);
	if (!call->end_ns) {
		sink_literal(out, ",\"end\":\"not seen\"");
	} else if (call->result) {
		sink_literal(out, ",\"result\":");
		sink_i64(out, call->result);
	}
	if (call->args != NONE)
		put_given(out, &model->args[call->args]);
	if (call->stack_state == GPT_STACK_BACKWARD)
		sink_literal(out, ",\"Call stack of\":\"the call to backward() that this thread works for\"");
	if (call->stack != NONE)
		put_stack(chrome, &model->stacks[call->stack]);
	else if (call->stack_state < sizeof(stack_reasons) / sizeof(stack_reasons[0]) &&
		 stack_reasons[call->stack_state]) {
		sink_literal(out, ",\"no Call stack\":");
		sink_json(out, stack_reasons[call->stack_state]);
	}
	if (call->native != NONE)
		put_native(chrome, call);
}

static void put_kernel_args(struct chrome *chrome, const struct model_gpu *op)
{
	struct occupancy occupancy = occupancy_of(chrome->model, op);
	struct sink *out = chrome->out;

	put_field(out, "registers per thread", op->registers);
	put_field(out, "shared memory", (uint64_t)op->static_shared_bytes + op->dynamic_shared_bytes);
	sink_literal(out, ",\"blocks per SM\":");
	sink_fraction(out, occupancy.blocks_per_sm);
	sink_literal(out, ",\"warps per SM\":");
	sink_fraction(out, occupancy.warps_per_sm);
	put_triple(out, "grid", op->grid);
	put_triple(out, "block", op->block);
	if (op->cluster[0])
		put_triple(out, "cluster", (uint32_t[]){op->cluster[0], op->cluster[1], op->cluster[2]});
	if (op->local_bytes)
		put_field(out, "local memory per thread", op->local_bytes);
	put_field(out, "est. achieved occupancy %", occupancy.percent);
}

static void put_memory_args(struct chrome *chrome, const struct model_gpu *op)
{
	put_field(chrome->out, "bytes", op->bytes);
	if (op->end_ns > op->start_ns) {
		sink_literal(chrome->out, ",\"memory bandwidth (GB/s)\":");
		sink_fraction(chrome->out, (double)op->bytes / (double)(op->end_ns - op->start_ns));
	}
}

/* The call that became a node of the graph, and its innermost line. */
static void put_captured(struct chrome *chrome, uint32_t index)
{
	const struct model *model = chrome->model;
	uint32_t stack = model->calls[index].stack;
	const struct model_frame *frame;

	put_field(chrome->out, "captured by", chrome_correlation(chrome, index));
	if (stack == NONE)
		return;
	frame = &model->frames[model->stack_frames[model->stacks[stack].first]];
	sink_literal(chrome->out, ",\"captured at\":\"");
	chrome_put_code(chrome, frame->code, frame->line);
	sink_char(chrome->out, '"');
}

void chrome_put_gpu_args(struct chrome *chrome, uint32_t index)
{
	const struct model_gpu *op = &chrome->model->gpu[index];
	const struct track *track = &chrome->streams.all.items[chrome->gpu_track[index]];
	uint32_t stream = chrome->streams.all.items[track->first].tid;
	struct sink *out = chrome->out;

	sink_literal(out, "\"External id\":0");
	if (op->kind == MODEL_KERNEL)
		sink_literal(out, ",\"queued\":0");
	put_field(out, "device", chrome_device_pid(op->device));
	put_field(out, "context", op->context);
	put_field(out, "stream", stream);
	put_field(out, "correlation", chrome_gpu_correlation(chrome, index));
	if (op->kind == MODEL_KERNEL)
		put_kernel_args(chrome, op);
	else
		put_memory_args(chrome, op);
	sink_literal(out, ",\"priority\":");
	sink_i64(out, op->priority);
	if (op->kind != MODEL_MEMSET) { /* gpt_agent_memset has none */
		put_field(out, "channel", op->channel);
		put_field(out, "channel_type", op->channel_type);
	}
	if (op->graph) {
		put_field(out, "graph id", op->graph);
		put_field(out, "graph node id", op->graph_node);
	}
	if (op->captured_by != NONE)
		put_captured(chrome, op->captured_by);
	if (op->call == NONE && op->before)
		sink_literal(out, ",\"launch\":\"before the trace\"");
	else if (op->call == NONE)
		sink_literal(out, ",\"launch\":\"not seen\"");
	if (op->corr && chrome_gpu_correlation(chrome, index) != op->corr)
		put_field(out, "cupti correlation", op->corr);
	if (stream != op->stream)
		put_field(out, "cupti stream", op->stream);
	if (chrome->several)
		put_field(out, "process", chrome->model->processes[op->process].pid);
}
