/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The whole report, from top to bottom. */
#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "report/page/parts.h"
#include "report/ranks/split.h"
#include "report/why/verdict.h"
#include "report/why/why_words.h"

#define WIDTH_DEFAULT 100u
#define WIDTH_LEAST 80u
#define ROWS_DEFAULT 10u

static bool has_calls(const struct report *report)
{
	return report->all->calls || analyses_know_gpus(report->all);
}

/* How the page begins.  Where there were no calls, the verdict's last line is the receipt, which soon follows. */
static void put_verdict(struct report *report)
{
	struct verdict verdict;
	size_t count;

	verdict_make(&verdict, report->all, report->width);
	count = verdict.count - !has_calls(report);
	fputc('\n', report->out);
	for (size_t i = 0; i < count; i++) {
		report_put(report, verdict.lines[i], report->width,
			   i == verdict.command ? TEXT_WHOLE : TEXT_TRUNCATE_FILES);
		fputc('\n', report->out);
	}
	verdict_free(&verdict);
}

/* For programs: what keeps the verdict from saying more.  On a page the verdict says it. */
static void put_unknown(struct report *report, const char *id, const char *title)
{
	AUTO_FREE char *text = why_unknown(report->all);

	if (report->writer && text) {
		report_title(report, id, title, NULL);
		report_text(report, 2, "%s", text);
	}
}

/* No part of gputrace ran where another tool recorded. */
static void put_no_gpu(struct report *report)
{
	if (!model_is_foreign(report->model))
		report_no_gpu(report);
	else if (!analyses_know_gpus(report->all))
		put_unknown(report, "no_gpu_times", "No GPU times");
}

/* For the caller. */
static void keep_verdict(const struct report *report)
{
	const struct report_options *options = report->options;

	if (options->verdict && options->is_verdict_brief)
		verdict_make_brief(options->verdict, report->all, options->width);
	else if (options->verdict)
		verdict_make(options->verdict, report->all, report->width);
}

/* What is idle where nothing was recorded is not known, so there are no such tables. */
static void put_proof(struct report *report)
{
	report_processes(report);
	report_section(report, NULL);
	report_cost_proof(report);
	report_cost(report);
	report_complete(report);
}

static void put_parts(struct report *report, void *none)
{
	keep_verdict(report);
	if (report->model->schedule.windows_ms && !report->model->slice) {
		put_proof(report);
		return;
	}
	report_processes(report);
	if (!report->writer)
		put_verdict(report);
	if (!has_calls(report)) {
		put_unknown(report, "nothing_seen", "Nothing seen");
		report_steps(report);
		report_ops(report);
		report_ranges(report);
	} else if (analyses_know_gpus(report->all)) {
		report_section(report, "gpus");
		report_devices(report);
		report_section(report, NULL);
		put_no_gpu(report);
		report_steps(report);
		report_breakdown(report);
		report_gpu_by_line(report);
		report_calls_by_line(report);
		report_untimed_launches(report);
		report_gpu_by_layer(report);
		report_gpu_by_kernel(report);
		report_ops(report);
		report_collectives(report);
		report_split_of_log(report);
		report_ranges(report);
		report_memcpys(report);
		report_idle(report);
		report_waits(report);
		report_calls(report);
	} else {
		report_section(report, NULL);
		put_no_gpu(report);
		report_steps(report);
		report_ops(report);
		report_ranges(report);
		report_calls_by_line(report);
		report_calls(report);
	}
	report_cpu_lines(report);
	report_off_cpu(report);
	report_compiles(report);
	report_jit(report);
	report_gpu_counters(report);
	report_torch_memory(report);
	report_torch_held(report);
	report_memory(report);
	report_interpreter(report);
	report_section(report, NULL);
	report_failed(report);
	report_cost(report);
	report_complete(report);
}

/* What was left out, and how to see it, after a blank line; "": nothing was.  The caller frees it. */
static char *left_text(struct report *report, const struct sections_left *left)
{
	bool both = *left->no_room && *left->small;
	FILE *page = report->out;
	char *text = NULL;
	size_t size = 0;

	report->out = xmemstream(&text, &size);
	if (*left->no_room || *left->small) {
		fputc('\n', report->out);
		report_text(report, 2, "Left out: %s%s%s%s. `gputrace %s --table NAME` shows one, --all all of them.",
			    left->no_room, both ? "; " : "", *left->small ? "under 1 %: " : "", left->small,
			    report->table_of);
	}
	fclose(report->out);
	report->out = page;
	return text;
}

/* Puts a short page, or one table.  Returns -ENOENT if it has no table of that name. */
static int put_sections(struct report *report, struct sections *sections)
{
	const struct report_options *options = report->options;
	size_t kept = 0, lines = 0;
	char *text = NULL;

	if (options->table)
		return sections_put_one(sections, options->table, options->tables) ? 0 : -ENOENT;
	do {
		struct sections_left left;

		kept = lines; /* for what is left out, which is more the more that takes */
		left = sections_choose(sections, options->lines > kept ? options->lines - kept : 0);
		free(text);
		text = left_text(report, &left);
		lines = text_lines(text);
		free(left.small);
		free(left.no_room);
	} while (lines > kept);
	sections_put(sections);
	fputs(text, report->out);
	free(text);
	return 0;
}

/* A page of which something may be left out. */
static int put_page(struct report *report, void (*put)(struct report *report, void *context), void *context)
{
	struct sections sections = {.page = report->out, .first = "gpu_lines"};
	int error;

	report->sections = &sections;
	report->out = sections_begin(&sections, NULL);
	put(report, context);
	fclose(report->out);
	report->out = sections.page;
	report->sections = NULL; /* what is put now is not held */
	error = put_sections(report, &sections);
	sections_free(&sections);
	return error;
}

void report_page(struct report *report, FILE *out, struct analyses *all, const struct report_options *options)
{
	*report = (struct report){
		.out = out,
		.options = options,
		.all = all,
		.model = all->model,
		.width = options->width ? options->width : WIDTH_DEFAULT,
		.rows = options->table	? UINT_MAX
			: options->rows ? options->rows
					: ROWS_DEFAULT,
		.truncates = options->truncates,
		.color = options->color,
	};
	if (report->width < WIDTH_LEAST)
		report->width = WIDTH_LEAST;
}

static void begin_with(struct report *report, const char *table)
{
	const struct report_options *options = report->options;

	text_begin();
	if (!options->format)
		return;
	table_writer_open(&report->own_writer, report->out, options->format, table);
	report->own_writer.keeper = options->keeper;
	report->writer = &report->own_writer;
	report->rows = options->format->rows;
	report->color = false;
}

void report_begin(struct report *report)
{
	begin_with(report, report->options->table);
}

void report_begin_list(struct report *report, const char *id)
{
	const struct report_options *options = report->options;

	report->is_one_list = id && options->format && options->format->is_one_table && !options->table;
	begin_with(report, report->is_one_list ? id : options->table);
}

static void say_lines(char *text)
{
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n")))
		if (*line)
			msg_info("%s", line);
}

void report_list_complete(struct report *report)
{
	struct report text_report = *report;
	AUTO_FREE char *text = NULL;
	size_t size = 0;

	if (!report->is_one_list) {
		report_complete(report);
		return;
	}
	text_report.out = open_memstream(&text, &size);
	if (!text_report.out)
		return;
	text_report.writer = NULL;
	text_report.rows = ROWS_DEFAULT;
	report_complete(&text_report);
	fclose(text_report.out);
	say_lines(text);
}

int report_end(struct report *report)
{
	int error = report->writer ? table_writer_close(report->writer, report->options->tables) : 0;

	text_end();
	if (error)
		return error;
	errno = 0;
	if (fflush(report->out) || ferror(report->out))
		return errno ? -errno : -EIO;
	return 0;
}

int report_write_page(struct report *report, void (*put)(struct report *report, void *context), void *context)
{
	int error = 0, end_error;

	report_begin(report);
	report->names_tables = true;
	if (report->writer || (!report->options->lines && !report->options->table))
		put(report, context);
	else
		error = put_page(report, put, context);
	end_error = report_end(report);
	return error ? error : end_error;
}

int report_write_of(FILE *out, struct analyses *all, const struct report_options *options)
{
	AUTO_FREE char *file = report_file(all), *command = xasprintf("report%s", file);
	struct report report;

	report_page(&report, out, all, options);
	report.table_of = command;
	return report_write_page(&report, put_parts, NULL);
}

int report_write(FILE *out, struct trace *trace, const struct report_options *options)
{
	struct analyses all;
	int error = analyze_with(&all, trace, analyses_of_report,
				 &(struct analyze_options){.attribution = &options->attribution,
							   .if_of_use = true,
							   .comm_names = options->comm_kernels});

	if (!error)
		error = report_write_of(out, &all, options);
	analyses_free(&all);
	return error;
}
