/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines that made the driver compile. */
#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *what_text(const struct report *report, const void *row)
{
	const uint32_t *part = ((const GROUP_ROW *)row)->part;

	return xstrdup(jit_name(&(struct model_jit){.operation = (uint8_t)part[0], .entry = (uint8_t)part[1]}));
}

static const struct row_table jit = {
	.id = "jit",
	.title = "JIT compilation by Python line",
	.remark = "by the driver, inside the call that needed the code",
	.unit_of_first = true,
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "ns", GROUP_ROW, ns),
			ROW_COUNT("count", "count", GROUP_ROW, count),
			ROW_TEXT("what", "what", TEXT_TRUNCATE_END, what_text),
			ROW_LABEL("line", "line", GROUP_ROW, line),
			ROW_END,
		},
};

void report_jit(struct report *report)
{
	report_group(report, &jit, &report->all->jit);
}
