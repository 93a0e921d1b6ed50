/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPUs.  CUPTI numbers them per process (CUDA_VISIBLE_DEVICES), the model globally: a device is identified by its uuid,
 * and keeps CUPTI's number unless another device already has it.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"
#include "model/string_pool.h"

/* A stream of a context. */
struct device_stream {
	int8_t priority;
	uint8_t flags;
};

struct device_table {
	struct string_pool *strings;
	ARRAY(struct model_device) list;
	struct lookup by_id;		    /* (process + 1, CUPTI's id) to model_device.id */
	struct lookup contexts;		    /* (process + 1, CUPTI's id of a context) to CUPTI's id of the device */
	struct lookup stream_keys;	    /* (epoch, context and stream) to the latest index in streams */
	struct lookup_latest latest_stream; /* caches look-ups in stream_keys */
	ARRAY(struct device_stream) streams;
	bool renumbered; /* some process's ids differ from the model's */
};

void device_table_free(struct device_table *table); /* all but list, which is the model's */

/* False: there are more devices than any machine has. */
bool device_table_add(struct device_table *table, uint32_t process, const struct model_device *device,
		      struct text name);
void device_table_add_context(struct device_table *table, uint32_t process, uint32_t context, uint32_t device);

/*
 * Adds a stream of an address space, numbered within its context; and fills in an operation's fields from its stream.
 */
void device_table_add_stream(struct device_table *table, uint32_t epoch, const struct gpt_agent_stream *stream);
void device_table_set_stream(struct device_table *table, uint32_t epoch, struct model_gpu *op);

/* After the last device: sorts the devices. */
void device_table_finish(struct device_table *table);

/* model_device.id of a process's device, by CUPTI's id; and of a context's device, NONE: not known. */
uint32_t device_table_find(const struct device_table *table, uint32_t process, uint32_t id);
uint32_t device_table_find_uuid(const struct device_table *table, const uint8_t uuid[16]); /* likewise */
uint32_t device_table_of_context(const struct device_table *table, uint32_t process, uint32_t context);
