/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Devices and streams of a source, and the numbering of devices. */
#include "model/tables/device_table.h"

#include <string.h>

#include "base/order.h"
#include "model/tables/gpu_work.h"

/* No machine has more; further ones, invented by a target, are refused. */
#define DEVICES_MAX 1024

void device_table_free(struct device_table *table)
{
	lookup_free(&table->by_id);
	lookup_free(&table->contexts);
	lookup_free(&table->stream_keys);
	array_free(&table->streams);
}

static struct model_device *find_uuid(struct device_table *table, const uint8_t uuid[16])
{
	static const uint8_t unknown[16];

	for (size_t i = 0; memcmp(uuid, unknown, 16) && i < table->list.count; i++)
		if (!memcmp(table->list.items[i].uuid, uuid, 16))
			return &table->list.items[i];
	return NULL;
}

static struct model_device *find_id(struct device_table *table, uint32_t id)
{
	return array_find(&table->list, item, item->id == id);
}

static struct model_device *find_device(struct device_table *table, const struct model_device *from)
{
	struct model_device *device = find_uuid(table, from->uuid);
	static const uint8_t unknown[16];
	struct model_device made = {.id = from->id};

	if (device)
		return device;
	device = find_id(table, from->id);
	/* one of the two has no uuid: go by the id */
	if (device && (!memcmp(from->uuid, unknown, 16) || !memcmp(device->uuid, unknown, 16)))
		return device;
	if (table->list.count >= DEVICES_MAX)
		return NULL;
	if (device)
		for (made.id = 0; find_id(table, made.id);)
			made.id++;
	return array_push(&table->list, made);
}

bool device_table_add(struct device_table *table, uint32_t process, const struct model_device *from, struct text name)
{
	struct model_device *device = find_device(table, from);
	uint32_t id;

	if (!device)
		return false;
	id = device->id;
	*device = *from;
	device->id = id;
	device->name = string_keep(table->strings, name.bytes, name.size);
	*lookup_put(&table->by_id, process + 1, from->id, 0) = id;
	if (id != from->id)
		table->renumbered = true;
	return true;
}

void device_table_add_context(struct device_table *table, uint32_t process, uint32_t context, uint32_t device)
{
	*lookup_put(&table->contexts, process + 1, context, 0) = device;
}

DEFINE_ORDER(compare_ids, struct model_device, lower_first(a->id, b->id))

void device_table_finish(struct device_table *table)
{
	array_sort(&table->list, compare_ids);
}

uint32_t device_table_find(const struct device_table *table, uint32_t process, uint32_t id)
{
	const uint32_t *device = table->renumbered ? lookup_get(&table->by_id, process + 1, id) : NULL;

	return device ? *device : id;
}

uint32_t device_table_find_uuid(const struct device_table *table, const uint8_t uuid[16])
{
	return value_of_first(table->list.count, i, !memcmp(table->list.items[i].uuid, uuid, 16),
			      table->list.items[i].id, NONE);
}

uint32_t device_table_of_context(const struct device_table *table, uint32_t process, uint32_t context)
{
	const uint32_t *device = lookup_get(&table->contexts, process + 1, context);

	return device ? device_table_find(table, process, *device) : NONE;
}

/* ---- streams --------------------------------------------------------------------------------------- */

static uint64_t stream_key(uint32_t context, uint32_t stream)
{
	return (uint64_t)context << 32 | stream;
}

void device_table_add_stream(struct device_table *table, uint32_t epoch, const struct gpt_agent_stream *from)
{
	struct device_stream stream = {.priority = gpu_priority(from->priority), .flags = gpu_small(from->flags)};
	uint32_t index = (uint32_t)table->streams.count;

	*lookup_put(&table->stream_keys, epoch, stream_key(from->context, from->stream), index) = index;
	array_push(&table->streams, stream);
	table->latest_stream = (struct lookup_latest){0};
}

void device_table_set_stream(struct device_table *table, uint32_t epoch, struct model_gpu *op)
{
	const uint32_t *index = lookup_get_latest(&table->stream_keys, &table->latest_stream, epoch,
						  stream_key(op->context, op->stream));

	if (!index)
		return;
	op->stream_flags = table->streams.items[*index].flags;
	if (!op->priority)
		op->priority = table->streams.items[*index].priority;
}
