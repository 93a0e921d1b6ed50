/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time that Python took for itself, if it is worth a section. */
#include <inttypes.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

/* Worth a section: a single pause that a training step can feel, or a percent of the recording. */
#define LONG_NS 1000000u
#define SHARE 100u

static char *what_text(const struct report *report, const struct interpreter_row *row)
{
	if (row->kind == MODEL_SPAN_IMPORT)
		return xasprintf("import %s", report->model->strings[row->name]);
	if (row->generation >= 0)
		return xasprintf("collection, generation %" PRId32, row->generation);
	return xstrdup("collection");
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct interpreter_row *row = item;
	AUTO_FREE char *what = what_text(report, row);

	table_add_ns(table, "%s", "ns", row->ns);
	table_add_count(table, "count", "count", row->count);
	table_add_ns(table, "longest", "longest_ns", row->longest_ns);
	table_add_ns(table, "GPU idle", "gpu_idle_ns", row->idle_ns);
	table_unset_unless(table, report->all->interpreter.has_gpu, "-");
	table_add_name(table, "what", "what", TEXT_TRUNCATE_MIDDLE, what);
}

static const struct row_table table = {
	.id = "python",
	.title = "Python itself",
	.remark = "garbage collection and imports; GPU idle: the part without GPU work",
	.add_row = add_row,
	.amount = offsetof(struct interpreter_row, ns),
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
};

void report_interpreter(struct report *report)
{
	const struct interpreter *interpreter = &report->all->interpreter;
	const struct window *window = &report->all->window;

	if (interpreter->longest_ns >= LONG_NS || interpreter->ns >= (window->end_ns - window->start_ns) / SHARE)
		report_rows(report, &table,
			    &(struct row_list){ROWS_OF(&interpreter->rows), .sum = interpreter->ns,
					       .unit_ns = interpreter->longest_ns});
}
