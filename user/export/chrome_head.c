/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stands in front of the rows: Kineto's keys, then our own "gputrace" object with the receipt of the trace.
 * HTA's streaming reader stops at traceEvents, so everything comes before it.
 */
#include "export/chrome.h"

#include <inttypes.h>
#include <stdio.h>

static void put_key(struct sink *out, const char *name)
{
	sink_char(out, '"');
	sink_text(out, name);
	sink_literal(out, "\": ");
}

static void put_number(struct sink *out, const char *name, uint64_t value)
{
	put_key(out, name);
	sink_u64(out, value);
	sink_literal(out, ", ");
}

static void put_string(struct sink *out, const char *name, const char *value)
{
	put_key(out, name);
	sink_json(out, value ? value : "");
	sink_literal(out, ", ");
}

static void put_device(struct sink *out, const struct model_device *device)
{
	sink_literal(out, "{");
	put_number(out, "id", chrome_device_pid(device->id));
	put_string(out, "name", device->name);
	put_number(out, "totalGlobalMem", device->memory_bytes);
	put_number(out, "computeMajor", device->compute_major);
	put_number(out, "computeMinor", device->compute_minor);
	put_number(out, "maxThreadsPerBlock", device->max_threads_per_block);
	put_number(out, "maxThreadsPerMultiprocessor", device->max_threads_per_multiprocessor);
	put_number(out, "regsPerBlock", device->max_registers_per_block);
	put_number(out, "warpSize", device->warp_size);
	put_number(out, "sharedMemPerBlock", device->max_shared_per_block);
	put_number(out, "numSms", device->multiprocessors);
	put_number(out, "regsPerMultiprocessor", device->max_registers_per_multiprocessor);
	put_key(out, "sharedMemPerMultiprocessor");
	sink_u64(out, device->max_shared_per_multiprocessor);
	sink_literal(out, "}");
}

static void put_devices(struct chrome *chrome)
{
	sink_literal(chrome->out, "\"deviceProperties\": [");
	for (uint32_t i = 0; i < chrome->model->device_count; i++) {
		if (i)
			sink_literal(chrome->out, ",\n  ");
		put_device(chrome->out, &chrome->model->devices[i]);
	}
	sink_literal(chrome->out, "],\n");
}

/* Versions of the first process that knows them. */
static void put_versions(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		if (!chrome_has_process(chrome, i) || !process->cupti_version)
			continue;
		put_number(chrome->out, "cupti_version", process->cupti_version);
		put_number(chrome->out, "cuda_runtime_version", process->runtime_version);
		put_number(chrome->out, "cuda_driver_version", process->driver_version);
		return;
	}
}

static void put_process(struct chrome *chrome, uint32_t index)
{
	static const char *const agent_states[] = {
		"not heard of",
		[GPT_AGENT_LOADED] = "loaded",
		[GPT_AGENT_READY] = "ready",
		[GPT_AGENT_STOPPED] = "stopped",
		[GPT_AGENT_FAILED] = "failed",
		[GPT_AGENT_BORROWING] = "borrows CUPTI",
	};
	const struct model_process *process = &chrome->model->processes[index];
	bool known = process->agent_state < sizeof(agent_states) / sizeof(agent_states[0]);
	struct sink *out = chrome->out;
	char python[16] = "";

	if (process->python)
		snprintf(python, sizeof(python), "%d.%d", process->python >> 8, process->python & 0xff);
	sink_literal(out, "{");
	put_number(out, "pid", process->pid);
	put_number(out, "shown as", chrome->pids[index]);
	put_string(out, "name", process->name);
	put_string(out, "command", process->cmdline);
	put_string(out, "python", python);
	put_string(out, "agent", known ? agent_states[process->agent_state] : "?");
	put_string(out, "agent detail", process->agent_detail);
	put_string(out, "agent records", process->agent_activity_sets);
	if (process->mps)
		put_string(out, "compute", "MPS");
	put_number(out, "calls", process->calls);
	put_key(out, "gpu operations");
	sink_u64(out, process->gpu_ops);
	sink_literal(out, "}");
}

static void put_strings(struct sink *out, const char *name, const char *const *strings, uint32_t count)
{
	put_key(out, name);
	sink_char(out, '[');
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			sink_literal(out, ", ");
		sink_json(out, strings[i]);
	}
	sink_literal(out, "]");
}

/* Digit by digit: what is rounded down stays so. */
static void put_thousandths(struct sink *out, uint32_t value)
{
	const char digits[] = {'.', (char)('0' + value / 100 % 10), (char)('0' + value / 10 % 10),
			       (char)('0' + value % 10)};

	sink_u64(out, value / 1000);
	sink_short(out, digits, sizeof(digits));
}

static void put_receipt(struct chrome *chrome)
{
	const struct model_receipt *receipt = &model_source(chrome->model)->receipt;
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{"calls", receipt->calls},
		{"calls_with_stack", receipt->calls_with_stack},
		{"launches", receipt->launches},
		{"launches_failed", receipt->launches_failed},
		{"launches_captured", receipt->launches_captured},
		{"launches_expected", receipt->launches_expected},
		{"launches_joined", receipt->launches_joined},
		{"launches_whole", receipt->launches_whole},
		{"launches_short", receipt->launches_short},
		{"launches_agent_away", receipt->launches_agent_away},
		{"launches_no_agent", receipt->launches_no_agent},
		{"launches_with_stack", receipt->launches_with_stack},
		{"gpu_operations", receipt->gpu_ops},
		{"gpu_operations_joined", receipt->gpu_ops_joined},
		{"gpu_operations_untimed", receipt->gpu_ops_untimed},
		{"gpu_operations_before", receipt->gpu_ops_before},
		{"gpu_operations_ridden", receipt->gpu_ops_foreign},
		{"gpu_ns", receipt->gpu_ns},
		{"gpu_ns_with_line", receipt->gpu_ns_with_line},
		{"gaps", receipt->gaps},
		{"gap_ns", receipt->gap_ns},
		{"gap_launches", receipt->gap_launches},
		{"graph_ns", receipt->graph_ns},
		{"graph_ns_captured", receipt->graph_ns_captured},
		{"lost", receipt->lost},
		{"early", receipt->early},
		{"early_max_ns", receipt->early_max_ns},
		{"bad_records", receipt->bad_records},
		{"python_unpaired", receipt->python_unpaired},
		{"clock_error_ns", receipt->clock_error_ns},
		{"clock_steps", receipt->clock_steps},
		{"file_untimed", chrome->untimed},
		{"file_launch_not_seen", chrome->unseen},
		{"file_not_plotted", chrome->not_plotted},
		{"file_syncs_not_plotted", chrome->syncs_not_plotted},
		{"file_jit_not_plotted", chrome->jits_not_plotted},
		{"file_ranges_not_plotted", chrome->ranges_not_plotted},
	};

	struct model_loss losses[MODEL_LOSSES];

	put_key(chrome->out, "receipt");
	sink_literal(chrome->out, "{");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_number(chrome->out, numbers[i].name, numbers[i].value);
	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		put_number(chrome->out, losses[i].name, losses[i].count);
	put_key(chrome->out, "complete_percent");
	put_thousandths(chrome->out, model_completeness(chrome->model));
	sink_literal(chrome->out, ", \"truncated\": ");
	sink_text(chrome->out, receipt->truncated ? "true" : "false");
	sink_literal(chrome->out, "}");
}

static void put_own(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct sink *out = chrome->out;
	bool first = true;

	sink_literal(out, "\"gputrace\": {");
	put_string(out, "version", model_source(model)->version);
	put_string(out, "kernel", model_source(model)->kernel);
	put_string(out, "target", model_source(model)->target);
	put_number(out, "recorded_ns", model->end_ns > model->start_ns ? model->end_ns - model->start_ns : 0);
	put_receipt(chrome);
	sink_literal(out, ",\n  \"processes\": [");
	for (uint32_t i = 0; i < model->process_count; i++) {
		if (!chrome_has_process(chrome, i))
			continue;
		if (!first)
			sink_literal(out, ",\n    ");
		first = false;
		put_process(chrome, i);
	}
	sink_literal(out, "],\n  ");
	put_strings(out, "probes", model->probes, model->probe_count);
	sink_literal(out, ",\n  ");
	put_strings(out, "notes", model->notes, model->note_count);
	sink_literal(out, "},\n");
}

void chrome_put_head(struct chrome *chrome)
{
	struct sink *out = chrome->out;

	sink_literal(out, "{\"schemaVersion\": 1,\n");
	put_devices(chrome);
	put_versions(chrome);
	put_string(out, "host_name", model_source(chrome->model)->host);
	put_number(out, "with_stack", 1);
	put_own(chrome);
	sink_literal(out, "\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ");
	sink_i64(out, (int64_t)(chrome->base_ns + (uint64_t)model_source(chrome->model)->wall_offset_ns));
	sink_literal(out, ",\n\"traceEvents\": [\n");
}

/* ---- names of processes and threads: metadata events --------------------------------------------------- */

static void put_name_head(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, const char *arg)
{
	sink_literal(out, "{\"ph\":\"M\",\"name\":\"");
	sink_text(out, kind);
	sink_literal(out, "\",\"ts\":0.000,\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, tid);
	sink_literal(out, ",\"args\":{\"");
	sink_text(out, arg);
	sink_literal(out, "\":");
}

static void put_order(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, uint64_t order)
{
	sink_literal(out, ",\n");
	put_name_head(out, kind, pid, tid, "sort_index");
	sink_u64(out, order);
	sink_literal(out, "}}");
}

static void put_label(struct sink *out, const char *kind, uint32_t pid, uint32_t tid, const char *arg, const char *text)
{
	sink_literal(out, ",\n");
	put_name_head(out, kind, pid, tid, arg);
	sink_json(out, text);
	sink_literal(out, "}}");
}

static void put_process_names(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct sink *out = chrome->out;
	char text[256];

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];

		if (!chrome_has_process(chrome, i))
			continue;
		put_label(out, "process_name", chrome->pids[i], 0, "name", process->name);
		put_label(out, "process_labels", chrome->pids[i], 0, "labels", "CPU");
		put_order(out, "process_sort_index", chrome->pids[i], 0, chrome->pids[i]);
	}
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		if (!chrome_has_process(chrome, thread->process))
			continue;
		snprintf(text, sizeof(text), "thread %" PRIu32 " (%.200s)", thread->tid, thread->name);
		put_label(out, "thread_name", chrome->pids[thread->process], chrome->tids[i], "name", text);
		put_order(out, "thread_sort_index", chrome->pids[thread->process], chrome->tids[i], chrome->tids[i]);
		if (!chrome->span_tids[i])
			continue;
		snprintf(text, sizeof(text), "thread %" PRIu32 " collections, imports", thread->tid);
		put_label(out, "thread_name", chrome->pids[thread->process], chrome->span_tids[i], "name", text);
		put_order(out, "thread_sort_index", chrome->pids[thread->process], chrome->span_tids[i],
			  chrome->tids[i]);
	}
}

/* GPU processes sort after the CPU's, as Kineto has them. */
#define DEVICE_SORT 5000000u
#define OVERHEAD_SORT 16777226u

static const char *device_name(const struct model *model, uint32_t id)
{
	for (uint32_t i = 0; i < model->device_count; i++)
		if (model->devices[i].id == id)
			return model->devices[i].name;
	return "";
}

/* " (default, priority -5)": what kind of stream it is, as far as that is not the ordinary. */
static void describe_stream(const struct model_gpu *op, char *text, size_t size)
{
	bool is_null = op->stream_flags == GPT_AGENT_STREAM_NULL;

	text[0] = '\0';
	if (is_null && op->priority)
		snprintf(text, size, " (default, priority %d)", op->priority);
	else if (is_null)
		snprintf(text, size, " (default)");
	else if (op->priority)
		snprintf(text, size, " (priority %d)", op->priority);
}

static void put_stream_name(struct chrome *chrome, const struct track *track)
{
	const struct model_process *process = &chrome->model->processes[track->key.part[0]];
	uint32_t pid = chrome_device_pid(track->key.part[1]);
	char text[256], of[64] = "", lane[32] = "", kind[48];

	if (chrome->several)
		snprintf(of, sizeof(of), " of %.20s %" PRIu32, process->name, process->pid);
	if (track->lane)
		snprintf(lane, sizeof(lane), " (overlap %" PRIu32 ")", track->lane);
	describe_stream(&chrome->model->gpu[chrome->track_op[track - chrome->streams.all.items]], kind, sizeof(kind));
	snprintf(text, sizeof(text), "stream %" PRIu32 "%s%s%s", track->key.part[2], kind, of, lane);
	put_label(chrome->out, "thread_name", pid, track->tid, "name", text);
	put_order(chrome->out, "thread_sort_index", pid, track->tid,
		  (uint64_t)track->first * TRACK_LANES_MAX + track->lane);
}

/* A device may have synchronisations and no operations: then this is what names it. */
static void put_device_name(struct chrome *chrome, struct tally *seen, uint32_t device)
{
	uint32_t pid = chrome_device_pid(device);
	char text[256];

	if (tally_at(seen, (struct tally_key){{pid}})->count++)
		return;
	snprintf(text, sizeof(text), "GPU %" PRIu32 " %.200s", device, device_name(chrome->model, device));
	put_label(chrome->out, "process_name", pid, 0, "name", text);
	snprintf(text, sizeof(text), "GPU %" PRIu32, device);
	put_label(chrome->out, "process_labels", pid, 0, "labels", text);
	put_order(chrome->out, "process_sort_index", pid, 0, DEVICE_SORT + pid);
}

static void put_sync_rows(struct chrome *chrome, struct tally *seen)
{
	char text[256];

	for (uint32_t i = 0; i < chrome->sync_rows.all.count; i++) {
		const struct track *row = &chrome->sync_rows.all.items[i];

		put_device_name(chrome, seen, row->key.part[1]);
		chrome_name_sync_row(chrome, row, text, sizeof(text));
		put_label(chrome->out, "thread_name", chrome_device_pid(row->key.part[1]), row->tid, "name", text);
		put_order(chrome->out, "thread_sort_index", chrome_device_pid(row->key.part[1]), row->tid, row->tid);
	}
}

static void put_range_rows(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	char text[256];

	for (uint32_t i = 0; i < chrome->range_rows.all.count; i++) {
		const struct track *row = &chrome->range_rows.all.items[i];
		uint32_t thread = row->key.part[0], pid = chrome->pids[model->threads[thread].process];

		chrome_name_range_row(chrome, row, text, sizeof(text));
		put_label(chrome->out, "thread_name", pid, row->tid, "name", text);
		put_order(chrome->out, "thread_sort_index", pid, row->tid, chrome->tids[thread]);
	}
}

static void put_jit_rows(struct chrome *chrome)
{
	char text[256];

	for (uint32_t i = 0; i < chrome->jit_rows.all.count; i++) {
		const struct track *row = &chrome->jit_rows.all.items[i];
		uint32_t pid = chrome->pids[row->key.part[0]];

		chrome_name_jit_row(row, text, sizeof(text));
		put_label(chrome->out, "thread_name", pid, row->tid, "name", text);
		put_order(chrome->out, "thread_sort_index", pid, row->tid, row->key.part[1]);
	}
}

static void put_device_names(struct chrome *chrome)
{
	struct tally seen = {0};

	for (uint32_t i = 0; i < chrome->streams.all.count; i++) {
		const struct track *track = &chrome->streams.all.items[i];

		put_device_name(chrome, &seen, track->key.part[1]);
		put_stream_name(chrome, track);
	}
	put_sync_rows(chrome, &seen);
	tally_free(&seen);
}

void chrome_put_names(struct chrome *chrome)
{
	/* Always there: consumers take the first event for a name and cannot read an empty array. */
	put_name_head(chrome->out, "process_name", CHROME_OVERHEAD_PID, 0, "name");
	sink_literal(chrome->out, "\"CUPTI overhead\"}}");
	put_order(chrome->out, "process_sort_index", CHROME_OVERHEAD_PID, 0, OVERHEAD_SORT);
	put_process_names(chrome);
	put_jit_rows(chrome);
	put_range_rows(chrome);
	put_device_names(chrome);
}
