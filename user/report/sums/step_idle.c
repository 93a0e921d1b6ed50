/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Idle time of steps of training by cause, and idle time outside of steps: together that of the account. */
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
#include "report/why/why_words.h"
#include "base/order.h"

/* Where the time of rows is; label: on a page. */
struct place {
	const char *what, *label;
	const struct step *step; /* NULL: of no single step */
	uint32_t process;	 /* model.processes, NONE: several */
};

struct cause_row {
	struct place place;
	enum why_cause cause;
	uint64_t ns;
};

struct cause_rows {
	ARRAY(struct cause_row) list;
};

static int by_ns(const void *left, const void *right, void *context)
{
	const struct idle_by_cause *idle = context;
	enum why_cause a = *(const enum why_cause *)left, b = *(const enum why_cause *)right;

	return most_first(idle->ns[a], idle->ns[b]) ?: least_first(a, b);
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct cause_row *row = item;
	const struct place *place = &row->place;

	table_add_ns(table, "%s", "idle_ns", row->ns);
	table_add_share(table, row->ns);
	table_add_name(table, "cause", "cause", TEXT_TRUNCATE_END, why_short(row->cause));
	table_add_word(table, "cause_id", why_cause_name(row->cause));
	table_add_name(table, "where", NULL, TEXT_TRUNCATE_END, place->label);
	table_add_word(table, "what", place->what);
	table_add_id(table, NULL, "step", place->step ? place->step->number : 0);
	table_unset_unless(table, place->step, "");
	report_add_process(report, table, place->process);
	table_add_id(table, NULL, "pid", place->process == NONE ? 0 : report->model->processes[place->process].pid);
	table_unset_unless(table, place->process != NONE, "");
}

static const struct row_table table = {
	.id = "step_idle",
	.title = "GPU idle in steps by cause",
	.remark = "% of idle time between operations, in the steps and outside of them",
	.add_row = add_row,
};

/* Collects a row for each cause, most time first. */
static void collect_causes(struct cause_rows *rows, struct place place, struct idle_by_cause idle)
{
	enum why_cause order[WHY_CAUSES];

	for (enum why_cause cause = 0; cause < WHY_CAUSES; cause++)
		order[cause] = cause;
	qsort_r(order, WHY_CAUSES, sizeof(*order), by_ns, &idle);
	for (size_t i = 0; i < WHY_CAUSES && idle.ns[order[i]]; i++)
		array_push(&rows->list, ((struct cause_row){place, order[i], idle.ns[order[i]]}));
}

/* Collects the steps that have rows. */
static void collect_steps(struct cause_rows *rows, const struct report *report, size_t number)
{
	const struct step_table *steps = &report->all->steps.list.items[number];
	const struct idle_steps *idle = &report->all->idle.steps;
	struct place place = {.what = "median", .label = "", .step = &steps->median.step, .process = steps->process};

	collect_causes(rows, place, idle_steps_slot(idle, step_slot(number, STEP_SLOT_MEDIAN)));
	for (size_t i = 0; i < steps->slowest_count; i++) {
		place.what = i == steps->p99 ? "p99" : "slow";
		place.step = &steps->slowest[i].step;
		collect_causes(rows, place, idle_steps_slot(idle, step_slot(number, i)));
	}
}

/* A page shows the sum of all steps; programs also get each step that has a row. */
static void collect_process(struct cause_rows *rows, const struct report *report, size_t number)
{
	const struct idle_steps *idle = &report->all->idle.steps;
	uint32_t process = report->all->steps.list.items[number].process;

	collect_causes(rows, (struct place){.what = "all", .label = "in steps", .process = process},
		       idle_steps_all(idle, number));
	if (report_is_for_programs(report))
		collect_steps(rows, report, number);
	collect_causes(rows, (struct place){.what = "outside", .label = "outside of them", .process = process},
		       idle_steps_slot(idle, step_slot(number, STEP_SLOT_OUTSIDE)));
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
	struct cause_rows rows = {0};

	if (!tables || !idle->steps.sums || !idle->sum)
		return;
	for (size_t i = 0; i < tables; i++)
		collect_process(&rows, report, i);
	collect_causes(&rows, (struct place){.what = "outside", .label = "of no steps above", .process = NONE},
		       idle_steps_slot(&idle->steps, 0));
	report_rows(report, &table,
		    &(struct row_list){ROWS_OF(&rows.list), .none = &(struct cause_row){.place.process = NONE},
				       .sum = idle->sum, .has_all = true});
	array_free(&rows.list);
	explain_unknown(report);
}
