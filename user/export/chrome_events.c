/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of the timeline: CUDA calls on the CPU side, their work on the GPU side, the arrows between them. */
#include "export/chrome.h"

#define HEAD(text) (text), sizeof(text) - 1

void chrome_put_slice(struct chrome *chrome, const char *head, size_t head_length, uint32_t pid, uint32_t tid,
		      uint64_t start_ns, uint64_t end_ns)
{
	struct sink *out = chrome->out;

	sink_put(out, head, head_length);
	sink_literal(out, ",\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, tid);
	sink_literal(out, ",\"ts\":");
	sink_us(out, start_ns - chrome->base_ns);
	sink_literal(out, ",\"dur\":");
	sink_us(out, end_ns - start_ns);
	sink_literal(out, ",\"args\":{");
}

/* The arrow's number: the correlation for the first operation of a call, one of its own for the others of a graph. */
static uint64_t flow_id(const struct chrome *chrome, uint32_t op)
{
	const struct model *model = chrome->model;
	uint32_t call = model->gpu[op].call;

	if (model->calls[call].first_gpu == op)
		return chrome_correlation(chrome, call);
	return chrome->correlations + model->call_count + op;
}

/* An arrow points forward in time, and Perfetto counts one that does not as an error. */
static bool has_flow(const struct chrome *chrome, uint32_t op)
{
	const struct model_gpu *gpu = &chrome->model->gpu[op];

	return gpu->call != NONE && chrome->gpu_track[op] != TRACK_NONE &&
	       gpu->start_ns >= chrome->model->calls[gpu->call].start_ns;
}

static void put_flow(struct chrome *chrome, bool begins, uint32_t op, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct sink *out = chrome->out;

	if (begins)
		sink_literal(out, ",\n{\"ph\":\"s\",\"id\":");
	else
		sink_literal(out, ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
	sink_u64(out, flow_id(chrome, op));
	sink_literal(out, ",\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, tid);
	sink_literal(out, ",\"ts\":");
	sink_us(out, time_ns - chrome->base_ns);
	sink_literal(out, ",\"cat\":\"ac2g\",\"name\":\"ac2g\"}");
}

static void put_call(struct chrome *chrome, uint32_t index)
{
	const struct model *model = chrome->model;
	const struct model_call *call = &model->calls[index];
	uint32_t pid = chrome->pids[model->threads[call->thread].process], tid = chrome->tids[call->thread];
	struct sink *out = chrome->out;

	if (GPT_API_DOMAIN(call->api) == GPT_DOMAIN_DRIVER)
		sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":\"");
	else
		sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"");
	sink_text(out, api_name(call->api));
	chrome_put_slice(chrome, HEAD("\""), pid, tid, call->start_ns, chrome_call_end(chrome, index));
	chrome_put_call_args(chrome, index);
	sink_literal(out, "}}");
	for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next)
		if (has_flow(chrome, op))
			put_flow(chrome, true, op, pid, tid, call->start_ns);
}

void chrome_put_calls(struct chrome *chrome)
{
	for (uint32_t i = 0; i < chrome->model->call_count && !chrome->out->error; i++)
		if (chrome_has_call(chrome, &chrome->model->calls[i]))
			put_call(chrome, i);
}

void chrome_put_gpu(struct chrome *chrome)
{
	static const struct {
		const char *text;
		size_t length;
	} heads[MODEL_GPU_KINDS] = {
		[MODEL_KERNEL] = {HEAD(",\n{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":")},
		[MODEL_MEMCPY] = {HEAD(",\n{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":")},
		[MODEL_MEMSET] = {HEAD(",\n{\"ph\":\"X\",\"cat\":\"gpu_memset\",\"name\":")},
	};
	const struct model *model = chrome->model;
	char buffer[256];

	for (uint32_t i = 0; i < model->gpu_count && !chrome->out->error; i++) {
		const struct model_gpu *op = &model->gpu[i];
		uint32_t pid = chrome_device_pid(op->device), tid;

		if (chrome->gpu_track[i] == TRACK_NONE)
			continue;
		tid = chrome->streams.all.items[chrome->gpu_track[i]].tid;
		sink_short(chrome->out, heads[op->kind].text, heads[op->kind].length);
		sink_json(chrome->out, gpu_name(model, op, buffer, sizeof(buffer)));
		chrome_put_slice(chrome, "", 0, pid, tid, op->start_ns, op->end_ns);
		chrome_put_gpu_args(chrome, i);
		sink_literal(chrome->out, "}}");
		if (has_flow(chrome, i))
			put_flow(chrome, false, i, pid, tid, op->start_ns);
	}
}

/* Kineto's names for CUpti_ActivityOverheadKind (cupti_activity.h, 13.0). */
static const char *overhead_name(uint32_t kind)
{
	static const struct {
		uint32_t kind;
		const char *name;
	} names[] = {
		{1, "Driver Compiler"},
		{1u << 16, "Buffer Flush"},
		{2u << 16, "Instrumentation"},
		{3u << 16, "Resource"},
		{4u << 16, "Runtime Triggered Module Loading"},
		{5u << 16, "Lazy Function Loading"},
		{6u << 16, "Command Buffer Full"},
		{7u << 16, "Activity Buffer Request"},
		{8u << 16, "UVM Activity Init"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].kind == kind)
			return names[i].name;
	return "Unknown";
}

void chrome_put_overheads(struct chrome *chrome)
{
	for (uint32_t k = 0; k < chrome->overhead_count; k++) {
		const struct model_overhead *overhead = &chrome->model->overheads[chrome->overhead_order[k]];

		if (chrome->overhead_track[k] == TRACK_NONE)
			continue;
		sink_literal(chrome->out, ",\n{\"ph\":\"X\",\"cat\":\"overhead\",\"name\":");
		sink_json(chrome->out, overhead_name(overhead->kind));
		chrome_put_slice(chrome, "", 0, CHROME_OVERHEAD_PID,
				 chrome->overheads.all.items[chrome->overhead_track[k]].tid, overhead->start_ns,
				 overhead->end_ns);
		sink_literal(chrome->out, "\"process\":");
		sink_u64(chrome->out, chrome->model->processes[overhead->process].pid);
		sink_literal(chrome->out, "}}");
	}
}
