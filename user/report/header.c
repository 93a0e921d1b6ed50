/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The first lines: which processes, for how long. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

static char *plural(uint64_t count, const char *one, const char *many)
{
	return xasprintf("%s %s", number_count(count).text, count == 1 ? one : many);
}

/* A command line as people know it: the program without its folder. */
static char *command_of(const struct model_process *process)
{
	const char *line = process->cmdline, *blank;

	if (!*line)
		return xstrdup(process->name);
	blank = strchrnul(line, ' ');
	for (const char *at = line; at < blank; at++)
		if (*at == '/')
			line = at + 1;
	return xstrdup(line);
}

/* Command truncated so that what follows it stays on the line. */
static void put_process(struct report *report, const struct model_process *process, const char *rest)
{
	char *command = command_of(process), *pid = xasprintf(" (pid %" PRIu32 ")", process->pid);
	unsigned taken = text_width(pid) + text_width(rest);

	fputs(report->color ? "\033[1m" : "", report->out);
	text_put(report->out, command, report->width > taken + 8 ? report->width - taken : 8, TEXT_TRUNCATE_END);
	fprintf(report->out, "%s%s%s\n", pid, rest, report->color ? "\033[0m" : "");
	free(command);
	free(pid);
}

static bool is_shown(const struct report *report, const struct model_process *process)
{
	return process->calls || process->gpu_ops || !report->all->active;
}

static void put_slice(struct report *report)
{
	char *text;

	if (!report->model->slice)
		return;
	text = xasprintf("Slice of the recording: %s", report->model->slice);
	report_text(report, 2, text);
	free(text);
}

void report_processes(struct report *report)
{
	const struct model *model = report->model;
	char *threads = plural(report->all->threads.count, "thread launching", "threads launching");
	uint32_t gpus = (uint32_t)report->all->utilization.rows.count, shown = 0;
	char *devices = gpus ? plural(gpus, "GPU", "GPUs") : xstrdup("no GPU times");
	char *sum =
		xasprintf(", %s, %s, %s", number_time(report->all->window.end_ns - report->all->window.start_ns).text,
			  threads, devices);

	for (uint32_t i = 0; i < model->process_count; i++)
		shown += is_shown(report, &model->processes[i]);
	for (uint32_t i = 0, put = 0; i < model->process_count && put < report->rows; i++) {
		char *own;

		if (!is_shown(report, &model->processes[i]))
			continue;
		own = xasprintf(", %s calls, %s GPU operations", number_count(model->processes[i].calls).text,
				number_count(model->processes[i].gpu_ops).text);
		put_process(report, &model->processes[i], shown == 1 ? sum : own);
		free(own);
		put++;
	}
	if (shown > report->rows)
		report_line(report, "... and %u more processes", shown - report->rows);
	if (shown != 1)
		report_line(report, "%u processes%s", shown, sum);
	put_slice(report);
	free(threads);
	free(devices);
	free(sum);
}
