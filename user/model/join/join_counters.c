/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins counters of GPUs: each belongs to the device with its uuid. */
#include <string.h>

#include "model/join/tables.h"

/* They are of no process. */
static void see_event(struct builder *builder, uint64_t time_ns)
{
	builder_see_time(builder, time_ns);
}

bool builder_add_gpu_sample(struct builder *builder, const struct sender *none, const struct gpt_gpu_sample *sample)
{
	struct pending_gpu_sample pending = {.program.process = NONE, .record = *sample};

	(void)none;
	see_event(builder, sample->time_ns);
	if (sample->time_ns >= builder->model->start_ns)
		receive_gpu_sample(builder, &pending, 0);
	return true;
}

bool builder_add_gpu_process(struct builder *builder, const struct sender *none, const struct gpt_gpu_process *process)
{
	struct pending_gpu_process pending = {.program.process = process_table_known(&builder->processes, process->pid),
					      .record = *process};

	(void)none;
	see_event(builder, process->time_ns);
	if (process->time_ns >= builder->model->start_ns)
		receive_gpu_process(builder, &pending, 0);
	return true;
}

bool builder_add_gpu_error(struct builder *builder, const struct sender *none, const struct gpt_gpu_error *error)
{
	struct pending_gpu_error pending = {.program.process = NONE, .record = *error};

	(void)none;
	see_event(builder, error->time_ns);
	if (error->kind < GPT_GPU_XID || error->kind > GPT_GPU_LOST) /* newer than this reader */
		return true;
	if (error->time_ns >= builder->model->start_ns)
		receive_gpu_error(builder, &pending, 0);
	return true;
}

/* The device of an event in the trace; NONE: it is outside, or no process of the trace has that device. */
static uint32_t device_of(const struct builder *builder, const uint8_t uuid[GPT_UUID], uint64_t time_ns)
{
	if (lies_outside(builder, NONE, (struct clock_span){.start_ns = time_ns, .end_ns = time_ns}))
		return NONE;
	return device_table_find_uuid(&known_facts(builder)->devices, uuid);
}

bool join_gpu_sample(struct builder *builder, const struct pending_gpu_sample *pending, uint64_t complete_ns)
{
	const struct gpt_gpu_sample *from = &pending->record;
	uint32_t device = device_of(builder, from->uuid, from->time_ns);

	(void)complete_ns;
	if (device != NONE)
		array_push(&builder->gpu_samples, ((struct model_gpu_sample){.record = *from, .device = device}));
	return true;
}

bool join_gpu_process(struct builder *builder, const struct pending_gpu_process *pending, uint64_t complete_ns)
{
	const struct gpt_gpu_process *from = &pending->record;
	uint32_t device = device_of(builder, from->uuid, from->time_ns);
	size_t length = strnlen(from->comm, sizeof(from->comm));

	(void)complete_ns;
	if (device != NONE)
		array_push(&builder->gpu_processes,
			   ((struct model_gpu_process){.time_ns = from->time_ns,
						       .bytes = from->bytes,
						       .device = device,
						       .pid = from->pid,
						       .process = pending->program.process,
						       .name = string_keep(&builder->strings, from->comm, length)}));
	return true;
}

bool join_gpu_error(struct builder *builder, const struct pending_gpu_error *pending, uint64_t complete_ns)
{
	const struct gpt_gpu_error *from = &pending->record;
	uint32_t device = device_of(builder, from->uuid, from->time_ns);

	(void)complete_ns;
	if (device != NONE)
		array_push(&builder->gpu_errors, ((struct model_gpu_error){.time_ns = from->time_ns,
									   .data = from->data,
									   .device = device,
									   .kind = (uint8_t)from->kind}));
	return true;
}
