/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices and streams of a log, and the numbers of devices. */
#include "model/device_table.h"

#include <string.h>

/* No machine has more; what a target makes up beyond this is refused. */
#define DEVICES_MAX 1024

static struct model_device *find_uuid(struct agents *agents, const uint8_t uuid[16])
{
	static const uint8_t unknown[16];

	for (size_t i = 0; memcmp(uuid, unknown, 16) && i < agents->devices.count; i++)
		if (!memcmp(agents->devices.items[i].uuid, uuid, 16))
			return &agents->devices.items[i];
	return NULL;
}

static struct model_device *find_id(struct agents *agents, uint32_t id)
{
	for (size_t i = 0; i < agents->devices.count; i++)
		if (agents->devices.items[i].id == id)
			return &agents->devices.items[i];
	return NULL;
}

static struct model_device *find_device(struct agents *agents, const struct gpt_agent_device *record)
{
	struct model_device *device = find_uuid(agents, record->uuid);
	static const uint8_t unknown[16];
	struct model_device made = {.id = record->id};

	if (device)
		return device;
	device = find_id(agents, record->id);
	/* one of the two did not say which it is: believe the number */
	if (device && (!memcmp(record->uuid, unknown, 16) || !memcmp(device->uuid, unknown, 16)))
		return device;
	if (agents->devices.count >= DEVICES_MAX)
		return NULL;
	if (device)
		for (made.id = 0; find_id(agents, made.id);)
			made.id++;
	return array_push(&agents->devices, made);
}

bool device_table_add(struct agents *agents, uint32_t process, const struct gpt_agent_device *record)
{
	struct model_device *device;

	if (record->bytes > record->hdr.size - sizeof(*record))
		return false;
	device = find_device(agents, record);
	if (!device)
		return false;
	*device = (struct model_device){
		.id = device->id,
		.name = string_keep(agents->strings, record->name, strnlen(record->name, record->bytes)),
		.memory_bytes = record->memory_bytes,
		.multiprocessors = record->multiprocessors,
		.compute_major = record->compute_major,
		.compute_minor = record->compute_minor,
		.warp_size = record->warp_size,
		.max_threads_per_multiprocessor = record->max_threads_per_multiprocessor,
		.max_threads_per_block = record->max_threads_per_block,
		.max_blocks_per_multiprocessor = record->max_blocks_per_multiprocessor,
		.max_registers_per_multiprocessor = record->max_registers_per_multiprocessor,
		.max_registers_per_block = record->max_registers_per_block,
		.max_shared_per_multiprocessor = record->max_shared_per_multiprocessor,
		.max_shared_per_block = record->max_shared_per_block,
	};
	memcpy(device->uuid, record->uuid, sizeof(device->uuid));
	*lookup_put(&agents->devices_by_id, process + 1, record->id, 0) = device->id;
	if (device->id != record->id)
		agents->devices_renumbered = true;
	return true;
}

static int compare_ids(const void *left, const void *right)
{
	const struct model_device *a = left, *b = right;

	return (a->id > b->id) - (a->id < b->id);
}

void device_table_finish(struct agents *agents)
{
	if (agents->devices.count)
		qsort(agents->devices.items, agents->devices.count, sizeof(agents->devices.items[0]), compare_ids);
	for (size_t i = 0; agents->devices_renumbered && i < agents->memories.count; i++) {
		struct model_memory *memory = &agents->memories.items[i];
		uint32_t *id = lookup_get(&agents->devices_by_id, memory->process + 1, memory->device);

		if (id)
			memory->device = *id;
	}
	for (size_t i = 0; agents->devices_renumbered && i < agents->gpu.count; i++) {
		struct model_gpu *op = &agents->gpu.items[i];
		uint32_t *id = lookup_get(&agents->devices_by_id, op->process + 1, op->device);

		if (id)
			op->device = *id;
	}
}

/* ---- streams --------------------------------------------------------------------------------------- */

uint8_t gpu_small(uint32_t value)
{
	return value < UINT8_MAX ? (uint8_t)value : UINT8_MAX;
}

int8_t gpu_priority(uint32_t value)
{
	int32_t priority = (int32_t)value;

	return (int8_t)(priority < INT8_MIN ? INT8_MIN : priority > INT8_MAX ? INT8_MAX : priority);
}

static uint64_t stream_key(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

void device_table_add_stream(struct agents *agents, uint32_t space, const struct gpt_agent_stream *event)
{
	struct agent_stream stream = {.priority = gpu_priority(event->priority), .flags = gpu_small(event->flags)};
	uint32_t index = (uint32_t)agents->streams.count;

	*lookup_put(&agents->stream_keys, space, stream_key(event->context, event->stream), index) = index;
	array_push(&agents->streams, stream);
}

void device_table_set_stream(const struct agents *agents, uint32_t space, struct model_gpu *op)
{
	const uint32_t *index = lookup_get(&agents->stream_keys, space, stream_key(op->context, op->stream));

	if (!index)
		return;
	op->stream_flags = agents->streams.items[*index].flags;
	if (!op->priority)
		op->priority = agents->streams.items[*index].priority;
}
