/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lines: processes, and how long they were traced. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/page/parts.h"

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

static bool is_shown(const struct report *report, const struct model_process *process)
{
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
	char *text = xstrdup("");

	for (uint32_t i = 0; i < source->label_count; i++)
		text = xjoin(text, ", ", xstrdup(source->labels[i]));
	if (source->label_count)
		report_line(report, "Labels: %s", text);
	free(text);
}

/* ---- for programs --------------------------------------------------------------------------------------------- */

static void put_recording(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("duration", "duration_ns", UNIT_NS),
		COLUMN_DATA("start_ns", UNIT_NS),
		COLUMN_NUMBER("processes", "processes", UNIT_COUNT),
		COLUMN_NUMBER("threads launching", "threads", UNIT_COUNT),
		COLUMN_NUMBER("GPUs", "gpus", UNIT_COUNT),
		COLUMN_NUMBER("CUDA calls", "calls", UNIT_COUNT),
		COLUMN_NUMBER("GPU operations", "gpu_operations", UNIT_COUNT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "recording", "Recording", NULL);
	table_begin(&table, columns);
	table_add_time(&table, report_ns(report));
	table_add_time(&table, report->all->window.start_ns);
	table_add_count(&table, report->model->process_count);
	table_add_count(&table, report->all->threads.count);
	table_add_count(&table, report->all->utilization.rows.count);
	table_add_count(&table, report->all->calls);
	table_add_count(&table, report->all->gpu_ops);
	report_table(report, &table);
	put_slice(report);
}

static void put_table_of_labels(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NAME("label", "label", TEXT_TRUNCATE_END),
		COLUMN_NAME("value", "value", TEXT_TRUNCATE_END),
		COLUMN_END,
	};
	const struct model_source *source = model_source(report->model);
	struct table table;

	if (!source->label_count)
		return;
	report_title(report, "labels", "Labels", NULL);
	table_begin(&table, columns);
	for (uint32_t i = 0; i < source->label_count; i++) {
		const char *value = strchr(source->labels[i], '=') + 1;
		AUTO_FREE char *name = xasprintf("%.*s", (int)(value - 1 - source->labels[i]), source->labels[i]);

		table_add(&table, name);
		table_add(&table, value);
	}
	report_table(report, &table);
}

static void add_rank(struct table *table, int32_t rank)
{
	table_add_id(table, (uint64_t)rank);
	table_unset_unless(table, rank >= 0, "");
}

static void put_processes(struct report *report)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("pid", "pid", UNIT_ID),
		COLUMN_NUMBER("calls", "calls", UNIT_COUNT),
		COLUMN_NUMBER("GPU operations", "gpu_operations", UNIT_COUNT),
		COLUMN_NAME("process", "process", TEXT_TRUNCATE_END),
		COLUMN_NAME("command", "command", TEXT_TRUNCATE_END),
		COLUMN_NUMBER("rank", "rank", UNIT_ID),
		COLUMN_NUMBER("local rank", "local_rank", UNIT_ID),
		COLUMN_NUMBER("user", "uid", UNIT_ID),
		COLUMN_NAME("cgroup", "cgroup", TEXT_TRUNCATE_MIDDLE),
		COLUMN_NAME("container", "container", TEXT_TRUNCATE_END),
		COLUMN_NAME("container name", "container_name", TEXT_TRUNCATE_END),
		COLUMN_NAME("pod", "pod", TEXT_TRUNCATE_END),
		COLUMN_NAME("pod name", "pod_name", TEXT_TRUNCATE_END),
		COLUMN_DATA("master", UNIT_TEXT),
		COLUMN_DATA("run_id", UNIT_TEXT),
		COLUMN_END,
	};
	struct table table;

	report_title(report, "processes", "Processes", NULL);
	table_begin(&table, columns);
	for (uint32_t i = 0; i < report->model->process_count; i++) {
		const struct model_process *process = &report->model->processes[i];

		if (!is_shown(report, process))
			continue;
		table_add_id(&table, process->pid);
		table_add_count(&table, process->calls);
		table_add_count(&table, process->gpu_ops);
		table_add(&table, process->name);
		table_add(&table, process->cmdline);
		add_rank(&table, process->rank);
		add_rank(&table, process->local_rank);
		table_add_id(&table, process->uid);
		table_unset_unless(&table, process->uid != NONE, "");
		table_add(&table, process->cgroup);
		table_add(&table, process->container);
		table_add(&table, process->container_name);
		table_add(&table, process->pod);
		table_add(&table, process->pod_name);
		table_add_text(&table, process->master, "");
		table_add_text(&table, process->run_id, "");
	}
	report_table(report, &table);
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
	put_recording(report);
	put_table_of_labels(report);
	put_processes(report);
}
