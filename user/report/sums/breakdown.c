/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What GPUs did with their time: by GPU, by process, by step, and communication that nothing hides by line. */

#include "model/communication.h"
#include "report/page/parts.h"
#include "report/page/row_table.h"

#define REMARK "exposed: beside no computation; overlap: of communication, beside computation"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* The columns of add_sums. */
#define ROW_SUMS(adds)                                                                                                 \
	ROW_ADD(COLUMN_NUMBER("computation %", "computation_percent", UNIT_PERCENT), adds),                            \
		ROW_ADD(COLUMN_NUMBER("exposed comm. %", "exposed_communication_percent", UNIT_PERCENT), NULL),        \
		ROW_ADD(COLUMN_NUMBER("exposed copies %", "exposed_copies_percent", UNIT_PERCENT), NULL),              \
		ROW_ADD(COLUMN_NUMBER("idle %", "idle_percent", UNIT_PERCENT), NULL),                                  \
		ROW_ADD(COLUMN_NUMBER("overlap %", "overlap_percent", UNIT_PERCENT), NULL),                            \
		ROW_ADD(COLUMN_DATA("span_ns", UNIT_NS), NULL), ROW_ADD(COLUMN_DATA("computation_ns", UNIT_NS), NULL), \
		ROW_ADD(COLUMN_DATA("exposed_communication_ns", UNIT_NS), NULL),                                       \
		ROW_ADD(COLUMN_DATA("exposed_copies_ns", UNIT_NS), NULL),                                              \
		ROW_ADD(COLUMN_DATA("idle_ns", UNIT_NS), NULL),                                                        \
		ROW_ADD(COLUMN_DATA("communication_ns", UNIT_NS), NULL),                                               \
		ROW_ADD(COLUMN_DATA("copies_ns", UNIT_NS), NULL)

static void add_overlap(struct table *table, uint64_t overlap_ns, uint64_t communication_ns)
{
	table_add_percent(table, (double)overlap_ns, (double)communication_ns);
}

static void add_sums(struct table *table, const struct breakdown_sums *sums, uint64_t span_ns)
{
	struct time_unit ns = time_unit_for(0);
	uint64_t idle_ns = breakdown_idle_ns(sums, span_ns);
	double span = (double)span_ns;

	table_add_percent(table, (double)sums->computation_ns, span);
	table_add_percent(table, (double)sums->exposed_communication_ns, span);
	table_add_percent(table, (double)sums->exposed_copies_ns, span);
	table_add_percent(table, (double)idle_ns, span);
	add_overlap(table, breakdown_overlap_ns(sums), sums->communication_ns);
	table_add_ns(table, span_ns, ns);
	table_add_ns(table, sums->computation_ns, ns);
	table_add_ns(table, sums->exposed_communication_ns, ns);
	table_add_ns(table, sums->exposed_copies_ns, ns);
	table_add_ns(table, idle_ns, ns);
	table_add_ns(table, sums->communication_ns, ns);
	table_add_ns(table, sums->copies_ns, ns);
}

/* ---- GPUs and processes ------------------------------------------------------------------------------------------ */

static void add_gpu(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_row *row = item;

	(void)report;
	table_add_id(table, row->device);
}

static void add_of_recording(struct report *report, struct table *table, const void *item)
{
	add_sums(table, &((const struct breakdown_row *)item)->sums, report_timed_ns(report));
}

static void add_first_to_last(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_sums *sums = &((const struct breakdown_row *)item)->sums;

	(void)report;
	table_add_ns(table, sums->last_ns - sums->first_ns, time_unit_for(0));
}

#define ROW_GPU ROW_ADD(COLUMN_NUMBER("GPU", "gpu", UNIT_ID), add_gpu)
#define ROW_FIRST_TO_LAST ROW_ADD(COLUMN_DATA("first_to_last_ns", UNIT_NS), add_first_to_last)

static const struct row_table gpus = {
	.id = "breakdown",
	.title = "What GPUs did",
	.remark = "% of the recording; " REMARK,
	.columns = (const struct row_column[]){ROW_GPU, ROW_SUMS(add_of_recording), ROW_FIRST_TO_LAST, ROW_END},
};

static void add_pid_and_rank(struct report *report, struct table *table, const void *item)
{
	const struct model_process *process = &report->model->processes[((const struct breakdown_row *)item)->process];

	table_add_id(table, process->pid);
	table_add_id(table, (uint64_t)process->rank);
	table_unset_unless(table, process->rank >= 0, "-");
}

static const struct row_table processes = {
	.id = "breakdown_processes",
	.title = "What processes did on GPUs",
	.remark = "of its own work; % of the recording",
	.columns =
		(const struct row_column[]){
			ROW_GPU,
			ROW_SUMS(add_of_recording),
			ROW_FIRST_TO_LAST,
			ROW_PROCESS(struct breakdown_row, process),
			ROW_ADD(COLUMN_DATA("pid", UNIT_ID), add_pid_and_rank),
			ROW_ADD(COLUMN_DATA("rank", UNIT_ID), NULL),
			ROW_END,
		},
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

	(void)report;
	table_add(table, row->what);
	table_add_id(table, row->step ? row->step->number : 0);
	table_unset_unless(table, row->step, "");
}

static void add_of_step(struct report *report, struct table *table, const void *item)
{
	const struct step_sums *row = item;

	(void)report;
	add_sums(table, &row->sums, row->span_ns);
}

static const struct row_table step_table = {
	.id = "breakdown_steps",
	.title = "What GPUs did in steps",
	.remark = "of the process's own work; % of the steps",
	.columns =
		(const struct row_column[]){
			ROW_ADD(COLUMN_NAME("steps", "what", TEXT_TRUNCATE_END), add_step),
			ROW_ADD(COLUMN_NUMBER("step", "step", UNIT_ID), NULL),
			ROW_SUMS(add_of_step),
			ROW_END,
		},
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

static void add_line_overlap(struct report *report, struct table *table, const void *item)
{
	const struct breakdown_line *row = item;

	(void)report;
	add_overlap(table, row->communication_ns - row->exposed_communication_ns, row->communication_ns);
}

static char *communication_text(const struct report *report, const void *item)
{
	const struct breakdown_line *row = item;

	return row->name == NONE ? NULL : xstrdup(communication_word(report->model->strings[row->name]));
}

static const struct row_table lines = {
	.id = "breakdown_lines",
	.title = "Exposed communication by Python line",
	.remark = REMARK,
	.carries = ROW_CARRIES_OF_WHOLE,
	.more = "line",
	.columns =
		(const struct row_column[]){
			ROW_NS("exposed %s", "exposed_communication_ns", struct breakdown_line,
			       exposed_communication_ns),
			ROW_NS("all %s", "communication_ns", struct breakdown_line, communication_ns),
			ROW_ADD(COLUMN_NUMBER("overlap %", "overlap_percent", UNIT_PERCENT), add_line_overlap),
			ROW_OF(.column = COLUMN_DATA("computation_ns", UNIT_NS), .cell = ROW_CELL_NS,
			       .at = offsetof(struct breakdown_line, computation_ns)),
			ROW_OF(.column = COLUMN_DATA("exposed_copies_ns", UNIT_NS), .cell = ROW_CELL_NS,
			       .at = offsetof(struct breakdown_line, exposed_copies_ns)),
			ROW_TEXT("communication", "communication", TEXT_TRUNCATE_END, communication_text),
			ROW_LINE(struct breakdown_line, line, process),
			ROW_USER_LINE(struct breakdown_line),
			ROW_END,
		},
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
	report_rows(report, &gpus, &(struct row_list){ROWS(all->gpus.items, all->gpus.count)});
	if (report->writer || all->processes.count > all->gpus.count)
		report_rows(report, &processes,
			    &(struct row_list){ROWS(all->processes.items, all->processes.count),
					       .process = ROW_PROCESS_SHOWN});
	put_steps(report);
	put_lines(report);
}
