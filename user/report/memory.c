/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory from CUDA: peaks, and the lines that held it then. */
#include <stdlib.h>

#include "report/parts.h"

static char *space_name(uint32_t space, uint32_t device)
{
	switch (space) {
	case MEMORY_SPACE_HOST:
		return xstrdup("host, pinned");
	case MEMORY_SPACE_MANAGED:
		return xstrdup("managed");
	default:
		return xasprintf("GPU %u", device);
	}
}

static void put_peaks(struct report *report)
{
	const struct memory_peaks *memory = &report->all->memory;
	uint64_t start_ns = report->all->window.start_ns;

	for (size_t i = 0; i < memory->peaks.count; i++) {
		const struct memory_peak *peak = &memory->peaks.items[i];
		uint64_t after = peak->time_ns > start_ns ? peak->time_ns - start_ns : 0;
		char *name = space_name(peak->space, peak->device);

		report_line(report, "  %s: %s at most, %s after the start", name, number_bytes(peak->most).text,
			    number_time(after).text);
		free(name);
	}
}

static void put_lines(struct report *report)
{
	static const struct column columns[] = {
		{"at peak", false, 0},
		{"not freed", false, 0},
		{"blocks", false, 0},
		{"memory", true, TEXT_TRUNCATE_END},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	const struct memory_peaks *memory = &report->all->memory;
	size_t shown = report_shown(report, memory->count);
	struct table table;
	uint64_t rest = 0;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct memory_row *row = &memory->rows[i];
		char *name = space_name(row->space, row->device);

		table_add_number(&table, number_bytes(row->at_peak));
		table_add_number(&table, number_bytes(row->unreleased));
		table_add_number(&table, number_count(row->blocks));
		table_add(&table, name);
		report_add_label(report, &table, row->line);
		free(name);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < memory->count; i++)
		rest += memory->rows[i].at_peak;
	report_more(report, memory->count - shown, "lines", number_bytes(rest), "");
}

void report_memory(struct report *report)
{
	if (!report->all->memory.count)
		return;
	report_title(report, "Memory from CUDA by Python line",
		     "what was allocated while tracing; line of the allocation");
	put_peaks(report);
	put_lines(report);
}
