/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Idle time of steps of training by cause, and idle time outside of steps: together that of the account. */
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/why/why_words.h"
#include "base/order.h"

/* Where the time of rows is; label: on a page. */
struct place {
	const char *what, *label;
	const struct step *step; /* NULL: of no single step */
	uint32_t process;	 /* model.processes, NONE: several */
};

static int by_ns(const void *left, const void *right, void *context)
{
	const struct idle_by_cause *idle = context;
	enum why_cause a = *(const enum why_cause *)left, b = *(const enum why_cause *)right;

	return most_first(idle->ns[a], idle->ns[b]) ?: least_first(a, b);
}

static void add_row(struct report *report, struct table *table, struct time_unit unit, const struct place *place,
		    enum why_cause cause, uint64_t ns)
{
	table_add_ns(table, ns, unit);
	table_add_percent(table, (double)ns, (double)report->all->idle.sum);
	table_add(table, why_short(cause));
	table_add(table, why_cause_name(cause));
	table_add(table, place->label);
	table_add(table, place->what);
	table_add_id(table, place->step ? place->step->number : 0);
	table_unset_unless(table, place->step, "");
	report_add_process(report, table, place->process);
	if (place->process == NONE)
		table_add_unknown(table, "");
	else
		table_add_id(table, report->model->processes[place->process].pid);
}

/* Adds a row for each cause, most time first. */
static void add_rows(struct report *report, struct table *table, struct time_unit unit, const struct place *place,
		     const struct idle_by_cause *idle)
{
	enum why_cause order[WHY_CAUSES];

	for (enum why_cause cause = 0; cause < WHY_CAUSES; cause++)
		order[cause] = cause;
	qsort_r(order, WHY_CAUSES, sizeof(*order), by_ns, (void *)idle);
	for (size_t i = 0; i < WHY_CAUSES && idle->ns[order[i]]; i++)
		add_row(report, table, unit, place, order[i], idle->ns[order[i]]);
}

static void add_slot(struct report *report, struct table *table, struct time_unit unit, const struct place *place,
		     uint32_t slot)
{
	struct idle_by_cause idle = idle_steps_slot(&report->all->idle.steps, slot);

	add_rows(report, table, unit, place, &idle);
}

/* Adds the steps that have rows. */
static void add_steps(struct report *report, struct table *table, struct time_unit unit, size_t number)
{
	const struct step_table *steps = &report->all->steps.list.items[number];

	add_slot(report, table, unit,
		 &(struct place){.what = "median", .label = "", .step = &steps->median.step, .process = steps->process},
		 step_slot(number, STEP_SLOT_MEDIAN));
	for (size_t i = 0; i < steps->slowest_count; i++)
		add_slot(report, table, unit,
			 &(struct place){.what = i == steps->p99 ? "p99" : "slow",
					 .label = "",
					 .step = &steps->slowest[i].step,
					 .process = steps->process},
			 step_slot(number, i));
}

/* A page shows the sum of all steps; programs also get each step that has a row. */
static void add_process(struct report *report, struct table *table, struct time_unit unit, size_t number)
{
	uint32_t process = report->all->steps.list.items[number].process;
	struct idle_by_cause all = idle_steps_all(&report->all->idle.steps, number);

	add_rows(report, table, unit, &(struct place){.what = "all", .label = "in steps", .process = process}, &all);
	if (report_is_for_programs(report))
		add_steps(report, table, unit, number);
	add_slot(report, table, unit,
		 &(struct place){.what = "outside", .label = "outside of them", .process = process},
		 step_slot(number, STEP_SLOT_OUTSIDE));
}

/* Explains what is not known, as the table of idle time does. */
static void explain_unknown(struct report *report)
{
	const struct idle_steps *steps = &report->all->idle.steps;
	bool late = false, unsampled = false;

	for (uint32_t slot = 0; slot < STEP_SLOTS; slot++) {
		late |= steps->sums[slot][WHY_PYTHON] || steps->sums[slot][WHY_PROGRAM];
		unsampled |= steps->sums[slot][WHY_UNSAMPLED] != 0;
	}
	if (late)
		report_line(report,
			    "  Python, the program: launched late; what ran until then is not known without "
			    "samples and waits%s",
			    model_is_of_other_tool(report->model) ? "" : " (--cpu, --off-cpu)");
	if (unsampled)
		report_line(report, "  not sampled: no sample and no wait says what the thread did");
}

void report_step_idle(struct report *report)
{
	const struct idle *idle = &report->all->idle;
	size_t tables = report->all->steps.list.count;
	struct time_unit unit = time_unit_for(idle->sum);
	const struct column columns[] = {
		COLUMN_NUMBER(unit.name, "idle_ns", UNIT_NS),
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT),
		COLUMN_NAME("cause", "cause", TEXT_TRUNCATE_END),
		COLUMN_DATA("cause_id", UNIT_TEXT),
		COLUMN_NAME("where", NULL, TEXT_TRUNCATE_END),
		COLUMN_DATA("what", UNIT_TEXT),
		COLUMN_DATA("step", UNIT_ID),
		PROCESS_COLUMN(report),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_END,
	};
	struct table table;

	if (!tables || !idle->steps.sums || !idle->sum)
		return;
	report_title(report, "step_idle", "GPU idle in steps by cause",
		     "% of idle time between operations, in the steps and outside of them");
	table_begin(&table, columns);
	for (size_t i = 0; i < tables; i++)
		add_process(report, &table, unit, i);
	add_slot(report, &table, unit,
		 &(struct place){.what = "outside", .label = "of no steps above", .process = NONE}, 0);
	report_table(report, &table);
	explain_unknown(report);
}
