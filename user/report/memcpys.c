/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction: how much, how fast, and whether from memory that slows them down. */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

#define KINDS 256u	  /* of memcpys: what a byte can hold */
#define KIND_MEMSET KINDS /* behind them */

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PAGEABLE 1

struct memcpys {
	uint64_t bytes, pageable, timed_bytes, ns, count;
	uint32_t line; /* with most bytes */
	uint64_t line_bytes;
};

static char *kind_name(uint32_t kind)
{
	/* CUpti_ActivityMemcpyKind */
	static const char *const names[] = {
		"Unknown direction", "Host to Device", "Device to Host",  "Host to Array",
		"Array to Host",     "Array to Array", "Array to Device", "Device to Array",
		"Device to Device",  "Host to Host",   "Peer to Peer",
	};

	if (kind == KIND_MEMSET)
		return xstrdup("Fill");
	if (kind < sizeof(names) / sizeof(names[0]))
		return xstrdup(names[kind]);
	return xasprintf("Kind %u", kind);
}

static struct memcpys *sum_memcpys(struct report *report)
{
	const struct model *model = report->model;
	struct memcpys *all = xcalloc(KINDS + 1, sizeof(*all));
	struct tally pairs = {0};

	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		uint32_t kind = op->kind == MODEL_MEMSET ? KIND_MEMSET : op->memcpy_kind;
		struct memcpys *sum = &all[kind];
		struct tally_entry *pair;

		if (op->kind == MODEL_KERNEL)
			continue;
		sum->bytes += op->bytes;
		sum->count++;
		sum->ns += gpu_ns(op);
		sum->timed_bytes += gpu_ns(op) ? op->bytes : 0;
		if (op->kind == MODEL_MEMCPY && (op->from == MEMORY_PAGEABLE || op->to == MEMORY_PAGEABLE))
			sum->pageable += op->bytes;
		pair = tally_at(&pairs, (struct tally_key){{kind, line_of_gpu(report, op)}});
		pair->ns += op->bytes;
		if (!sum->line_bytes || pair->ns > sum->line_bytes) {
			sum->line_bytes = pair->ns;
			sum->line = pair->key.part[1];
		}
	}
	tally_free(&pairs);
	return all;
}

static void put_kind(struct report *report, struct table *table, uint32_t kind, const struct memcpys *sum,
		     struct time_unit unit)
{
	char *name = kind_name(kind), *label = line_label(&report->all->lines, sum->line);
	bool from_host = kind != KIND_MEMSET && strstr(name, "Host");

	table_add_number(table, number_in(sum->ns, unit));
	table_add_number(table, number_bytes(sum->bytes));
	table_add_number(table, number_count(sum->count));
	table_add_number(table, number_tenths(sum->ns ? (double)sum->timed_bytes / (double)sum->ns : -1));
	table_add_number(table, number_percent((double)sum->pageable, from_host ? (double)sum->bytes : 0));
	table_add(table, name);
	table_add(table, label);
	free(name);
	free(label);
}

void report_memcpys(struct report *report)
{
	struct memcpys *all = sum_memcpys(report);
	uint64_t largest = 0, count = 0;
	struct time_unit unit;

	for (uint32_t kind = 0; kind <= KINDS; kind++) {
		largest = all[kind].ns > largest ? all[kind].ns : largest;
		count += all[kind].count;
	}
	unit = time_unit_for(largest);
	if (count) {
		const struct column columns[] = {
			{unit.name, false, 0},
			{"bytes", false, 0},
			{"count", false, 0},
			{"GB/s", false, 0},
			{"pageable %", false, 0},
			{"direction", true, TEXT_TRUNCATE_END},
			{"mostly from", true, TEXT_TRUNCATE_MIDDLE},
			{NULL, false, 0},
		};
		struct table table;

		report_title(report, "Copies", NULL);
		table_begin(&table, columns);
		for (uint32_t kind = 0; kind <= KINDS; kind++)
			if (all[kind].count)
				put_kind(report, &table, kind, &all[kind], unit);
		table_end(&table, report->out, report->width, report->color);
	}
	free(all);
}
