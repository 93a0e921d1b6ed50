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

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct memcpy_row *row = item;
	AUTO_FREE char *name = kind_name(row->kind);
	bool from_host =
		row->kind != MEMCPY_KIND_MEMSET && row->kind < MODEL_MEMCPY_MANAGED_TO_DEVICE && strstr(name, "Host");

	table_add_ns(table, "%s", "gpu_ns", row->ns);
	table_add_bytes(table, "bytes", "bytes", row->bytes);
	table_unset_unless(table, row->sized, "-");
	table_add_count(table, "count", "count", row->count);
	table_add_rate(table, (double)row->timed_bytes, row->timed_bytes_ns);
	table_add_percent(table, "pageable %", "pageable_percent", (double)row->pageable_bytes,
			  from_host ? (double)row->bytes : 0);
	table_add_name(table, "direction", "direction", TEXT_TRUNCATE_END, name);
	report_add_label(report, table, "mostly from", "line", row->line);
	report_add_process(report, table, row->process);
}

static const struct row_table table = {
	.id = "copies", .title = "Copies", .add_row = add_row, .carries = ROW_CARRIES_OF_WHOLE};

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
