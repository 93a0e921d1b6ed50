/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Time that Python took for itself, if it is worth a section. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

/* Worth a section: a single pause that a training step can feel, or a percent of the recording. */
#define LONG_NS 1000000u
#define SHARE 100u

static char *what_took_it(struct report *report, const struct interpreter_row *row)
{
	if (row->kind == MODEL_SPAN_IMPORT)
		return xasprintf("import %s", report->model->strings[row->name]);
	if (row->generation >= 0)
		return xasprintf("collection, generation %" PRId32, row->generation);
	return xstrdup("collection");
}

static void add_row(struct report *report, struct table *table, const struct interpreter_row *row,
		    struct time_unit unit)
{
	char *what = what_took_it(report, row);

	table_add_ns(table, row->ns, unit);
	table_add_count(table, row->count);
	table_add_ns(table, row->longest_ns, unit);
	if (report->all->interpreter.has_gpu)
		table_add_ns(table, row->idle_ns, unit);
	else
		table_add_unknown(table, "-");
	table_add(table, what);
	free(what);
}

void report_interpreter(struct report *report)
{
	const struct interpreter *interpreter = &report->all->interpreter;
	const struct window *window = &report->all->window;
	size_t count = interpreter->rows.count, shown = report_shown(report, count);
	struct time_unit unit = time_unit_for(interpreter->longest_ns);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "ns", UNIT_NS),	   COLUMN_NUMBER("count", "count", UNIT_COUNT),
		COLUMN_NUMBER("longest", "longest_ns", UNIT_NS),   COLUMN_NUMBER("GPU idle", "gpu_idle_ns", UNIT_NS),
		COLUMN_NAME("what", "what", TEXT_TRUNCATE_MIDDLE), COLUMN_END,
	};
	struct table table;
	uint64_t rest = 0;

	if (!count ||
	    (interpreter->longest_ns < LONG_NS && interpreter->ns < (window->end_ns - window->start_ns) / SHARE))
		return;
	report_title(report, "python", "Python itself",
		     "garbage collection and imports; GPU idle: the part without GPU work");
	report_carries(report, interpreter->ns, report_ns(report));
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++)
		add_row(report, &table, &interpreter->rows.items[i], unit);
	report_table(report, &table);
	for (size_t i = shown; i < count; i++)
		rest += interpreter->rows.items[i].ns;
	report_more(report, count - shown, "rows", number_in(rest, unit), unit.name);
}
