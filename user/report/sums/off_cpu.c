/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waits off the CPU by line, with reason and waker. */

#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *reason_text(const struct report *report, const void *row)
{
	return xstrdup(off_cpu_reason(((const GROUP_ROW *)row)->part[0]));
}

static char *waker_text(const struct report *report, const void *row)
{
	uint32_t waker = ((const GROUP_ROW *)row)->part[1];

	if (waker == OFF_CPU_WAKER_INTERRUPT)
		return xstrdup("(an interrupt)");
	if (waker == OFF_CPU_WAKER_UNKNOWN)
		return xstrdup("-");
	if (waker & OFF_CPU_WAKER_NAME)
		return xasprintf("(%s)", report->all->off_cpu.names.items[waker & ~OFF_CPU_WAKER_NAME].text);
	return line_label(&report->all->lines, waker);
}

static const struct row_table table = {
	.id = "off_cpu",
	.title = "Waits off the CPU by Python line",
	.remark = "% of the time of all waits that were recorded",
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "ns", GROUP_ROW, ns),
			ROW_PERCENT(GROUP_ROW, ns),
			ROW_COUNT("waits", "waits", GROUP_ROW, count),
			ROW_AVERAGE(GROUP_ROW, ns, count),
			ROW_TEXT("for", "reason", TEXT_TRUNCATE_END, reason_text),
			ROW_LABEL("line", "line", GROUP_ROW, line),
			ROW_USER_LINE(GROUP_ROW),
			ROW_TEXT("woken by", "waker", TEXT_TRUNCATE_MIDDLE, waker_text),
			ROW_PROCESS(GROUP_ROW, process),
			ROW_END,
		},
};

void report_off_cpu(struct report *report)
{
	const struct off_cpu *off = &report->all->off_cpu;

	report_rows(report, &table,
		    &(struct row_list){ROWS(off->rows, off->count), .sum = off->ns,
				       .process = off->process == PROCESS_MANY ? ROW_PROCESS_SHOWN
									       : ROW_PROCESS_NOT_SHOWN});
}
