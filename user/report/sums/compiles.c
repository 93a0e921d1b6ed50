/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What compiled or loaded code, at which line, and how long GPUs were idle for it. */
#include <inttypes.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/table/kernel_label.h"

static char *what_text(const struct report *report, const struct compile_row *row)
{
	switch (row->kind) {
	case WHY_COMPILE_JIT:
		return xasprintf("driver: %s", jit_name(&(struct model_jit){.operation = (uint8_t)row->what}));
	case WHY_COMPILE_MODULE:
		return xstrdup(api_name((uint16_t)row->what));
	case WHY_COMPILE_LAUNCH:
		return xstrdup("first launch");
	case WHY_COMPILE_TORCH:
		return xstrdup(report->model->strings[row->what]);
	case WHY_COMPILE_CAPTURE:
		return xstrdup("CUDA graph capture");
	case WHY_COMPILE_FRAMES:
		return xstrdup(compiler_name((enum compiler)row->what));
	}
	return xstrdup("");
}

static char *kernel_text(const struct report *report, const struct compile_row *row)
{
	AUTO_FREE char *label = NULL;

	if (row->kernel == NONE)
		return xstrdup("-");
	label = kernel_label(report->model->strings[row->kernel]);
	return row->kernels > 1 ? xasprintf("%s and %" PRIu32 " more", label, row->kernels - 1) : xstrdup(label);
}

static uint64_t most_ns(const struct compiles *compiles)
{
	return compiles->ns > compiles->idle_ns ? compiles->ns : compiles->idle_ns;
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct compile_row *row = item;
	AUTO_FREE char *what = what_text(report, row), *kernel = kernel_text(report, row);

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_ns(table, "GPU idle", "gpu_idle_ns", row->idle_ns);
	table_unset_unless(table, analyses_know_gpus(report->all), "-");
	table_add_count(table, "count", "count", row->count);
	table_add_name(table, "what", "what", TEXT_TRUNCATE_END, what);
	table_add_name(table, "time", "known", TEXT_TRUNCATE_END,
		       row->kind == WHY_COMPILE_FRAMES ? "sampled" : "exact");
	table_add_name(table, "kernel", "kernel", TEXT_TRUNCATE_MIDDLE, kernel);
	report_add_label(report, table, "line", "line", row->line);
	report_add_process(report, table, row->process);
}

static const struct row_table table = {
	.id = "compiles",
	.title = "Compiling and loading code by Python line",
	.remark = "kernel: launched next, if it was new",
	.add_row = add_row,
	.amount = offsetof(struct compile_row, ns),
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
};

/* Children that compile need not use a GPU themselves. */
static bool has_several_processes(const struct compiles *compiles)
{
	for (size_t i = 1; i < compiles->rows.count; i++)
		if (compiles->rows.items[i].process != compiles->rows.items[0].process)
			return true;
	return false;
}

void report_compiles(struct report *report)
{
	const struct compiles *compiles = &report->all->idle.compiles;

	report_rows(report, &table,
		    &(struct row_list){ROWS_OF(&compiles->rows), .sum = compiles->ns, .unit_ns = most_ns(compiles),
				       .process = has_several_processes(compiles) ? ROW_PROCESS_SHOWN
										  : ROW_PROCESS_NOT_SHOWN});
}
