/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory held, and counters of GPUs, as rows: a slice for each time between two changes. */
#include "export/zoom/collect.h"
#include "model/gpu_counters.h"

#define OF_CUDA 0u  /* memory from CUDA since the trace began */
#define OF_TORCH 1u /* memory handed out by PyTorch's allocators */
#define OF_NVML 2u  /* and more: counters of a GPU, by number */

#define TORCH_CPU 0 /* c10::DeviceType */

/* unit: "" for bytes. */
static struct held_memory *held_by(struct collect *collect, uint32_t kind, uint32_t device, const char *label,
				   const char *unit)
{
	struct held_memory made = {.kind = kind, .device = device};

	for (size_t i = 0; i < collect->memory.count; i++)
		if (collect->memory.items[i].kind == kind && collect->memory.items[i].device == device)
			return &collect->memory.items[i];
	made.track = zoom_memory_track(collect, kind, device, label);
	made.label = zoom_label_id(
		collect, &(struct zoom_label){.name = zoom_text_id(collect, "", label),
					      .where = zoom_text_id(collect, "", unit),
					      .category = *unit ? ZOOM_CATEGORY_COUNTER : TIMELINE_TORCH_MEMORY,
					      .stack = collect->nothing});
	return array_push(&collect->memory, made);
}

static void put_until(struct collect *collect, const struct held_memory *held, uint64_t end_ns)
{
	if (held->bytes && end_ns > held->since_ns)
		zoom_wait(collect, held->track,
			  &(struct zoom_slice){.start_ns = held->since_ns,
					       .end_ns = end_ns,
					       .number = held->bytes,
					       .label = held->label});
}

static void hold_bytes(struct collect *collect, struct held_memory *held, uint64_t time_ns, uint64_t bytes)
{
	if (time_ns < held->since_ns) /* events of different threads are not in order */
		time_ns = held->since_ns;
	put_until(collect, held, time_ns);
	held->since_ns = time_ns;
	held->bytes = bytes;
}

void zoom_see_cuda_memory(struct collect *collect, const struct timeline_memory *memory)
{
	const struct timeline_counter *counter = &collect->timeline->counters.items[memory->counter];

	hold_bytes(
		collect,
		held_by(collect, OF_CUDA, counter->of_host ? TIMELINE_NONE : counter->device, "memory from CUDA", ""),
		memory->time_ns, memory->held_bytes);
}

/* Only for GPUs: for the CPU PyTorch's allocator does not report the total that it has handed out. */
void zoom_see_torch_memory(struct collect *collect, const struct timeline_slice *slice)
{
	uint64_t bytes = 0;
	int64_t type = TORCH_CPU;
	uint32_t device = TIMELINE_NONE;
	bool is_known = false;

	for (uint32_t i = 0; i < slice->arg_count; i++) {
		const struct timeline_arg *arg = &slice->args[i];

		if (arg->key == TIMELINE_ARG_DEVICE_TYPE)
			type = arg->integer;
		else if (arg->key == TIMELINE_ARG_DEVICE_ID)
			device = (uint32_t)arg->integer;
		else if (arg->key == TIMELINE_ARG_ALLOCATED) {
			bytes = arg->number;
			is_known = true;
		}
	}
	if (is_known && type != TORCH_CPU)
		hold_bytes(collect, held_by(collect, OF_TORCH, device, "memory of PyTorch", ""), slice->start_ns,
			   bytes);
}

/* A sample stands for the time until the next one, if that comes soon. */
void zoom_see_gpu_counter(struct collect *collect, const struct timeline_value *value)
{
	struct held_memory *held = held_by(collect, OF_NVML + value->counter, value->device, value->name, value->unit);
	uint64_t number = (uint64_t)(value->value + 0.5);
	bool is_known = held->bytes && value->time_ns - held->latest_ns <= GPU_SAMPLE_HOLDS_NS;

	if (!is_known || held->bytes != number) {
		put_until(collect, held, is_known ? value->time_ns : held->latest_ns);
		held->since_ns = value->time_ns;
		held->bytes = number;
	}
	held->latest_ns = value->time_ns;
}

void zoom_end_memory(struct collect *collect, uint64_t end_ns)
{
	array_each (held, &collect->memory) {
		put_until(collect, held, held->kind < OF_NVML ? end_ns : held->latest_ns);
	}
}
