/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads one log after the other, keeping only its sums; compares, prints and judges these. */
#include "cmd/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/sums/differences.h"
#include "cmd/interrupt.h"
#include "cmd/options/nearest.h"
#include "cmd/output.h"
#include "cmd/outputs.h"
#include "cmd/print.h"
#include "cmd/reading.h"
#include "export/folded.h"
#include "report/sums/differences.h"
#include "report/text.h"

/* Reads a log and keeps its rows. */
static enum exit_code read_tables(const struct options *options, const char *log, struct per_step_tables *tables)
{
	struct delivery delivery = {.options = options, .log_name = from_log_name(log), .skip = SIZE_MAX};
	struct reading reading;
	struct analyses all;
	enum exit_code code;
	int err;

	delivery.log_fd = from_log_open(log);
	if (delivery.log_fd < 0)
		return EXIT_FAILED;
	code = reading_open(&reading, &delivery);
	if (!code) {
		err = analyze(&all, reading.trace, ANALYZE_PER_STEP_TABLES, &options->attribution);
		if (!err)
			per_step_tables_make(tables, &all);
		else
			code = reading_failed(&reading, err);
		if (!err && model_completeness(all.model) < MODEL_COMPLETE - model_is_foreign(all.model))
			msg_warn("%s is %s %% complete: what is missing looks like less work", delivery.log_name,
				 number_thousandths(model_completeness(all.model)).text);
		analyses_free(&all);
	}
	reading_close(&reading);
	close(delivery.log_fd);
	return code;
}

struct print_request {
	const struct differences *all;
	const struct options *options;
	char **tables; /* set to the report's tables if the wanted one is not among them */
};

static int print(FILE *out, const struct screen *screen, void *context)
{
	const struct print_request *request = context;

	const struct options *given = request->options;
	struct differences_options options = {.before = from_log_name(given->log),
					      .after = from_log_name(given->log_after),
					      .width = screen->width,
					      .truncates = screen->is_terminal,
					      .color = screen->has_color,
					      .format = given->report_format,
					      .table = given->report_table,
					      .tables = request->tables};

	return report_write_differences(out, request->all, &options);
}

static int print_differences(const struct differences *all, const struct options *options)
{
	char *tables = NULL;
	int err = print_on_stdout(print, &(struct print_request){all, options, &tables});

	if (tables)
		msg_error("--table %s: not in this report, which has: %s%s", options->report_table, tables,
			  nearest_question(options->report_table, tables).text);
	free(tables);
	return err;
}

static int write_folded(const struct differences *all, const char *path)
{
	struct output output = {.fd = -1};
	int err;

	if (!strcmp(path, "-"))
		return folded_differences_write(STDOUT_FILENO, all);
	err = output_open(path, &output);
	if (!err)
		err = folded_differences_write(output.fd, all);
	if (!err)
		err = output_commit(&output);
	if (err)
		msg_error("%s: not written: %s", path, output_error(err));
	else
		outputs_say_written(path, output.fd);
	output_close(&output);
	return err;
}

/* --fail-above: how long a step takes, and the GPU time in it. */
static bool is_above(const struct difference *difference, const char *what, unsigned most)
{
	double percent = difference_percent(difference);

	if (!difference_is_seen(difference) || percent <= most / 1000.0)
		return false;
	if (isinf(percent))
		msg_error("%s: there was none before; --fail-above %s", what, number_thousandths(most).text);
	else
		msg_error("%s grew by %.1f %%, more than --fail-above %s", what, percent,
			  number_thousandths(most).text);
	return true;
}

static enum exit_code judge(const struct differences *all, const struct options *options)
{
	bool above = false;

	if (!options->has_fail_above)
		return EXIT_GOOD;
	if (!all->before->has_steps || !all->after->has_steps) {
		msg_error("--fail-above: no steps were found in %s; they are found by PyTorch's ops, where these were "
			  "recorded (--ops), or by what --step says",
			  all->before->has_steps ? options->log_after : options->log);
		return EXIT_FAILED;
	}
	above |= is_above(&all->wall_ns, "the wall time of a step", options->fail_above);
	if (!all->by_launches)
		above |= is_above(&all->gpu_ns, "the GPU time of a step", options->fail_above);
	else
		above |= is_above(&all->launches, "the number of launches of a step", options->fail_above);
	return above ? EXIT_ABOVE : EXIT_GOOD;
}

static enum exit_code compare(const struct options *options, const struct per_step_tables *before,
			      const struct per_step_tables *after)
{
	struct differences all;
	enum exit_code code;
	int err = 0;

	differences_make(&all, before, after);
	if (!options_use_stdout(options))
		err = print_differences(&all, options);
	for (size_t i = 0; i < options->outputs.list.count; i++) {
		int written = write_folded(&all, options->outputs.list.items[i]);

		err = err ? err : written;
	}
	code = err ? EXIT_FAILED : judge(&all, options);
	differences_free(&all);
	return code;
}

enum exit_code diff_command(const struct options *options)
{
	struct per_step_tables before = {0}, after = {0};
	enum exit_code code;

	interrupt_watch();
	code = outputs_check(options) ? EXIT_FAILED : read_tables(options, options->log, &before);
	if (!code)
		code = read_tables(options, options->log_after, &after);
	if (!code)
		code = compare(options, &before, &after);
	per_step_tables_free(&before);
	per_step_tables_free(&after);
	return code;
}
