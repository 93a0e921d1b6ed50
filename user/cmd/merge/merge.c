/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads one log after the other for what must be known of all, then prints it; files take another round. */
#include "cmd/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/ranks/collective_causes.h"
#include "analyze/ranks/collective_split.h"
#include "cmd/process/interrupt.h"
#include "cmd/merge/merge_dumps.h"
#include "cmd/merge/merge_logs.h"
#include "cmd/options/nearest.h"
#include "cmd/output/outputs.h"
#include "cmd/process/print.h"
#include "cmd/output/reading.h"
#include "report/ranks/ranks.h"
#include "report/table/text.h"

/* Identifies a log's file. */
struct identity {
	dev_t device;
	ino_t inode;
};

/* What is known of all logs. */
struct job {
	struct ranks ranks;
	ARRAY(struct collective_kernels) kernels; /* by ranks.logs */
	struct collective_split split;
};

static void job_free(struct job *job)
{
	collective_split_free(&job->split);
	for (size_t i = 0; i < job->kernels.count; i++)
		collective_kernels_free(&job->kernels.items[i]);
	array_free(&job->kernels);
	ranks_free(&job->ranks);
}

/* Takes over what was found in a log. */
static void keep_log(struct job *job, const char *log, struct analyses *all, struct collective_causes *causes)
{
	if (all->has[ANALYZE_IDLE]) /* a log without GPU times has no gaps */
		collective_causes_apply(causes, &all->idle, &all->lines, &all->collective_kernels);
	ranks_add_log(&job->ranks, log, all->model, &all->arrivals);
	ranks_add_breakdown(&job->ranks, &all->breakdown, window_timed_ns(&all->window));
	array_push(&job->kernels, all->collective_kernels);
	all->collective_kernels = (struct collective_kernels){0};
}

/* Adds one log to the ranks. */
static enum exit_code add_log(const struct options *options, const char *log, int fd, struct job *job)
{
	struct collective_causes causes = {0};
	const struct analyze_options wanted = {
		.comm_names = &options->comm_kernels, .take_gap = collective_causes_take, .gap_context = &causes};
	struct delivery delivery = {.options = options, .log_name = from_log_name(log), .log_fd = fd, .skip = SIZE_MAX};
	struct reading reading;
	struct analyses all;
	enum exit_code code = reading_open(&reading, &delivery);
	int err;

	if (!code) {
		err = analyze_with(
			&all, reading.trace,
			ANALYSES(ANALYZE_ARRIVALS, ANALYZE_BREAKDOWN, ANALYZE_COLLECTIVE_KERNELS, ANALYZE_IDLE),
			&wanted);
		if (err)
			code = reading_failed(&reading, err);
		else
			keep_log(job, log, &all, &causes);
		if (!err && model_completeness(all.model) < MODEL_COMPLETE - model_is_foreign(all.model))
			msg_warn("%s is %s %% complete", delivery.log_name,
				 number_thousandths(model_completeness(all.model)).text);
		analyses_free(&all);
	}
	reading_close(&reading);
	collective_causes_free(&causes);
	return code;
}

/* Whether files[count] is one of the files before it, also under another name. */
static bool is_there_twice(const struct options *options, const struct identity *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (files[i].device == files[count].device && files[i].inode == files[count].inode) {
			msg_error("%s and %s are the same file: name each log once", options->logs.list.items[i],
				  options->logs.list.items[count]);
			return true;
		}
	return false;
}

static enum exit_code read_logs(const struct options *options, struct job *job)
{
	struct identity *files = xcalloc(options->logs.list.count, sizeof(*files));
	enum exit_code code = EXIT_GOOD;

	for (size_t i = 0; i < options->logs.list.count && !code; i++) {
		const char *log = options->logs.list.items[i];
		int fd = from_log_open(log);
		struct stat stat;

		code = EXIT_FAILED;
		if (fd >= 0 && !fstat(fd, &stat)) {
			files[i] = (struct identity){stat.st_dev, stat.st_ino};
			if (!is_there_twice(options, files, i))
				code = add_log(options, log, fd, job);
		}
		if (fd >= 0)
			close(fd);
	}
	free(files);
	return code;
}

struct print_request {
	const struct job *job;
	const struct options *options;
	char **tables;
};

static int print_merged(FILE *out, const struct screen *screen, void *context)
{
	const struct print_request *request = context;

	return report_write_ranks(out, &request->job->ranks, &request->job->split,
				  &(struct report_options){.width = screen->width,
							   .truncates = screen->is_terminal,
							   .color = screen->has_color,
							   .format = request->options->report_format,
							   .table = request->options->report_table,
							   .tables = request->tables});
}

static int print_ranks(const struct job *job, const struct options *options)
{
	char *tables = NULL;
	int err = print_on_stdout(print_merged, &(struct print_request){job, options, &tables});

	if (tables)
		msg_error("--table %s: not in this report, which has: %s%s", options->report_table, tables,
			  nearest_question(options->report_table, tables).text);
	free(tables);
	return err;
}

static enum exit_code merge_ranks(const struct options *options, struct job *job)
{
	char *why = ranks_align(&job->ranks, options->unaligned);
	int err, written;

	if (why) {
		msg_error("%s", why);
		free(why);
		return EXIT_FAILED;
	}
	ranks_compare(&job->ranks);
	collective_split_make(&job->split, &job->ranks, job->kernels.items);
	err = print_ranks(job, options);
	written = is_interrupted() ? -ECANCELED : merge_write_files(options, &job->ranks, &job->split);
	return err || written ? EXIT_FAILED : EXIT_GOOD;
}

enum exit_code merge_command(const struct options *options)
{
	struct job job = {0};
	enum exit_code code;

	if (merge_is_of_dumps(options))
		return merge_dumps(options);
	interrupt_watch();
	code = outputs_check(options) ? EXIT_FAILED : read_logs(options, &job);
	if (!code)
		code = merge_ranks(options, &job);
	job_free(&job);
	return code;
}
