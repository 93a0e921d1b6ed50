/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report from top to bottom, and what its parts have in common. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

#define WIDTH_DEFAULT 100u
#define WIDTH_LEAST 80u
#define ROWS_DEFAULT 10u

void report_title(struct report *report, const char *title, const char *aside)
{
	unsigned used;

	fputc('\n', report->out);
	fputs(report->color ? "\033[1m" : "", report->out);
	used = text_put(report->out, title, report->width, TEXT_TRUNCATE_END);
	fputs(report->color ? "\033[0m" : "", report->out);
	if (aside && used + 3 < report->width) {
		fputs("   ", report->out);
		text_put(report->out, aside, report->width - used - 3, TEXT_TRUNCATE_END);
	}
	fputc('\n', report->out);
}

void report_line(struct report *report, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		return;
	text_put(report->out, text, report->width, TEXT_TRUNCATE_MIDDLE);
	fputc('\n', report->out);
	free(text);
}

void report_text(struct report *report, unsigned indent, const char *text)
{
	text_wrap(report->out, text, 0, indent, report->width);
}

void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit)
{
	if (count)
		report_line(report, "  ... and %s more %s, %s%s%s", number_count(count).text, what, sum.text,
			    *unit ? " " : "", unit);
}

static int by_ns(const void *left, const void *right)
{
	const struct tally_entry *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	for (int i = 0; i < 4; i++)
		if (a->key.part[i] != b->key.part[i])
			return a->key.part[i] < b->key.part[i] ? -1 : 1;
	return 0;
}

static int by_count_first(const void *left, const void *right)
{
	const struct tally_entry *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return by_ns(left, right);
}

struct tally_entry *tally_sorted(const struct tally *tally, bool by_count)
{
	struct tally_entry *sorted = xmalloc(tally->count * sizeof(*sorted));

	if (tally->count)
		memcpy(sorted, tally->entries, tally->count * sizeof(*sorted));
	qsort(sorted, tally->count, sizeof(*sorted), by_count ? by_count_first : by_ns);
	return sorted;
}

/* What the driver needs to begin a memcpy. */
#define MEMCPY_BEGINS_NS 5000u

bool call_waits(const struct model_call *call)
{
	/* also an asynchronous memcpy, from pageable memory */
	return call->class == GPT_CLASS_SYNC ||
	       (call->class == GPT_CLASS_MEMCPY && call->end_ns > call->start_ns + MEMCPY_BEGINS_NS);
}

bool call_failed(const struct model_call *call)
{
	return call->end_ns && call->result;
}

void process_note(uint64_t *more, uint32_t process)
{
	if (!*more)
		*more = (uint64_t)process + 1;
	else if (*more != (uint64_t)process + 1)
		*more = PROCESS_MANY;
}

void report_add_process(struct report *report, struct table *table, uint64_t more)
{
	char *text;

	if (more == PROCESS_MANY || !more)
		text = xstrdup(more ? "several" : "");
	else
		text = xasprintf("%s %" PRIu32, report->model->processes[more - 1].name,
				 report->model->processes[more - 1].pid);
	table_add(table, text);
	free(text);
}

/* A trace without times of its own (truncated early) spans its events. */
static void find_window(struct report *report)
{
	const struct model *model = report->model;

	report->start_ns = model->start_ns;
	report->end_ns = model->end_ns;
	if (report->end_ns > report->start_ns)
		return;
	report->end_ns = report->start_ns;
	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->calls[i].start_ns > report->end_ns)
			report->end_ns = model->calls[i].start_ns;
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].end_ns > report->end_ns)
			report->end_ns = model->gpu[i].end_ns;
}

static void put_nothing_seen(struct report *report)
{
	const struct model *model = report->model;
	char *text;

	fputc('\n', report->out);
	text = xasprintf("No CUDA call was seen in %s.", number_time(report->end_ns - report->start_ns).text);
	report_text(report, 2, text);
	free(text);
	if (!model->process_count) {
		report_text(report, 2,
			    "No process with a CUDA library was found. `gputrace doctor` says what it can see.");
		return;
	}
	text = xasprintf("Is the process idle, or does it wait? `gputrace doctor -p %" PRIu32 "` says what works there "
			 "and what does not; a longer --duration may catch its next call.",
			 model->processes[0].pid);
	report_text(report, 2, text);
	free(text);
}

static void put_parts(struct report *report)
{
	const struct model *model = report->model;

	report_processes(report);
	if (!model->call_count && !model->gpu_count) {
		put_nothing_seen(report);
	} else if (model->gpu_count) {
		report_devices(report);
		report_no_gpu(report);
		report_gpu_by_line(report);
		report_untimed_launches(report);
		report_gpu_by_kernel(report);
		report_ranges(report);
		report_memcpys(report);
		report_idle(report);
		report_waits(report);
		report_calls(report);
	} else {
		report_no_gpu(report);
		report_calls_by_line(report);
		report_calls(report);
	}
	report_jit(report);
	report_memory(report);
	report_interpreter(report);
	report_failed(report);
	report_complete(report);
}

int report_write(FILE *out, const struct model *model, const struct report_options *options)
{
	struct report report = {
		.out = out,
		.model = model,
		.width = options->width ? options->width : WIDTH_DEFAULT,
		.rows = options->rows ? options->rows : ROWS_DEFAULT,
		.color = options->color,
	};

	if (report.width < WIDTH_LEAST)
		report.width = WIDTH_LEAST;
	for (uint32_t i = 0; i < model->process_count; i++)
		report.active += model->processes[i].calls || model->processes[i].gpu_ops;
	find_window(&report);
	text_begin();
	lines_make(&report.lines, model);
	put_parts(&report);
	lines_free(&report.lines);
	text_end();
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
