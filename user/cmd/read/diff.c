/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads one log after the other, keeping only its sums; compares, prints and judges these. */
#include "cmd/commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/steps/differences.h"
#include "cmd/process/interrupt.h"
#include "cmd/options/nearest.h"
#include "cmd/output/output.h"
#include "cmd/output/outputs.h"
#include "cmd/process/print.h"
#include "cmd/output/reading.h"
#include "export/folded/folded.h"
#include "report/differences/differences.h"
#include "report/table/text.h"

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

/* The logs of before, or of after. */
struct side {
	const char *const *logs;
	const char **names; /* as the report has them */
	struct per_step_tables *runs;
	size_t count;
	struct per_step_tables joined;
};

static void side_init(struct side *side, const char *const *logs, size_t count)
{
	*side = (struct side){.logs = logs,
			      .names = xcalloc(count, sizeof(*side->names)),
			      .runs = xcalloc(count, sizeof(*side->runs)),
			      .count = count};
	for (size_t i = 0; i < count; i++)
		side->names[i] = from_log_name(logs[i]);
}

static void side_free(struct side *side)
{
	for (size_t i = 0; i < side->count; i++)
		per_step_tables_free(&side->runs[i]);
	per_step_tables_free(&side->joined);
	free(side->runs);
	free(side->names);
}

static enum exit_code read_side(const struct options *options, struct side *side)
{
	for (size_t i = 0; i < side->count; i++) {
		enum exit_code code = read_tables(options, side->logs[i], &side->runs[i]);

		if (code)
			return code;
	}
	per_step_tables_join(&side->joined, side->runs, side->count);
	return EXIT_GOOD;
}

struct print_request {
	const struct differences *all;
	const struct options *options;
	const struct side *before, *after;
	char **tables; /* set to the report's tables if the wanted one is not among them */
};

static struct differences_side side_to_print(const struct side *side)
{
	return (struct differences_side){.names = side->names, .tables = side->runs, .count = side->count};
}

static int print_diff(FILE *out, const struct screen *screen, void *context)
{
	const struct print_request *request = context;
	const struct options *given = request->options;
	struct differences_options options = {.before = side_to_print(request->before),
					      .after = side_to_print(request->after),
					      .width = screen->width,
					      .truncates = screen->is_terminal,
					      .color = screen->has_color,
					      .only_layers = given->wants_layers,
					      .format = given->report_format,
					      .table = given->report_table,
					      .tables = request->tables};

	return report_write_differences(out, request->all, &options);
}

static int print_differences(const struct differences *all, const struct options *options, const struct side *before,
			     const struct side *after)
{
	char *tables = NULL;
	int err = print_on_stdout(print_diff, &(struct print_request){all, options, before, after, &tables});

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

/* Whether the change of a step is more than --fail-above, with its whole interval where that is known; says so. */
static bool is_above(const struct difference *difference, const char *what, unsigned most)
{
	double percent = difference_percent(difference), least = difference_least_percent(difference);
	struct number limit = number_thousandths(most);

	if (percent <= most / 1000.0)
		return false;
	if (isinf(percent)) {
		msg_error("%s: there was none before; --fail-above %s", what, limit.text);
		return true;
	}
	if (isnan(least)) {
		msg_error(
			"%s grew by %.1f %%, more than --fail-above %s; no interval is known: trace at least %u steps",
			what, percent, limit.text, MEDIAN_LEAST);
		return true;
	}
	if (least <= most / 1000.0) {
		msg_warn("%s grew by %.1f %% (95 %% interval %.1f to %.1f %%), which may be less than --fail-above %s: "
			 "more steps, or more runs of each, say more",
			 what, percent, least, 2 * percent - least, limit.text);
		return false;
	}
	msg_error("%s grew by %.1f %% (95 %% interval %.1f to %.1f %%), more than --fail-above %s", what, percent,
		  least, 2 * percent - least, limit.text);
	return true;
}

/* The first of the logs without steps; NULL: all have some. */
static const char *log_without_steps(const struct side *side)
{
	return value_of_first(side->count, i, !side->runs[i].has_steps, side->logs[i], NULL);
}

static enum exit_code judge_differences(const struct differences *all, const struct options *options,
					const struct side *before, const struct side *after)
{
	const char *without = log_without_steps(before);
	bool above = false;

	if (!options->has_fail_above)
		return EXIT_GOOD;
	without = without ? without : log_without_steps(after);
	if (without) {
		msg_error("--fail-above: no steps were found in %s; they are found by PyTorch's ops, where these were "
			  "recorded (by gputrace with --ops), or by what --step says",
			  without);
		return EXIT_FAILED;
	}
	above |= is_above(&all->median_wall_ns, "the wall time of the median step", options->fail_above);
	if (!all->by_launches)
		above |= is_above(&all->median_gpu_ns, "the GPU time of the median step", options->fail_above);
	else
		above |= is_above(&all->launches, "the number of launches of a step", options->fail_above);
	return above ? EXIT_ABOVE : EXIT_GOOD;
}

static enum exit_code compare_sides(const struct options *options, const struct side *before, const struct side *after)
{
	struct differences all;
	enum exit_code code;
	int err = 0;

	differences_make(&all, &before->joined, &after->joined);
	if (!options_use_stdout(options))
		err = print_differences(&all, options, before, after);
	for (size_t i = 0; i < options->outputs.list.count; i++) {
		int written = write_folded(&all, options->outputs.list.items[i]);

		err = err ? err : written;
	}
	code = err ? EXIT_FAILED : judge_differences(&all, options, before, after);
	differences_free(&all);
	return code;
}

enum exit_code diff_command(const struct options *options)
{
	const char *const *logs = options->logs.list.items;
	struct side before, after;
	enum exit_code code;

	interrupt_watch();
	side_init(&before, logs, options->before);
	side_init(&after, logs + options->before, options->logs.list.count - options->before);
	code = outputs_check(options) ? EXIT_FAILED : read_side(options, &before);
	if (!code)
		code = read_side(options, &after);
	if (!code)
		code = compare_sides(options, &before, &after);
	side_free(&before);
	side_free(&after);
	return code;
}
