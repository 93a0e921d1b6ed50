/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CPU time by Python line. */
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static void add_threads(struct report *report, struct table *table, const void *row)
{
	table_add_count(table, cpu_line_threads(&report->all->cpu_lines, ((const struct line_row *)row)->line));
}

static char *native_text(const struct report *report, const void *row)
{
	uint32_t string = cpu_line_native(&report->all->cpu_lines, ((const struct line_row *)row)->line);

	return string == NONE ? NULL : xstrdup(report->model->strings[string]);
}

static const struct row_table table = {
	.id = "cpu_lines",
	.title = "CPU time by Python line",
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "line",
	.columns =
		(const struct row_column[]){
			ROW_NS("self %s", "self_ns", struct line_row, self),
			ROW_NS("total %s", "total_ns", struct line_row, total),
			ROW_PERCENT(struct line_row, self),
			ROW_COUNT(COLUMN_NOT_SHOWN, "samples", struct line_row, launches),
			ROW_ADD(COLUMN_NUMBER("threads", "threads", UNIT_COUNT), add_threads),
			ROW_LABEL("line", "line", struct line_row, line),
			ROW_TEXT("mostly in", "native", TEXT_TRUNCATE_MIDDLE, native_text),
			ROW_PROCESS(struct line_row, process),
			ROW_END,
		},
};

void report_cpu_lines(struct report *report)
{
	const struct cpu_lines *cpu = &report->all->cpu_lines;
	char *remark = xasprintf("%s sample%s; %s %% in the kernel", number_count(cpu->samples).text,
				 cpu->samples == 1 ? "" : "s",
				 number_percent((double)cpu->kernel_ns, (double)cpu->sums.sum).text);

	report_rows(report, &table,
		    &(struct row_list){ROWS(cpu->sums.rows, cpu->sums.count), .sum = cpu->sums.sum, .remark = remark,
				       .process = cpu->process == PROCESS_MANY ? ROW_PROCESS_SHOWN
									       : ROW_PROCESS_NOT_SHOWN});
	free(remark);
}
