/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What Python itself took time for: collections by generation, imports by module (those inside another import count
 * with it).  The GPU idles with it as far as no operation of the same process ran meanwhile.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

/* Worth a section: one pause that a training step can feel, or a percent of the recording. */
#define LONG_NS 1000000u
#define SHARE 100u

struct pauses {
	uint64_t ns, idle_ns, longest_ns, count;
	const struct model_pyspan *example;
};

struct busy {
	uint64_t start_ns, end_ns;
};

struct interpreter {
	struct report *report;
	struct tally keys; /* kind and generation, or the module's name; more: index in all + 1 */
	ARRAY(struct pauses) all;
	ARRAY(struct busy) busy; /* of one process, in order, apart from each other */
	uint64_t sum_ns, longest_ns;
	bool has_gpu;
};

static void find_busy(struct interpreter *interpreter, uint32_t process)
{
	const struct model *model = interpreter->report->model;

	interpreter->busy.count = 0;
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		struct busy *last =
			interpreter->busy.count ? &interpreter->busy.items[interpreter->busy.count - 1] : NULL;

		if (op->process != process || !gpu_ns(op))
			continue;
		if (!last || op->start_ns > last->end_ns)
			array_push(&interpreter->busy, ((struct busy){op->start_ns, op->end_ns}));
		else if (op->end_ns > last->end_ns)
			last->end_ns = op->end_ns;
	}
	interpreter->has_gpu |= interpreter->busy.count > 0;
}

/* How much of [start, end) no operation of the process ran. */
static uint64_t idle_in(const struct interpreter *interpreter, uint64_t start_ns, uint64_t end_ns)
{
	size_t low = 0, high = interpreter->busy.count;
	uint64_t idle = end_ns - start_ns;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (interpreter->busy.items[middle].end_ns <= start_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < interpreter->busy.count && interpreter->busy.items[low].start_ns < end_ns; low++) {
		uint64_t from = interpreter->busy.items[low].start_ns, to = interpreter->busy.items[low].end_ns;

		idle -= (to < end_ns ? to : end_ns) - (from > start_ns ? from : start_ns);
	}
	return idle;
}

static void add_span(struct interpreter *interpreter, const struct model_pyspan *span)
{
	struct tally_key key = {{span->kind, (uint32_t)span->generation, span->name}};
	struct tally_entry *entry = tally_at(&interpreter->keys, key);
	uint64_t ns = span->end_ns - span->start_ns;
	struct pauses *pauses;

	if (!entry->more) {
		array_push(&interpreter->all, ((struct pauses){.example = span}));
		entry->more = interpreter->all.count;
	}
	entry->ns += ns;
	entry->count++;
	pauses = &interpreter->all.items[entry->more - 1];
	pauses->ns += ns;
	pauses->count++;
	pauses->idle_ns += idle_in(interpreter, span->start_ns, span->end_ns);
	if (ns > pauses->longest_ns)
		pauses->longest_ns = ns;
	if (ns > interpreter->longest_ns)
		interpreter->longest_ns = ns;
	interpreter->sum_ns += ns;
}

static void add_process(struct interpreter *interpreter, uint32_t process)
{
	const struct model *model = interpreter->report->model;

	find_busy(interpreter, process);
	for (uint32_t t = 0; t < model->thread_count; t++) {
		const struct model_thread *thread = &model->threads[t];
		uint64_t import_end_ns = 0;

		for (uint32_t i = 0; i < thread->pyspans && thread->process == process; i++) {
			const struct model_pyspan *span = &model->pyspans[thread->first_pyspan + i];

			if (span->kind == GPT_PYEVENT_IMPORT && span->start_ns < import_end_ns)
				continue;
			if (span->kind == GPT_PYEVENT_IMPORT)
				import_end_ns = span->end_ns;
			add_span(interpreter, span);
		}
	}
}

static void add_row(const struct interpreter *interpreter, struct table *table, const struct pauses *pauses,
		    struct time_unit unit)
{
	const struct model_pyspan *span = pauses->example;
	char *what;

	table_add_number(table, number_in(pauses->ns, unit));
	table_add_number(table, number_count(pauses->count));
	table_add_number(table, number_in(pauses->longest_ns, unit));
	if (interpreter->has_gpu)
		table_add_number(table, number_in(pauses->idle_ns, unit));
	else
		table_add(table, "-");
	if (span->kind == GPT_PYEVENT_IMPORT)
		what = xasprintf("import %s", interpreter->report->model->strings[span->name]);
	else if (span->generation >= 0)
		what = xasprintf("collection, generation %" PRId32, span->generation);
	else
		what = xstrdup("collection");
	table_add(table, what);
	free(what);
}

static void put_table(struct interpreter *interpreter)
{
	struct report *report = interpreter->report;
	struct tally_entry *sorted = tally_sorted(&interpreter->keys, false);
	struct time_unit unit = time_unit_for(interpreter->longest_ns);
	const struct column columns[] = {
		{unit.name, false, 0},
		{"count", false, 0},
		{"longest", false, 0},
		{"GPU idle", false, 0},
		{"what", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	uint64_t rest = 0;

	report_title(report, "Python itself", "garbage collection and imports; GPU idle: the part without GPU work");
	table_begin(&table, columns);
	for (size_t i = 0; i < interpreter->keys.count; i++)
		if (i < report->rows)
			add_row(interpreter, &table, &interpreter->all.items[sorted[i].more - 1], unit);
		else
			rest += sorted[i].ns;
	table_end(&table, report->out, report->width, report->color);
	if (interpreter->keys.count > report->rows)
		report_more(report, interpreter->keys.count - report->rows, "rows", number_in(rest, unit), unit.name);
	free(sorted);
}

void report_interpreter(struct report *report)
{
	struct interpreter interpreter = {.report = report};

	if (!report->model->pyspan_count)
		return;
	for (uint32_t i = 0; i < report->model->process_count; i++)
		add_process(&interpreter, i);
	if (interpreter.longest_ns >= LONG_NS ||
	    interpreter.sum_ns >= (report->all->window.end_ns - report->all->window.start_ns) / SHARE)
		put_table(&interpreter);
	tally_free(&interpreter.keys);
	array_free(&interpreter.all);
	array_free(&interpreter.busy);
}
