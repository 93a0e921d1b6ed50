/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction. */
#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

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

static char *direction_text(const struct report *report, const void *row)
{
	return kind_name(((const struct memcpy_row *)row)->kind);
}

static void add_bytes(struct report *report, struct table *table, const void *item)
{
	const struct memcpy_row *row = item;

	table_add_bytes(table, row->bytes);
	table_unset_unless(table, row->sized, "-");
}

static void add_rate(struct report *report, struct table *table, const void *item)
{
	const struct memcpy_row *row = item;

	table_add_rate(table, (double)row->timed_bytes, row->timed_bytes_ns);
}

static void add_pageable(struct report *report, struct table *table, const void *item)
{
	const struct memcpy_row *row = item;
	AUTO_FREE char *name = kind_name(row->kind);
	bool from_host =
		row->kind != MEMCPY_KIND_MEMSET && row->kind < MODEL_MEMCPY_MANAGED_TO_DEVICE && strstr(name, "Host");

	table_add_percent(table, (double)row->pageable_bytes, from_host ? (double)row->bytes : 0);
}

static const struct row_table table = {
	.id = "copies",
	.title = "Copies",
	.carries = ROW_CARRIES_OF_WHOLE,
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "gpu_ns", struct memcpy_row, ns),
			ROW_ADD(COLUMN_NUMBER("bytes", "bytes", UNIT_BYTES), add_bytes),
			ROW_COUNT("count", "count", struct memcpy_row, count),
			ROW_ADD(COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S), add_rate),
			ROW_ADD(COLUMN_NUMBER("pageable %", "pageable_percent", UNIT_PERCENT), add_pageable),
			ROW_TEXT("direction", "direction", TEXT_TRUNCATE_END, direction_text),
			ROW_LABEL("mostly from", "line", struct memcpy_row, line),
			ROW_PROCESS(struct memcpy_row, process),
			ROW_END,
		},
};

void report_memcpys(struct report *report)
{
	const struct memcpys *memcpys = &report->all->memcpys;
	uint64_t copied_ns = 0, largest_ns = 0;

	for (size_t i = 0; i < memcpys->count; i++) {
		copied_ns += memcpys->rows[i].ns;
		largest_ns = memcpys->rows[i].ns > largest_ns ? memcpys->rows[i].ns : largest_ns;
	}
	report_rows(report, &table,
		    &(struct row_list){ROWS(memcpys->rows, memcpys->count), .sum = copied_ns, .unit_ns = largest_ns,
				       .whole = report->all->gpu_lines.sum});
}
