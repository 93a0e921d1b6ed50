/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/file.h"

#include <stdio.h>
#include <string.h>

#include "model/model.h"

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

static void put_device(struct sink *out, const struct chrome_numbers *numbers, const struct model_device *device)
{
	sink_literal(out, "{");
	put_number(out, "id", chrome_device_pid(numbers, device->id));
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
	for (uint32_t i = 0; i < chrome->timeline->model->device_count; i++) {
		if (i)
			sink_literal(chrome->out, ",\n  ");
		put_device(chrome->out, &chrome->numbers, &chrome->timeline->model->devices[i]);
	}
	sink_literal(chrome->out, "],\n");
}

/* Versions, from the first process that knows them. */
static void put_versions(struct chrome *chrome)
{
	const struct timeline *timeline = chrome->timeline;

	for (uint32_t i = 0; i < timeline->groups.count; i++) {
		const struct model_process *process;

		if (timeline->groups.items[i].kind != TIMELINE_GROUP_PROCESS)
			continue;
		process = &timeline->model->processes[timeline->groups.items[i].process];
		if (!process->cupti_version)
			continue;
		put_number(chrome->out, "cupti_version", process->cupti_version);
		put_number(chrome->out, "cuda_runtime_version", process->runtime_version);
		put_number(chrome->out, "cuda_driver_version", process->driver_version);
		return;
	}
}

/* Where the process runs, as far as it is known. */
static void put_place(struct sink *out, const struct model_process *process)
{
	const struct {
		const char *name, *text;
	} texts[] = {
		{"cgroup", process->cgroup},
		{"container", process->container},
		{"container name", process->container_name},
		{"pod", process->pod},
		{"pod name", process->pod_name},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (*texts[i].text)
			put_string(out, texts[i].name, texts[i].text);
}

static void put_process(struct chrome *chrome, struct sink *out, uint32_t group)
{
	static const char *const agent_states[] = {
		"not heard of",
		[GPT_AGENT_LOADED] = "loaded",
		[GPT_AGENT_READY] = "ready",
		[GPT_AGENT_STOPPED] = "stopped",
		[GPT_AGENT_FAILED] = "failed",
		[GPT_AGENT_BORROWING] = "borrows CUPTI",
	};
	const struct model_process *process =
		&chrome->timeline->model->processes[chrome->timeline->groups.items[group].process];
	bool known = process->agent_state < sizeof(agent_states) / sizeof(agent_states[0]);
	char python[16] = "";

	if (process->python)
		snprintf(python, sizeof(python), "%d.%d", process->python >> 8, process->python & 0xff);
	sink_literal(out, "{");
	put_number(out, "pid", process->pid);
	put_number(out, "shown as", chrome->numbers.pids.items[group]);
	put_string(out, "name", process->name);
	put_string(out, "command", process->cmdline);
	if (process_program_ns(process) > chrome->timeline->start_ns)
		put_number(out, "began_ns",
			   timeline_time(chrome->timeline, process_program_ns(process)) - chrome->start_ns);
	if (process->rank >= 0)
		put_number(out, "rank", (uint64_t)process->rank);
	if (process->local_rank >= 0)
		put_number(out, "local rank", (uint64_t)process->local_rank);
	if (process->uid != NONE)
		put_number(out, "user", process->uid);
	put_place(out, process);
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

/* Digit by digit, so that a value that was rounded down is not rounded up. */
static void put_thousandths(struct sink *out, uint32_t value)
{
	const char digits[] = {'.', (char)('0' + value / 100 % 10), (char)('0' + value / 10 % 10),
			       (char)('0' + value % 10)};

	sink_u64(out, value / 1000);
	sink_short(out, digits, sizeof(digits));
}

/* Whether a cause of loss is listed: only what was asked for can have been lost. */
static bool is_named(const struct timeline *timeline, const struct model_loss *loss)
{
	if (loss->count || strcmp(loss->name, "ops_lost") == 0)
		return loss->count || timeline->has_ops;
	return strcmp(loss->name, "op_stacks_lost") != 0 && strcmp(loss->name, "op_inputs_lost") != 0 &&
	       strcmp(loss->name, "late_steps") != 0 && strcmp(loss->name, "steps_lost") != 0 &&
	       strcmp(loss->name, "kernel_places_lost") != 0 &&
	       (timeline->has_torch_memory || strcmp(loss->name, "torch_memory_lost") != 0);
}

/* False for values that another tool, which recorded the trace, does not report. */
static bool is_known(const struct model *model, const char *name)
{
	return !model_is_foreign(model) || (strcmp(name, "lost") != 0 && strcmp(name, "clock_error_ns") != 0);
}

static void put_receipt(struct chrome *chrome, struct sink *out)
{
	const struct model_receipt *receipt = &model_source(chrome->timeline->model)->receipt;
	const struct timeline_omissions *omitted = &chrome->timeline->omitted;
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
		{"gpu_operations_migrated", receipt->gpu_ops_migrated},
		{"gpu_operations_ridden", receipt->gpu_ops_foreign},
		{"gpu_ns", receipt->gpu_ns},
		{"gpu_ns_with_line", receipt->gpu_ns_with_line},
		{"gaps", receipt->gaps},
		{"gap_ns", receipt->gap_ns},
		{"gap_launches", receipt->gap_launches},
		{"cut_launches", receipt->cut_launches},
		{"cut_processes", receipt->cut_processes},
		{"cut_ns", receipt->cut_ns},
		{"graph_ns", receipt->graph_ns},
		{"graph_ns_captured", receipt->graph_ns_captured},
		{"lost", receipt->lost},
		{"early", receipt->early},
		{"early_max_ns", receipt->early_max_ns},
		{"bad_records", receipt->bad_records},
#define BAD(enumerator, name, words) {name, receipt->bad_reasons[enumerator]},
		GPT_BAD_REASONS(BAD)
#undef BAD
			{"python_unpaired", receipt->python_unpaired},
		{"clock_error_ns", receipt->clock_error_ns},
		{"clock_steps", receipt->clock_steps},
		{"file_untimed", omitted->untimed},
		{"file_launch_not_seen", omitted->unseen},
		{"file_not_plotted", omitted->gpu},
		{"file_syncs_not_plotted", omitted->syncs},
		{"file_jit_not_plotted", omitted->jits},
		{"file_ranges_not_plotted", omitted->ranges},
		{"file_waits_not_plotted", omitted->waits},
	};

	struct model_loss losses[MODEL_LOSSES];

	put_key(out, "receipt");
	sink_literal(out, "{");
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (is_known(chrome->timeline->model, numbers[i].name))
			put_number(out, numbers[i].name, numbers[i].value);
	if (chrome->timeline->has_ops)
		put_number(out, "file_ops_not_plotted", omitted->ops);
	model_losses(receipt, losses);
	for (size_t i = 0; i < MODEL_LOSSES; i++)
		if (is_named(chrome->timeline, &losses[i]))
			put_number(out, losses[i].name, losses[i].count);
	put_key(out, "complete_percent");
	put_thousandths(out, model_completeness(chrome->timeline->model));
	sink_literal(out, ", \"truncated\": ");
	sink_text(out, receipt->truncated ? "true" : "false");
	sink_literal(out, "}");
}

static void put_labels(struct sink *out, const struct model_source *source)
{
	if (!source->label_count)
		return;
	put_key(out, "labels");
	sink_char(out, '{');
	for (uint32_t i = 0; i < source->label_count; i++) {
		const char *value = strchr(source->labels[i], '=') + 1;
		AUTO_FREE char *name = xasprintf("%.*s", (int)(value - 1 - source->labels[i]), source->labels[i]);

		sink_text(out, i ? ", " : "");
		sink_json(out, name);
		sink_literal(out, ": ");
		sink_json(out, value);
	}
	sink_literal(out, "}, ");
}

void chrome_put_own(struct chrome *chrome, struct sink *out)
{
	const struct model *model = chrome->timeline->model;
	bool first = true;

	sink_literal(out, "{");
	put_string(out, "version", model_source(model)->version);
	put_string(out, "kernel", model_source(model)->kernel);
	put_string(out, "target", model_source(model)->target);
	if (model_is_foreign(model))
		put_string(out, "recorded_by", model_source(model)->tool);
	put_labels(out, model_source(model));
	if (model->slice)
		put_string(out, "slice", model->slice);
	put_number(out, "recorded_ns", model->end_ns > model->start_ns ? model->end_ns - model->start_ns : 0);
	put_receipt(chrome, out);
	sink_literal(out, ",\n  \"processes\": [");
	for (uint32_t i = 0; i < chrome->timeline->groups.count; i++) {
		if (chrome->timeline->groups.items[i].kind != TIMELINE_GROUP_PROCESS)
			continue;
		if (!first)
			sink_literal(out, ",\n    ");
		first = false;
		put_process(chrome, out, i);
	}
	sink_literal(out, "],\n  ");
	put_strings(out, "probes", model->probes, model->probe_count);
	sink_literal(out, ",\n  ");
	put_strings(out, "notes", model->notes, model->note_count);
	sink_literal(out, "}");
}

static void put_named_own(struct chrome *chrome)
{
	put_key(chrome->out, "gputrace");
	chrome_put_own(chrome, chrome->out);
}

/* The rank of the place (from its collectives), else the one that the source file names. */
static struct export_rank rank_of(const struct chrome *chrome)
{
	const struct model_source *source = model_source(chrome->timeline->model);

	if (chrome->place && chrome->place->rank.rank >= 0)
		return chrome->place->rank;
	return (struct export_rank){.rank = source->is_rank ? source->rank : -1, .world = source->world};
}

/* HTA finds it by text search: a blank after the colon, then digits. */
static void put_rank(struct sink *out, struct export_rank rank)
{
	if (rank.rank < 0)
		return;
	put_key(out, "distributedInfo");
	sink_literal(out, "{");
	put_string(out, "backend", "nccl");
	put_number(out, "rank", (uint64_t)rank.rank);
	put_key(out, "world_size");
	sink_u64(out, rank.world > 0 ? (uint64_t)rank.world : 0);
	sink_literal(out, "},\n");
}

/* The wall-clock time at which the file's times begin. */
static int64_t base_of(const struct chrome *chrome)
{
	int64_t offset = model_source(chrome->timeline->model)->wall_offset_ns;

	if (chrome->place && chrome->place->is_aligned)
		offset = chrome->place->wall_offset_ns;
	return (int64_t)(chrome->start_ns + (uint64_t)offset);
}

void chrome_put_head(struct chrome *chrome)
{
	struct sink *out = chrome->out;

	sink_literal(out, "{\"schemaVersion\": 1,\n");
	put_devices(chrome);
	put_rank(out, rank_of(chrome));
	put_versions(chrome);
	put_string(out, "host_name", model_source(chrome->timeline->model)->host);
	put_number(out, "with_stack", 1);
	if (!chrome->timeline->more) {
		put_named_own(chrome);
		sink_literal(out, ",\n");
	}
	sink_literal(out, "\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ");
	sink_i64(out, base_of(chrome));
	sink_literal(out, ",\n\"traceEvents\": [\n");
}

void chrome_put_tail(struct chrome *chrome, bool has_own)
{
	sink_literal(chrome->out, "\n]");
	if (has_own) {
		sink_literal(chrome->out, ",\n");
		put_named_own(chrome);
		sink_literal(chrome->out, "\n");
	}
	sink_literal(chrome->out, "}\n");
}
