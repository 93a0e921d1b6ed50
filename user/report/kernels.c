/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by kernel. */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

/* Name spaces that nearly every kernel of PyTorch has, and that push what differs off the page. */
static void drop_name_spaces(char *name)
{
	static const char *const spaces[] = {"at::native::", "(anonymous namespace)::", "at::cuda::"};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		size_t length = strlen(spaces[i]);

		for (char *at = strstr(name, spaces[i]); at; at = strstr(at, spaces[i]))
			memmove(at, at + length, strlen(at + length) + 1);
	}
}

/* The name without what does not tell kernels apart for a reader: `void `, common name spaces, the parameter list.
 * Caller frees. */
static char *short_name(const char *name)
{
	size_t length, depth = 0;
	char *copy;

	if (!strncmp(name, "void ", 5))
		name += 5;
	copy = xstrdup(name);
	drop_name_spaces(copy);
	length = strlen(copy);
	if (!length || copy[length - 1] != ')')
		return copy;
	for (size_t at = length; at-- > 1;) {
		depth += copy[at] == ')';
		depth -= copy[at] == '(';
		if (depth)
			continue;
		if (copy[at - 1] != ' ' && copy[at - 1] != ':')
			copy[at] = '\0';
		break;
	}
	return copy;
}

void report_gpu_by_kernel(struct report *report)
{
	const struct kernels *kernels = &report->all->kernels;
	size_t shown = report_shown(report, kernels->count);
	struct time_unit unit = time_unit_for(kernels->gpu_ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "gpu_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NUMBER("avg us", "avg_ns", UNIT_NS_AVG),
		COLUMN_NAME("kernel", "kernel", TEXT_TRUNCATE_MIDDLE),
		LABEL_COLUMNS("mostly launched at", "line"),
		COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!kernels->count)
		return;
	report_title(report, "kernels", "GPU time by kernel", "% of GPU time");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct kernel_row *row = &kernels->rows[i];
		const char *full = row->name == NONE ? "(name not known)" : report->model->strings[row->name];
		char *name = short_name(full);

		table_add_ns(&table, row->ns, unit);
		table_add_percent(&table, (double)row->ns, (double)kernels->gpu_ns);
		table_add_count(&table, row->count);
		table_add_average(&table, row->ns, row->count);
		table_add_named(&table, name, full);
		report_add_label(report, &table, row->line);
		free(name);
	}
	report_table(report, &table);
	for (size_t i = shown; i < kernels->count; i++)
		rest += kernels->rows[i].ns;
	report_more(report, kernels->count - shown, "kernels", number_in(rest, unit), unit.name);
}
