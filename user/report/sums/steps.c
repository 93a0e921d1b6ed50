/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps of training: all of them, the median one, and why the slowest are slower. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/why/why_words.h"

/* What the steps were found by: "by Optimizer.step (AdamW.step), 120 of them". */
static char *found_by(const struct step_track *track)
{
	struct number number = number_count(track->list.count + track->left_out);
	const char *count = number.text;

	switch (track->source) {
	case STEP_PROFILER:
		return xasprintf("by ProfilerStep of torch.profiler, %s of them", count);
	case STEP_OPTIMIZER:
		return *track->name ? xasprintf("by Optimizer.step (%s), %s of them", track->name, count)
				    : xasprintf("by Optimizer.step, %s of them", count);
	case STEP_BACKWARD:
		return xasprintf("by backward passes%s, %s of them",
				 track->from_stacks ? " as the stacks of CUDA calls show them" : "", count);
	case STEP_FUNCTION:
		return xasprintf("by %s()%s, %s of them", track->name,
				 track->from_stacks ? " as recorded stacks show it" : "", count);
	case STEP_BURST:
		return xasprintf("by bursts of GPU work, more than %s without any between them, %s of them",
				 track->name, count);
	case STEP_CAPTURE:
		return xasprintf("from cudaProfilerStart to cudaProfilerStop, %s of them", count);
	default:
		return xasprintf("by ranges%s%s, %s of them", *track->name ? " " : "", track->name, count);
	}
}

static char *ops_of(const struct report *report, const struct step_row *row)
{
	char *text = xstrdup(row->more_count ? "" : "(none by much: between ops, or in many)");

	for (size_t i = 0; i < row->more_count; i++) {
		const struct step_op *op = &row->more[i];
		char *longer = xasprintf("%s%s%s +%s%s", text, i ? ", " : "",
					 op->name == NONE ? "(name not known)" : report->model->strings[op->name],
					 number_time(op->more_ns).text, op->on_gpu ? " on the GPU" : "");

		free(text);
		text = longer;
	}
	return text;
}

/* The cells of a row; without a step the row is the sum of all. */
struct cells {
	const char *label, *what; /* what: for programs */
	const struct step *step;
	uint64_t wall_ns, busy_ns, launches;
	const struct step_row *row; /* its ops are listed, NULL */
	struct idle_by_cause idle;  /* from the account of idle time */
};

/* Adds the largest cause of its idle time, and that cause's share. */
static void add_idle(struct table *table, const struct cells *cells)
{
	const struct idle_by_cause *idle = &cells->idle;
	const char *cause = why_short(idle->largest);
	AUTO_FREE char *text = NULL;

	if (!idle->sum_ns) {
		table_add_unknowns(table, 4, "");
		return;
	}
	text = xasprintf("%s %.0f %%", cause, 100 * (double)idle->ns[idle->largest] / (double)idle->sum_ns);
	table_add_named(table, text, cause);
	table_add(table, why_cause_name(idle->largest));
	table_add_time(table, idle->ns[idle->largest]);
	table_add_time(table, idle->sum_ns);
}

static void add_gpu(struct table *table, const struct step_table *steps, struct time_unit unit,
		    const struct cells *cells)
{
	if (!steps->has_gpu) {
		table_add_unknowns(table, 3, "");
		return;
	}
	table_add_ns(table, cells->busy_ns, unit);
	table_add_ns(table, cells->wall_ns > cells->busy_ns ? cells->wall_ns - cells->busy_ns : 0, unit);
	table_add_count(table, cells->launches);
}

static void add_row(struct report *report, struct table *table, const struct step_table *steps, struct time_unit unit,
		    const struct cells *cells)
{
	AUTO_FREE char *ops = NULL;

	table_add(table, cells->label);
	table_add(table, cells->what);
	table_add_id(table, cells->step ? cells->step->number : 0);
	table_unset_unless(table, cells->step, "");
	table_add_ns(table, cells->wall_ns, unit);
	add_gpu(table, steps, unit, cells);
	add_idle(table, cells);
	ops = cells->row && steps->has_ops ? ops_of(report, cells->row) : xstrdup("");
	table_add(table, ops);
	table_add(table, report->model->processes[steps->process].name);
	table_add_id(table, report->model->processes[steps->process].pid);
}

/* Idle time of a step that has a row. */
static struct idle_by_cause idle_of(const struct report *report, const struct step_table *steps,
				    const struct step_row *row)
{
	const struct idle_steps *idle = &report->all->idle.steps;
	size_t which = row == &steps->median ? STEP_SLOT_MEDIAN : (size_t)(row - steps->slowest);

	if (!idle->sums)
		return (struct idle_by_cause){0};
	return idle_steps_slot(idle, step_slot((size_t)(steps - report->all->steps.list.items), which));
}

static void add_step(struct report *report, struct table *table, const struct step_table *steps, struct time_unit unit,
		     const struct step_row *row)
{
	bool is_p99 = steps->p99 != SIZE_MAX && row == &steps->slowest[steps->p99];
	const char *what = row == &steps->median ? "median" : is_p99 ? "p99" : "slow";
	char *label = row == &steps->median || is_p99 ? xasprintf("%s: %" PRIu64, what, row->step.number)
						      : xasprintf("%" PRIu64, row->step.number);
	struct cells cells = {.label = label,
			      .what = what,
			      .step = &row->step,
			      .wall_ns = row->step.end_ns - row->step.start_ns,
			      .busy_ns = row->busy_ns,
			      .launches = row->launches,
			      .row = row == &steps->median ? NULL : row,
			      .idle = idle_of(report, steps, row)};

	add_row(report, table, steps, unit, &cells);
	free(label);
}

static void put_table(struct report *report, const struct step_table *steps)
{
	struct time_unit unit = time_unit_for(steps->wall_ns);
	const char *ops = steps->has_ops ? "ops that took longer than in the median step" : COLUMN_NOT_SHOWN;
	const struct idle_steps *idle = &report->all->idle.steps;
	struct idle_by_cause all = {0};
	char wall[16];
	const struct column columns[] = {
		COLUMN_NUMBER("step", NULL, UNIT_TEXT),
		COLUMN_DATA("what", UNIT_TEXT),
		COLUMN_DATA("step", UNIT_ID),
		COLUMN_NUMBER(wall, "wall_ns", UNIT_NS),
		COLUMN_NUMBER(steps->has_gpu ? "GPU busy" : COLUMN_NOT_SHOWN, "gpu_busy_ns", UNIT_NS),
		COLUMN_NUMBER(steps->has_gpu ? "GPU idle" : COLUMN_NOT_SHOWN, "gpu_idle_ns", UNIT_NS),
		COLUMN_NUMBER(steps->has_gpu ? "launches" : COLUMN_NOT_SHOWN, "launches", UNIT_COUNT),
		COLUMN_NAME(idle->sums && steps->has_gpu ? "idle mostly" : COLUMN_NOT_SHOWN, "idle_cause",
			    TEXT_TRUNCATE_END),
		COLUMN_DATA("idle_cause_id", UNIT_TEXT),
		COLUMN_DATA("idle_cause_ns", UNIT_NS),
		COLUMN_DATA("idle_between_operations_ns", UNIT_NS),
		COLUMN_NAME(ops, "slower_ops", TEXT_TRUNCATE_END),
		COLUMN_DATA("process", UNIT_TEXT),
		COLUMN_DATA("pid", UNIT_ID),
		COLUMN_END,
	};
	struct table table;

	if (idle->sums)
		all = idle_steps_all(idle, (size_t)(steps - report->all->steps.list.items));
	snprintf(wall, sizeof(wall), "wall %s", unit.name);
	table_begin(&table, columns);
	add_row(report, &table, steps, unit,
		&(struct cells){.label = "all",
				.what = "all",
				.wall_ns = steps->wall_ns,
				.busy_ns = steps->busy_ns,
				.launches = steps->launches,
				.idle = all});
	add_step(report, &table, steps, unit, &steps->median);
	for (size_t i = 0; i < steps->slowest_count; i++)
		add_step(report, &table, steps, unit, &steps->slowest[i]);
	report_table(report, &table);
}

/* Says what is in none of the steps above. */
static void put_outside(struct report *report, const struct step_table *steps)
{
	const struct window *window = &report->all->window;
	uint64_t start_ns = steps->list[0].start_ns, end_ns = steps->list[steps->count - 1].end_ns;
	const char *cut = steps->track->first_cut ? ", step 0 among it, which began before it was seen" : "";

	if (start_ns > window->start_ns || end_ns < window->end_ns)
		report_line(report, "  outside of them: %s before%s; %s after",
			    number_time(start_ns > window->start_ns ? start_ns - window->start_ns : 0).text, cut,
			    number_time(window->end_ns > end_ns ? window->end_ns - end_ns : 0).text);
	if (steps->has_gpu && steps->untimed)
		report_line(report,
			    "  %s of the launches have no GPU times, so the GPU may have been less idle than this says",
			    number_count(steps->untimed).text);
	if (steps->track->left_out)
		report_line(report, "  %s later steps are not in this table: it has room for %s",
			    number_count(steps->track->left_out).text, number_count(STEPS_MAX).text);
}

void report_steps(struct report *report)
{
	const struct step_tables *all = &report->all->steps;

	for (size_t i = 0; i < all->list.count; i++) {
		const struct step_table *steps = &all->list.items[i];
		AUTO_FREE char *label = process_label(&report->model->processes[steps->process]);
		AUTO_FREE char *title =
			all->list.count + all->left_out > 1 ? xasprintf("Steps of %s", label) : xstrdup("Steps");
		AUTO_FREE char *remark = found_by(steps->track);

		report_title(report, "steps", title, remark);
		put_table(report, steps);
		put_outside(report, steps);
	}
	if (all->left_out)
		report_line(report, "  ... and steps of %zu more processes", all->left_out);
	report_step_idle(report);
}
