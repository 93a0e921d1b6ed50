/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memcpys and memsets by direction. */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

static char *kind_name(uint32_t kind)
{
	/* CUpti_ActivityMemcpyKind */
	static const char *const names[] = {
		"Unknown direction", "Host to Device", "Device to Host",  "Host to Array",
		"Array to Host",     "Array to Array", "Array to Device", "Device to Array",
		"Device to Device",  "Host to Host",   "Peer to Peer",
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
	bool from_host = row->kind != MEMCPY_KIND_MEMSET && strstr(name, "Host");

	table_add_number(table, number_in(row->ns, unit));
	table_add_number(table, number_bytes(row->bytes));
	table_add_number(table, number_count(row->count));
	table_add_number(table, number_tenths(row->ns ? (double)row->timed_bytes / (double)row->ns : -1));
	table_add_number(table, number_percent((double)row->pageable_bytes, from_host ? (double)row->bytes : 0));
	table_add(table, name);
	report_add_label(report, table, row->line);
	free(name);
}

void report_memcpys(struct report *report)
{
	const struct memcpys *memcpys = &report->all->memcpys;
	struct time_unit unit;
	uint64_t largest = 0;

	for (size_t i = 0; i < memcpys->count; i++)
		largest = memcpys->rows[i].ns > largest ? memcpys->rows[i].ns : largest;
	unit = time_unit_for(largest);
	if (memcpys->count) {
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
		for (size_t i = 0; i < memcpys->count; i++)
			add_row(report, &table, &memcpys->rows[i], unit);
		table_end(&table, report->out, report->width, report->color);
	}
}
