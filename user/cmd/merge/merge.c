/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads one log after the other for what must be known of all, then prints it; files take another round. */
#include "cmd/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/ranks/ranks.h"
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

/* Adds one log to the ranks. */
static enum exit_code add_log(const struct options *options, const char *log, int fd, struct ranks *ranks)
{
	struct delivery delivery = {.options = options, .log_name = from_log_name(log), .log_fd = fd, .skip = SIZE_MAX};
	struct reading reading;
	struct analyses all;
	enum exit_code code = reading_open(&reading, &delivery);
	int err;

	if (!code) {
		err = analyze(&all, reading.trace, ANALYSES(ANALYZE_ARRIVALS, ANALYZE_BREAKDOWN), NULL);
		if (err) {
			code = reading_failed(&reading, err);
		} else {
			ranks_add_log(ranks, log, all.model, &all.arrivals);
			ranks_add_breakdown(ranks, &all.breakdown, window_timed_ns(&all.window));
		}
		if (!err && model_completeness(all.model) < MODEL_COMPLETE - model_is_foreign(all.model))
			msg_warn("%s is %s %% complete", delivery.log_name,
				 number_thousandths(model_completeness(all.model)).text);
		analyses_free(&all);
	}
	reading_close(&reading);
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

static enum exit_code read_logs(const struct options *options, struct ranks *ranks)
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
				code = add_log(options, log, fd, ranks);
		}
		if (fd >= 0)
			close(fd);
	}
	free(files);
	return code;
}

struct print_request {
	const struct ranks *ranks;
	const struct options *options;
	char **tables;
};

static int print(FILE *out, const struct screen *screen, void *context)
{
	const struct print_request *request = context;

	return report_write_ranks(out, request->ranks,
				  &(struct report_options){.width = screen->width,
							   .truncates = screen->is_terminal,
							   .color = screen->has_color,
							   .format = request->options->report_format,
							   .table = request->options->report_table,
							   .tables = request->tables});
}

static int print_ranks(const struct ranks *ranks, const struct options *options)
{
	char *tables = NULL;
	int err = print_on_stdout(print, &(struct print_request){ranks, options, &tables});

	if (tables)
		msg_error("--table %s: not in this report, which has: %s%s", options->report_table, tables,
			  nearest_question(options->report_table, tables).text);
	free(tables);
	return err;
}

static enum exit_code merge(const struct options *options, struct ranks *ranks)
{
	char *why = ranks_align(ranks, options->unaligned);
	int err, written;

	if (why) {
		msg_error("%s", why);
		free(why);
		return EXIT_FAILED;
	}
	ranks_compare(ranks);
	err = print_ranks(ranks, options);
	written = is_interrupted() ? -ECANCELED : merge_write_files(options, ranks);
	return err || written ? EXIT_FAILED : EXIT_GOOD;
}

enum exit_code merge_command(const struct options *options)
{
	struct ranks ranks = {0};
	enum exit_code code;

	if (merge_is_of_dumps(options))
		return merge_dumps(options);
	interrupt_watch();
	code = outputs_check(options) ? EXIT_FAILED : read_logs(options, &ranks);
	if (!code)
		code = merge(options, &ranks);
	ranks_free(&ranks);
	return code;
}
