/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs did with their time: by GPU, by process, by step, and communication that nothing hides by line. */

#include "model/communication.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

#define REMARK "exposed: beside no computation; overlap: of communication, beside computation"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

void report_add_breakdown(struct table *table, const struct breakdown_sums *sums, uint64_t span_ns)
{
	double span = (double)span_ns;

	table_add_percent(table, "computation %", "computation_percent", (double)sums->computation_ns, span);
	table_add_percent(table, "exposed comm. %", "exposed_communication_percent",
			  (double)sums->exposed_communication_ns, span);
	table_add_percent(table, "exposed copies %", "exposed_copies_percent", (double)sums->exposed_copies_ns, span);
	table_add_percent(table, "idle %", "idle_percent", (double)breakdown_idle_ns(sums, span_ns), span);
	table_add_percent(table, "overlap %", "overlap_percent", (double)breakdown_overlap_ns(sums),
			  (double)sums->communication_ns);
}

static void add_sums(struct table *table, const struct breakdown_sums *sums, uint64_t span_ns)
{
	report_add_breakdown(table, sums, span_ns);
	table_add_data(table, "span_ns", UNIT_NS, span_ns);
	table_add_data(table, "computation_ns", UNIT_NS, sums->computation_ns);
	table_add_data(table, "exposed_communication_ns", UNIT_NS, sums->exposed_communication_ns);
	table_add_data(table, "exposed_copies_ns", UNIT_NS, sums->exposed_copies_ns);
	table_add_data(table, "idle_ns", UNIT_NS, breakdown_idle_ns(sums, span_ns));
	table_add_data(table, "communication_ns", UNIT_NS, sums->communication_ns);
	table_add_data(table, "copies_ns", UNIT_NS, sums->copies_ns);
}

/* ---- GPUs and processes ------------------------------------------------------------------------------------------ */

static void add_gpu(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_row *row = item;

	table_add_id(table, "GPU", "gpu", row->device);
	add_sums(table, &row->sums, report_timed_ns(report));
	table_add_data(table, "first_to_last_ns", UNIT_NS, row->sums.last_ns - row->sums.first_ns);
}

static const struct row_table gpus = {
	.id = "breakdown", .title = "What GPUs did", .remark = "% of the recording; " REMARK, .add_row = add_gpu};

static void add_process(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_row *row = item;
	const struct model_process *process = &report->model->processes[row->process];

	add_gpu(report, table, row);
	report_add_process(report, table, row->process);
	table_add_id(table, NULL, "pid", process->pid);
	table_add_id(table, NULL, "rank", (uint64_t)process->rank);
	table_unset_unless(table, process->rank >= 0, "-");
}

static const struct row_table processes = {
	.id = "breakdown_processes",
	.title = "What processes did on GPUs",
	.remark = "of its own work; % of the recording",
	.add_row = add_process,
};

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* A row: all steps of a process, or one of them. */
struct step_sums {
	const char *what;
	const struct step *step; /* NULL: all */
	uint64_t span_ns;	 /* of all GPUs that the process used */
	struct breakdown_sums sums;
};

static void add_step(struct report *report, struct table *table, const void *item)
{
	const struct step_sums *row = item;

	table_add_name(table, "steps", "what", TEXT_TRUNCATE_END, row->what);
	table_add_id(table, "step", "step", row->step ? row->step->number : 0);
	table_unset_unless(table, row->step, "");
	add_sums(table, &row->sums, row->span_ns);
}

static const struct row_table step_table = {
	.id = "breakdown_steps",
	.title = "What GPUs did in steps",
	.remark = "of the process's own work; % of the steps",
	.add_row = add_step,
};

static void put_steps_of(struct report *report, size_t index, const char *title)
{
	const struct breakdown *all = &report->all->breakdown;
	const struct step_table *steps = &report->all->steps.list.items[index];
	uint64_t count = all->step_gpus[index], median_ns = steps->median.step.end_ns - steps->median.step.start_ns;
	struct step_sums rows[STEP_SLOWEST_MAX + 3];
	size_t used = 0;

	rows[used++] = (struct step_sums){
		.what = "all", .span_ns = steps->wall_ns * count, .sums = breakdown_of_steps(all, index)};
	rows[used++] = (struct step_sums){.what = "median",
					  .step = &steps->median.step,
					  .span_ns = median_ns * count,
					  .sums = breakdown_of_slot(all, step_slot(index, STEP_SLOT_MEDIAN))};
	for (size_t i = 0; i < steps->slowest_count; i++) {
		const struct step *step = &steps->slowest[i].step;

		rows[used++] = (struct step_sums){.what = i == steps->p99 ? "p99" : "slow",
						  .step = step,
						  .span_ns = (step->end_ns - step->start_ns) * count,
						  .sums = breakdown_of_slot(all, step_slot(index, i))};
	}
	report_rows(report, &step_table, &(struct row_list){ROWS(rows, used), .title = title});
}

static void put_steps(struct report *report)
{
	const struct step_tables *steps = &report->all->steps;
	bool several = steps->list.count + steps->left_out > 1;

	for (size_t i = 0; i < steps->list.count && report->all->breakdown.slots; i++) {
		AUTO_FREE char *label = process_label(&report->model->processes[steps->list.items[i].process]);
		AUTO_FREE char *title =
			several ? xasprintf("What GPUs did in steps of %s", label) : xstrdup(step_table.title);

		if (report->all->breakdown.step_gpus[i])
			put_steps_of(report, i, title);
	}
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static void add_line(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_line *row = item;
	const char *name = row->name == NONE ? NULL : communication_word(report->model->strings[row->name]);

	table_add_ns(table, "exposed %s", "exposed_communication_ns", row->exposed_communication_ns);
	table_add_ns(table, "all %s", "communication_ns", row->communication_ns);
	table_add_percent(table, "overlap %", "overlap_percent",
			  (double)(row->communication_ns - row->exposed_communication_ns),
			  (double)row->communication_ns);
	table_add_data(table, "computation_ns", UNIT_NS, row->computation_ns);
	table_add_data(table, "exposed_copies_ns", UNIT_NS, row->exposed_copies_ns);
	table_add_name(table, "communication", "communication", TEXT_TRUNCATE_END, name);
	report_add_line(report, table, row->line, row->process);
	report_add_user_line(report, table, row->user_line, row->user_lines);
	report_note_user_line(report, table, row->user_line, row->user_lines, "");
}

static const struct row_table lines = {
	.id = "breakdown_lines",
	.title = "Exposed communication by Python line",
	.remark = REMARK,
	.add_row = add_line,
	.amount = offsetof(struct breakdown_line, exposed_communication_ns),
	.carries = ROW_CARRIES_OF_WHOLE,
	.more = "line",
};

/* A page has the lines with a loss; for programs lines sum up to the GPUs. */
static void put_lines(struct report *report)
{
	const struct breakdown *all = &report->all->breakdown;
	size_t count = all->lines.count;

	while (!report_is_for_programs(report) && count && !all->lines.items[count - 1].exposed_communication_ns)
		count--;
	report_rows(report, &lines,
		    &(struct row_list){ROWS(all->lines.items, count), .sum = all->all.exposed_communication_ns,
				       .unit_ns = all->all.exposed_communication_ns,
				       .whole = breakdown_busy_ns(&all->all)});
}

void report_breakdown(struct report *report)
{
	const struct breakdown *all = &report->all->breakdown;

	if (!report->writer && !all->all.communication_ns)
		return; /* the lines of GPUs have said it */
	report_rows(report, &gpus, &(struct row_list){ROWS_OF(&all->gpus)});
	if (report->writer || all->processes.count > all->gpus.count)
		report_rows(report, &processes,
			    &(struct row_list){ROWS_OF(&all->processes), .process = ROW_PROCESS_SHOWN});
	put_steps(report);
	put_lines(report);
}
