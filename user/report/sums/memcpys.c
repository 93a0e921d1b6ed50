/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction. */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

static char *kind_name(uint32_t kind)
{
	/* CUpti_ActivityMemcpyKind */
	static const char *const names[] = {
		"Unknown direction",
		"Host to Device",
		"Device to Host",
		"Host to Array",
		"Array to Host",
		"Array to Array",
		"Array to Device",
		"Device to Array",
		"Device to Device",
		"Host to Host",
		"Peer to Peer",
		[MODEL_MEMCPY_MANAGED_TO_DEVICE] = "Host to Device, managed",
		[MODEL_MEMCPY_MANAGED_TO_HOST] = "Device to Host, managed",
		[MODEL_MEMCPY_MANAGED_BETWEEN_DEVICES] = "Device to Device, managed",
	};

	if (kind == MEMCPY_KIND_MEMSET)
		return xstrdup("Fill");
	if (kind < sizeof(names) / sizeof(names[0]))
		return xstrdup(names[kind]);
	return xasprintf("Kind %u", kind);
}

static void add_row(struct report *report, struct table *table, const struct memcpy_row *row, struct time_unit unit)
{
	char *name = kind_name(row->kind);
	bool from_host =
		row->kind != MEMCPY_KIND_MEMSET && row->kind < MODEL_MEMCPY_MANAGED_TO_DEVICE && strstr(name, "Host");

	table_add_ns(table, row->ns, unit);
	if (row->sized)
		table_add_bytes(table, row->bytes);
	else
		table_add_unknown(table, "-");
	table_add_count(table, row->count);
	table_add_rate(table, (double)row->timed_bytes, row->timed_bytes_ns);
	table_add_percent(table, (double)row->pageable_bytes, from_host ? (double)row->bytes : 0);
	table_add(table, name);
	report_add_label(report, table, row->line);
	report_add_process(report, table, row->process);
	free(name);
}

void report_memcpys(struct report *report)
{
	const struct memcpys *memcpys = &report->all->memcpys;
	struct time_unit unit;
	uint64_t copied_ns = 0;
	uint64_t largest = 0;

	for (size_t i = 0; i < memcpys->count; i++)
		largest = memcpys->rows[i].ns > largest ? memcpys->rows[i].ns : largest;
	unit = time_unit_for(largest);
	if (memcpys->count) {
		const struct column columns[] = {
			COLUMN_NUMBER(unit.name, "gpu_ns", UNIT_NS),
			COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES),
			COLUMN_NUMBER("count", "count", UNIT_COUNT),
			COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S),
			COLUMN_NUMBER("pageable %", "pageable_percent", UNIT_PERCENT),
			COLUMN_NAME("direction", "direction", TEXT_TRUNCATE_END),
			LABEL_COLUMNS("mostly from", "line"),
			PROCESS_COLUMN(report),
			COLUMN_END,
		};
		struct table table;

		report_title(report, "copies", "Copies", NULL);
		for (size_t i = 0; i < memcpys->count; i++)
			copied_ns += memcpys->rows[i].ns;
		report_carries(report, copied_ns, report->all->gpu_lines.sum);
		table_begin(&table, columns);
		for (size_t i = 0; i < memcpys->count; i++)
			add_row(report, &table, &memcpys->rows[i], unit);
		report_table(report, &table);
	}
}
