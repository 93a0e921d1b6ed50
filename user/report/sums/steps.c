/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps of training: all of them, the median one, and why the slowest are slower. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"
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

		text = xjoin(text, ", ",
			     xasprintf("%s +%s%s",
				       op->name == NONE ? "(name not known)" : report->model->strings[op->name],
				       number_time(op->more_ns).text, op->on_gpu ? " on the GPU" : ""));
	}
	return text;
}

/* A row; without a step it is the sum of all. */
struct cells {
	struct number label;
	const char *what; /* for programs */
	const struct step_table *steps;
	const struct step *step;
	uint64_t wall_ns, busy_ns, launches;
	const struct step_row *row; /* its ops are listed, NULL */
	struct idle_by_cause idle;  /* from the account of idle time */
};

/* The largest cause of its idle time, and that cause's share. */
static void add_idle(struct report *report, struct table *table, const struct cells *cells)
{
	const struct idle_by_cause *idle = &cells->idle;
	bool is_shown = report->all->idle.steps.sums && cells->steps->has_gpu;
	const char *cause = why_short(idle->largest);
	AUTO_FREE char *text = idle->sum_ns ? xasprintf("%s %.0f %%", cause,
							100 * (double)idle->ns[idle->largest] / (double)idle->sum_ns)
					    : xstrdup("");

	table_add_named(table, is_shown ? "idle mostly" : NULL, "idle_cause", TEXT_TRUNCATE_END, text, cause);
	table_add_word(table, "idle_cause_id", why_cause_name(idle->largest));
	table_add_data(table, "idle_cause_ns", UNIT_NS, idle->ns[idle->largest]);
	table_add_data(table, "idle_between_operations_ns", UNIT_NS, idle->sum_ns);
	table_unset_last(table, 4, idle->sum_ns, "");
}

static void add_row(struct report *report, struct table *table, const void *item)
{
	const struct cells *cells = item;
	const struct step_table *steps = cells->steps;
	const struct model_process *process = &report->model->processes[steps->process];
	AUTO_FREE char *ops = cells->row && steps->has_ops ? ops_of(report, cells->row) : xstrdup("");
	uint64_t idle_ns = cells->wall_ns > cells->busy_ns ? cells->wall_ns - cells->busy_ns : 0;

	table_add_shown(table, "step", cells->label);
	table_add_word(table, "what", cells->what);
	table_add_id(table, NULL, "step", cells->step ? cells->step->number : 0);
	table_unset_unless(table, cells->step, "");
	table_add_ns(table, "wall %s", "wall_ns", cells->wall_ns);
	table_add_ns(table, steps->has_gpu ? "GPU busy" : NULL, "gpu_busy_ns", cells->busy_ns);
	table_add_ns(table, steps->has_gpu ? "GPU idle" : NULL, "gpu_idle_ns", idle_ns);
	table_add_count(table, steps->has_gpu ? "launches" : NULL, "launches", cells->launches);
	table_unset_last(table, 3, steps->has_gpu, "");
	add_idle(report, table, cells);
	table_add_name(table, steps->has_ops ? "ops that took longer than in the median step" : NULL, "slower_ops",
		       TEXT_TRUNCATE_END, ops);
	table_add_word(table, "process", process->name);
	table_add_id(table, NULL, "pid", process->pid);
}

static const struct row_table step_rows = {.id = "steps", .add_row = add_row};

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

static struct cells cells_of(const struct report *report, const struct step_table *steps, const struct step_row *row)
{
	bool is_median = row == &steps->median;
	bool is_p99 = steps->p99 != SIZE_MAX && row == &steps->slowest[steps->p99];
	struct cells cells = {.what = is_median ? "median"
				      : is_p99	? "p99"
						: "slow",
			      .steps = steps,
			      .step = &row->step,
			      .wall_ns = row->step.end_ns - row->step.start_ns,
			      .busy_ns = row->busy_ns,
			      .launches = row->launches,
			      .row = is_median ? NULL : row,
			      .idle = idle_of(report, steps, row)};

	snprintf(cells.label.text, sizeof(cells.label.text), "%s%s%" PRIu64, is_median || is_p99 ? cells.what : "",
		 is_median || is_p99 ? ": " : "", row->step.number);
	return cells;
}

static void put_table(struct report *report, const struct step_table *steps, const char *title, const char *remark)
{
	const struct idle_steps *idle = &report->all->idle.steps;
	struct cells rows[STEP_SLOWEST_MAX + 3];
	size_t count = 0;

	rows[count++] = (struct cells){.label = {"all"},
				       .what = "all",
				       .steps = steps,
				       .wall_ns = steps->wall_ns,
				       .busy_ns = steps->busy_ns,
				       .launches = steps->launches};
	if (idle->sums)
		rows[0].idle = idle_steps_all(idle, (size_t)(steps - report->all->steps.list.items));
	rows[count++] = cells_of(report, steps, &steps->median);
	for (size_t i = 0; i < steps->slowest_count; i++)
		rows[count++] = cells_of(report, steps, &steps->slowest[i]);
	report_rows(report, &step_rows,
		    &(struct row_list){ROWS(rows, count), .unit_ns = steps->wall_ns, .title = title, .remark = remark,
				       .has_all = true});
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

		put_table(report, steps, title, remark);
		put_outside(report, steps);
	}
	if (all->left_out)
		report_line(report, "  ... and steps of %zu more processes", all->left_out);
	report_step_idle(report);
}
