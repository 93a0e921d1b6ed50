/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/packing/pack_summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "log/packing/varint.h"

#define SLOTS (2 * PACK_PROCESSES_MAX)

_Static_assert(!(SLOTS & (SLOTS - 1)), "a power of 2");

void pack_summary_begin(struct pack_summary *summary)
{
	memset(summary, 0, sizeof(*summary));
}

/* Skips times that are 0, which CUPTI did not know. */
static void add_times(struct pack_range *range, struct pack_places places, const struct schema_field *field)
{
	uint64_t before_first = range->first - 1, last = range->last;

	for (size_t i = 0; i < places.count; i++) {
		uint64_t time = field_load_any(places.base + places.at[i] + field->offset, field->bytes);

		/* minus 1, so that 0 is the greatest */
		before_first = time - 1 < before_first ? time - 1 : before_first;
		last = time > last ? time : last;
	}
	range->first = before_first + 1;
	range->last = last;
}

static void add_pid(struct pack_summary *summary, uint32_t pid)
{
	uint32_t slot = (pid * 0x9e3779b1u) >> 16;

	if (summary->too_many_pids || pid == UINT32_MAX) {
		summary->too_many_pids = true;
		return;
	}
	for (slot &= SLOTS - 1; summary->pid_slots[slot]; slot = (slot + 1) & (SLOTS - 1))
		if (summary->pid_slots[slot] == pid + 1)
			return;
	if (summary->pid_count == PACK_PROCESSES_MAX) {
		summary->too_many_pids = true;
		return;
	}
	summary->pid_slots[slot] = pid + 1;
	summary->pids[summary->pid_count++] = pid;
}

static void add_pids(struct pack_summary *summary, struct pack_places places, const struct schema_field *field)
{
	uint64_t last = 0;

	for (size_t i = 0; i < places.count; i++) {
		uint64_t pid = field_load_any(places.base + places.at[i] + field->offset, field->bytes);

		if (!i || pid != last)
			add_pid(summary, pid > UINT32_MAX ? UINT32_MAX : (uint32_t)pid);
		last = pid;
	}
}

void pack_summary_add(struct pack_summary *summary, const struct schema_type *type, struct pack_places places,
		      bool wall_is_mono)
{
	for (uint32_t i = 0; i < type->fixed.count; i++) {
		const struct schema_field *field = &type->fixed.items[i];

		if (field->meaning == SCHEMA_TIME || (field->meaning == SCHEMA_WALL && wall_is_mono))
			add_times(&summary->mono, places, field);
		else if (field->meaning == SCHEMA_WALL)
			add_times(&summary->wall, places, field);
		else if (field->meaning == SCHEMA_PID)
			add_pids(summary, places, field);
	}
}

DEFINE_ORDER(by_pid, uint32_t, least_first(*a, *b))

void pack_summary_finish(struct pack_summary *summary, const struct schema *schema, struct pack_out *out)
{
	qsort(summary->pids, summary->pid_count, sizeof(summary->pids[0]), by_pid);
	out->pids = summary->pids;
	out->pid_count = summary->too_many_pids ? GPT_LOG_ANY_PROCESS : summary->pid_count;
	out->first_ns = summary->mono.first;
	out->last_ns = summary->mono.last;
	out->first_wall_ns = summary->wall.first;
	out->last_wall_ns = summary->wall.last;
	out->kinds = summary->kinds;
	out->kind_count = 0;
	for (size_t i = 0; i <= schema->count; i++)
		if (summary->counts[i])
			summary->kinds[out->kind_count++] = (struct gpt_log_kind){
				.type = i ? schema->types[i - 1].type : 0, .count = summary->counts[i]};
}
