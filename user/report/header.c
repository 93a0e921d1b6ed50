/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lines: processes, and how long they were traced. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

static char *print_count(uint64_t count, const char *one, const char *many)
{
	return xasprintf("%s %s", number_count(count).text, count == 1 ? one : many);
}

/* Truncates the command so that what follows it stays on the line. */
static void put_process(struct report *report, const struct model_process *process, const char *rest)
{
	AUTO_FREE char *command = process_command(process), *rank = process_rank(process);
	AUTO_FREE char *pid = xasprintf(" (pid %" PRIu32 "%s%s)", process->pid, rank ? ", " : "", rank ? rank : "");
	unsigned taken = text_width(pid) + text_width(rest);

	fputs(report->color ? "\033[1m" : "", report->out);
	report_put(report, command, report->width > taken + 8 ? report->width - taken : 8, TEXT_TRUNCATE_END);
	fprintf(report->out, "%s%s%s\n", pid, rest, report->color ? "\033[0m" : "");
}

static bool is_shown(const struct report *report, const void *item)
{
	const struct model_process *process = item;

	return process->calls || process->gpu_ops || !report->all->active;
}

static void put_slice(struct report *report)
{
	if (!report->model->slice)
		return;
	report_text(report, 2, "Slice of the recording: %s", report->model->slice);
}

/* One line on a page, a table for programs; nothing without labels. */
static void put_labels(struct report *report)
{
	const struct model_source *source = model_source(report->model);
	AUTO_FREE char *text = xstrdup("");

	for (uint32_t i = 0; i < source->label_count; i++)
		text = xjoin(text, ", ", xstrdup(source->labels[i]));
	if (source->label_count)
		report_line(report, "Labels: %s", text);
}

/* ---- for programs --------------------------------------------------------------------------------------------- */

static void add_recording(struct report *report, struct table *table, const void *all)
{
	table_add_time(table, "duration", "duration_ns", report_ns(report));
	table_add_data(table, "start_ns", UNIT_NS, report->all->window.start_ns);
	table_add_count(table, "processes", "processes", report->model->process_count);
	table_add_count(table, "threads launching", "threads", report->all->threads.count);
	table_add_count(table, "GPUs", "gpus", report->all->utilization.rows.count);
	table_add_count(table, "CUDA calls", "calls", report->all->calls);
	table_add_count(table, "GPU operations", "gpu_operations", report->all->gpu_ops);
}

static void add_label(struct report *report, struct table *table, const void *item)
{
	const char *label = *(const char *const *)item, *value = strchr(label, '=') + 1;
	AUTO_FREE char *name = xasprintf("%.*s", (int)(value - 1 - label), label);

	table_add_name(table, "label", "label", TEXT_TRUNCATE_END, name);
	table_add_name(table, "value", "value", TEXT_TRUNCATE_END, value);
}

static void add_rank(struct table *table, const char *title, const char *key, int32_t rank)
{
	table_add_id(table, title, key, (uint64_t)rank);
	table_unset_unless(table, rank >= 0, "");
}

static void add_process(struct report *report, struct table *table, const void *item)
{
	const struct model_process *process = item;

	table_add_id(table, "pid", "pid", process->pid);
	table_add_count(table, "calls", "calls", process->calls);
	table_add_count(table, "GPU operations", "gpu_operations", process->gpu_ops);
	table_add_name(table, "process", "process", TEXT_TRUNCATE_END, process->name);
	table_add_name(table, "command", "command", TEXT_TRUNCATE_END, process->cmdline);
	add_rank(table, "rank", "rank", process->rank);
	add_rank(table, "local rank", "local_rank", process->local_rank);
	table_add_id(table, "user", "uid", process->uid);
	table_unset_unless(table, process->uid != NONE, "");
	table_add_name(table, "cgroup", "cgroup", TEXT_TRUNCATE_MIDDLE, process->cgroup);
	table_add_name(table, "container", "container", TEXT_TRUNCATE_END, process->container);
	table_add_name(table, "container name", "container_name", TEXT_TRUNCATE_END, process->container_name);
	table_add_name(table, "pod", "pod", TEXT_TRUNCATE_END, process->pod);
	table_add_name(table, "pod name", "pod_name", TEXT_TRUNCATE_END, process->pod_name);
	table_add_word(table, "master", process->master);
	table_add_word(table, "run_id", process->run_id);
}

static void put_tables(struct report *report)
{
	static const struct row_table recording = {.id = "recording", .title = "Recording", .add_row = add_recording};
	static const struct row_table labels = {.id = "labels", .title = "Labels", .add_row = add_label};
	static const struct row_table processes = {
		.id = "processes", .title = "Processes", .add_row = add_process, .is_shown = is_shown};
	const struct model_source *source = model_source(report->model);

	report_rows(report, &recording, &(struct row_list){ROWS(report->all, 1)});
	put_slice(report);
	report_rows(report, &labels, &(struct row_list){ROWS(source->labels, source->label_count), .has_all = true});
	report_rows(report, &processes,
		    &(struct row_list){ROWS(report->model->processes, report->model->process_count), .has_all = true,
				       .none = &(struct model_process){0}});
}

/* ----------------------------------------------------------------------------------------------------------------- */

static void put_page_head(struct report *report)
{
	const struct model *model = report->model;
	AUTO_FREE char *threads = print_count(report->all->threads.count, "thread launching", "threads launching");
	uint32_t gpus = (uint32_t)report->all->utilization.rows.count, shown = 0;
	bool listed;
	AUTO_FREE char *devices = gpus ? print_count(gpus, "GPU", "GPUs") : xstrdup("no GPU times");
	AUTO_FREE char *sum =
		xasprintf(", %s, %s, %s", number_time(report->all->window.end_ns - report->all->window.start_ns).text,
			  threads, devices);

	for (uint32_t i = 0; i < model->process_count; i++)
		shown += is_shown(report, &model->processes[i]);
	listed = report->all->active || shown <= report->rows; /* of many that made no call none is worth a line */
	for (uint32_t i = 0, put = 0; i < model->process_count && put < report->rows && listed; i++) {
		AUTO_FREE char *own = NULL;

		if (!is_shown(report, &model->processes[i]))
			continue;
		own = xasprintf(", %s calls, %s GPU operations", number_count(model->processes[i].calls).text,
				number_count(model->processes[i].gpu_ops).text);
		put_process(report, &model->processes[i], shown == 1 ? sum : own);
		put++;
	}
	if (shown > report->rows && listed)
		report_line(report, "... and %u more processes", shown - report->rows);
	if (shown != 1)
		report_line(report, "%u processes%s", shown, sum);
	put_labels(report);
	put_slice(report);
}

void report_processes(struct report *report)
{
	if (!report->writer) {
		put_page_head(report);
		return;
	}
	put_tables(report);
}
