/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time that Python took for itself, if it is worth a section. */
#include <inttypes.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

/* Worth a section: a single pause that a training step can feel, or a percent of the recording. */
#define LONG_NS 1000000u
#define SHARE 100u

static char *what_text(const struct report *report, const void *item)
{
	const struct interpreter_row *row = item;

	if (row->kind == MODEL_SPAN_IMPORT)
		return xasprintf("import %s", report->model->strings[row->name]);
	if (row->generation >= 0)
		return xasprintf("collection, generation %" PRId32, row->generation);
	return xstrdup("collection");
}

static void add_idle(struct report *report, struct table *table, const void *item)
{
	const struct interpreter *interpreter = &report->all->interpreter;

	table_add_ns(table, ((const struct interpreter_row *)item)->idle_ns, time_unit_for(interpreter->longest_ns));
	table_unset_unless(table, interpreter->has_gpu, "-");
}

static const struct row_table table = {
	.id = "python",
	.title = "Python itself",
	.remark = "garbage collection and imports; GPU idle: the part without GPU work",
	.carries = ROW_CARRIES_OF_RECORDING,
	.more = "row",
	.columns =
		(const struct row_column[]){
			ROW_NS("%s", "ns", struct interpreter_row, ns),
			ROW_COUNT("count", "count", struct interpreter_row, count),
			ROW_NS("longest", "longest_ns", struct interpreter_row, longest_ns),
			ROW_ADD(COLUMN_NUMBER("GPU idle", "gpu_idle_ns", UNIT_NS), add_idle),
			ROW_TEXT("what", "what", TEXT_TRUNCATE_MIDDLE, what_text),
			ROW_END,
		},
};

void report_interpreter(struct report *report)
{
	const struct interpreter *interpreter = &report->all->interpreter;
	const struct window *window = &report->all->window;

	if (interpreter->longest_ns >= LONG_NS || interpreter->ns >= (window->end_ns - window->start_ns) / SHARE)
		report_rows(report, &table,
			    &(struct row_list){ROWS(interpreter->rows.items, interpreter->rows.count),
					       .sum = interpreter->ns, .unit_ns = interpreter->longest_ns});
}
