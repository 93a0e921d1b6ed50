/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/torch/ops_memory.h"

#include <string.h>

#include "agent/process/clock.h"
#include "agent/torch/op_clock.h"
#include "agent/send/points.h"
#include "agent/torch/torch_memory.h"
#include "agent/process/own_maps.h"

#define LOOK_NS 250000000u /* until the next look for entries that the loader has reset */

static struct {
	bool on;
	bool said; /* a state was sent, but not the last one yet */
	unsigned seen;
	uint64_t sent;
	uint64_t next_look_ns;
	uint64_t libraries;
	char why[128];
} memory;

void ops_memory_follow(const struct torch *torch, struct batch *batch, uint64_t now)
{
	uint64_t libraries;

	if (!points_take_torch_memory()) {
		ops_memory_stop();
		ops_memory_send_state(batch);
		return;
	}
	libraries = own_libraries_loaded();
	if (memory.on && libraries == memory.libraries && now < memory.next_look_ns)
		return;
	if (!memory.on)
		memory.sent = 0;
	memory.on = memory.said = true;
	memory.libraries = libraries;
	memory.next_look_ns = now + LOOK_NS;
	memory.seen = torch_memory_follow(torch, memory.why, sizeof(memory.why));
}

void ops_memory_stop(void)
{
	if (memory.on)
		torch_memory_end();
	memory.on = false;
}

void ops_memory_send(struct batch *batch, const struct op_entry_memory *entry)
{
	struct gpt_agent_torch_memory *record = batch_add(batch, GPT_AGENT_TORCH_MEMORY, sizeof(*record));

	record->time_ns = op_clock_ns(entry->time);
	record->address = entry->address;
	record->bytes = entry->bytes;
	record->allocated = entry->allocated;
	record->reserved = entry->reserved;
	record->stack = entry->stack;
	record->tid = entry->tid;
	record->kind = entry->kind;
	record->device_type = entry->device_type;
	record->device = entry->device;
	record->has_totals = entry->has_totals;
	memory.sent++;
}

void ops_memory_send_short(struct batch *batch, const struct op_entry_memory_short *entry, uint32_t tid)
{
	ops_memory_send(batch,
			&(struct op_entry_memory){
				.time = entry->time,
				.address = entry->address,
				.bytes = (int64_t)entry->bytes,
				.tid = tid,
				.kind = entry->bytes ? GPT_AGENT_TORCH_MEMORY_ALLOCATED : GPT_AGENT_TORCH_MEMORY_FREED,
				.device_type = GPT_TORCH_CPU,
				.device = OP_MEMORY_CPU_INDEX,
			});
}

void ops_memory_send_state(struct batch *batch)
{
	size_t why = strlen(memory.why);
	struct gpt_agent_torch_memory_state *record;

	if (!memory.said)
		return;
	record = batch_add(batch, GPT_AGENT_TORCH_MEMORY_STATE, sizeof(*record) + why);
	record->time_ns = clock_now_ns();
	record->reported = memory.sent;
	record->lost = torch_memory_lost();
	record->seen = memory.on ? memory.seen : 0;
	record->bytes = (uint32_t)why;
	memcpy(record->text, memory.why, why);
	memory.said = memory.on;
}

void ops_memory_forked(void)
{
	torch_memory_forked();
}
