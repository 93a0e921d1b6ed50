/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report from top to bottom. */
#include "report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

#define WIDTH_DEFAULT 100u
#define WIDTH_LEAST 80u
#define ROWS_DEFAULT 10u

static void put_nothing_seen(struct report *report)
{
	const struct model *model = report->model;
	char *text;

	fputc('\n', report->out);
	text = xasprintf("No CUDA call was seen in %s.",
			 number_time(report->all->window.end_ns - report->all->window.start_ns).text);
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
	struct analyses all;
	struct report report = {
		.out = out,
		.model = model,
		.all = &all,
		.width = options->width ? options->width : WIDTH_DEFAULT,
		.rows = options->rows ? options->rows : ROWS_DEFAULT,
		.color = options->color,
	};

	if (report.width < WIDTH_LEAST)
		report.width = WIDTH_LEAST;
	analyze(&all, model, ANALYZE_TABLES & ~(model->gpu_count ? ANALYZE_CALL_LINES : ANALYZE_WITH_GPU));
	text_begin();
	put_parts(&report);
	text_end();
	analyses_free(&all);
	errno = 0;
	if (fflush(out) || ferror(out))
		return errno ? -errno : -EIO;
	return 0;
}
