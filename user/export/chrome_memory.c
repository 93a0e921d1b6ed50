/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory as Kineto's `[memory]` instants, on the thread that asked: what the TensorBoard plugin's memory view reads.
 * Totals are of what was handed out during the trace, by device.
 */
#include "export/chrome.h"

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PINNED 2

static const char *kind_name(uint8_t kind)
{
	static const char *const names[] = {
		"unknown", "pageable", "pinned", "device", "array", "managed", "device, static", "managed, static",
	};

	return names[kind];
}

static void put_memory(struct chrome *chrome, const struct model_memory *memory, bool of_host, uint64_t total)
{
	const struct model *model = chrome->model;
	uint32_t pid = chrome->pids[memory->process];
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":");
	sink_u64(out, pid);
	sink_literal(out, ",\"tid\":");
	sink_u64(out, memory->call != NONE ? chrome->tids[model->calls[memory->call].thread] : pid);
	sink_literal(out, ",\"ts\":");
	sink_us(out, memory->time_ns - chrome->base_ns);
	sink_literal(out, ",\"args\":{\"Device Type\":");
	sink_u64(out, of_host ? 0 : 1);
	chrome_put_number(out, "Device Id", of_host ? -1 : (int64_t)chrome_device_pid(memory->device));
	sink_literal(out, ",\"Addr\":");
	sink_u64(out, memory->address);
	chrome_put_number(out, "Bytes", memory->released ? -(int64_t)memory->bytes : (int64_t)memory->bytes);
	chrome_put_number(out, "Total Allocated", (int64_t)total);
	chrome_put_number(out, "Total Reserved", (int64_t)total);
	sink_literal(out, ",\"kind\":");
	sink_json(out, kind_name(memory->kind));
	if (memory->pool_bytes) {
		sink_literal(out, ",\"pool bytes\":");
		sink_u64(out, memory->pool_bytes);
		sink_literal(out, ",\"pool bytes used\":");
		sink_u64(out, memory->pool_used_bytes);
	}
	sink_literal(out, "}}");
}

void chrome_put_memory(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct tally totals = {0}; /* host or not, device; ns: bytes */

	for (uint32_t i = 0; i < model->memory_count && !chrome->out->error; i++) {
		const struct model_memory *memory = &model->memories[i];
		bool of_host = memory->kind && memory->kind <= MEMORY_PINNED;
		struct tally_entry *total;

		if (!chrome_has_process(chrome, memory->process))
			continue;
		total = tally_at(&totals, (struct tally_key){{of_host, of_host ? 0 : memory->device}});
		if (!memory->released)
			total->ns += memory->bytes;
		else if (memory->other != NONE) /* else it is older than the trace, and not in the total */
			total->ns -= memory->bytes;
		put_memory(chrome, memory, of_host, total->ns);
	}
	tally_free(&totals);
}
