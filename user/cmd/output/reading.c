/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Derives from the options which segments of the log are read, and the slice of these. */
#include "cmd/output/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/foreign_trace.h"
#include "input/gpt/gpt_slice.h"
#include "input/gpt/gpt_trace.h"

/* The ids of the named processes; none if one is not named by its id. */
static uint32_t *find_pids(const struct slice_options *options, uint32_t *count)
{
	size_t names = options->processes.list.count;
	uint32_t *pids = xcalloc(names, sizeof(*pids));

	*count = (uint32_t)names;
	for (size_t i = 0; i < names; i++) {
		const char *name = options->processes.list.items[i];

		pids[i] = slicing_pid(name);
		if (!pids[i])
			*count = 0;
	}
	return pids;
}

/* Finds which segments of the log a span needs; false: all must be read. */
static bool find_wanted(struct reading *reading, uint64_t from_ns, uint64_t to_ns)
{
	const struct slice_options *options = &reading->delivery->options->slice;
	struct gpt_span span;
	uint32_t pids;

	if (!gpt_find_span(reading->delivery->log_fd, &span))
		return false;
	if (!from_ns && to_ns == UINT64_MAX)
		slicing_times(options,
			      &(struct moment_clock){.start_ns = span.start_ns,
						     .end_ns = span.end_ns,
						     .wall_offset_ns = span.wall_offset_ns},
			      &from_ns, &to_ns);
	reading->pids = find_pids(options, &pids);
	reading->wanted = gpt_restrict(&span, from_ns, to_ns, reading->pids, pids);
	return true;
}

static int open_log(struct reading *reading, uint64_t from_ns, uint64_t to_ns, char **why)
{
	const char *words = NULL;
	int err;
	const struct options *options = reading->delivery->options;
	/* steps are found only in the whole log */
	bool all = options_want_steps(options) && !from_ns && to_ns == UINT64_MAX;
	bool restricted = (options_want_slice(options) && !all) || from_ns || to_ns != UINT64_MAX;

	reading->owns_recorded = true;
	*why = foreign_refusal(reading->delivery->log_fd, reading->delivery->log_name);
	if (*why)
		return -EPROTO;
	reading->is_foreign = foreign_is(reading->delivery->log_fd);
	if (reading->is_foreign)
		return foreign_trace_open(reading->delivery->log_fd, NULL, &reading->recorded, why);
	restricted = restricted && find_wanted(reading, from_ns, to_ns);
	err = gpt_trace_open(reading->delivery->log_fd, NULL, restricted ? &reading->wanted : NULL, &reading->recorded,
			     &words);
	*why = words ? xstrdup(words) : NULL;
	return err;
}

static int open_slice(struct reading *reading)
{
	reading->slicing.slice.read_from_ns = reading->wanted.from_ns;
	reading->is_sliced = true;
	reading->trace = &reading->sliced.trace;
	return sliced_trace_open(&reading->sliced, reading->recorded, &reading->slicing.slice, reading->slicing.words);
}

/* Frees why. */
static enum exit_code fail_reading(const struct reading *reading, int err, char *why)
{
	const char *name = reading->delivery->log_name;

	msg_error("%s: %s", name ? name : "the log", why ? why : strerror(-err));
	free(why);
	return EXIT_FAILED;
}

enum exit_code reading_failed(const struct reading *reading, int err)
{
	return fail_reading(reading, err, NULL);
}

/* ---- steps ------------------------------------------------------------------------------------------------------ */

static const char *name_of(const struct reading *reading)
{
	return reading->delivery->log_name ? reading->delivery->log_name : "the trace";
}

/* "handle at /app/server.py:31, other at /app/other.py:7 and more"; the caller frees it. */
static char *places_of(const struct step_function_list *list)
{
	char *text = xstrdup("");

	array_each (function, list) {
		text = xjoin(text, ", ",
			     xasprintf("%s at %s:%" PRIu32, function->name, function->file, function->line));
	}
	return list->more ? xjoin(text, " ", xstrdup("and more")) : text;
}

/* Warns if the name of --step fits several functions, or none. */
static void warn_of_functions(const struct reading *reading)
{
	const struct steps *steps = &reading->steps;
	AUTO_FREE char *named = places_of(&steps->functions), *similar = places_of(&steps->similar);

	if (steps->functions.count > 1)
		msg_warn("--step: several functions have that name, and a call of any of them is a step: %s. "
			 "py:FILE:LINE names one",
			 named);
	else if (!steps->functions.count && steps->similar.count)
		msg_warn("--step: no function of that name was seen in %s. Similar are: %s", name_of(reading), similar);
}

/* Sets start and end of the steps, of which there is at least one. */
static void span_steps(struct reading *reading)
{
	reading->steps_from_ns = UINT64_MAX;
	array_each (track, &reading->steps.tracks) {
		uint64_t start_ns = track->list.items[0].start_ns;
		uint64_t end_ns = track->list.items[track->list.count - 1].end_ns;

		if (start_ns < reading->steps_from_ns)
			reading->steps_from_ns = start_ns;
		if (end_ns > reading->steps_to_ns)
			reading->steps_to_ns = end_ns;
	}
}

/* Keeps only the steps that --steps names. */
static enum exit_code keep_steps(struct reading *reading)
{
	const struct steps_value *wanted = &reading->delivery->options->slice.steps;
	struct steps *steps = &reading->steps;
	uint64_t first, last;

	if (!steps->tracks.count) {
		msg_error("--steps: no steps were found in %s; they are found by PyTorch's ops, where these were "
			  "recorded (by gputrace with --ops), or by what --step says",
			  name_of(reading));
		return EXIT_FAILED;
	}
	first = steps->tracks.items[0].list.items[0].number;
	last = steps->tracks.items[0].list.items[steps->tracks.items[0].list.count - 1].number;
	steps_keep_numbers(steps, wanted->first, wanted->last);
	if (!steps->tracks.count) {
		msg_error("--steps: none of these is in %s; it has steps %" PRIu64 " to %" PRIu64, name_of(reading),
			  first, last);
		return EXIT_FAILED;
	}
	span_steps(reading);
	return EXIT_GOOD;
}

static uint32_t last_cycle(const struct steps *steps)
{
	uint32_t last = 0;

	for (size_t i = 0; i < steps->tracks.count; i++)
		for (size_t k = 0; k < steps->tracks.items[i].list.count; k++)
			if (steps->tracks.items[i].list.items[k].cycle > last)
				last = steps->tracks.items[i].list.items[k].cycle;
	return last;
}

/* Keeps only the steps of the cycle that --cycle names. */
static enum exit_code keep_cycle(struct reading *reading)
{
	uint64_t cycle = reading->delivery->options->slice.cycle;
	uint32_t last = last_cycle(&reading->steps);

	if (!reading->steps.scheduled) {
		msg_error("--cycle %" PRIu64 ": %s was not recorded with --schedule: --steps chooses among its steps",
			  cycle, name_of(reading));
		return EXIT_FAILED;
	}
	steps_keep_cycle(&reading->steps, (uint32_t)cycle);
	if (!reading->steps.tracks.count) {
		msg_error("--cycle %" PRIu64 ": is not in %s, which has %" PRIu32, cycle, name_of(reading), last);
		return EXIT_FAILED;
	}
	span_steps(reading);
	return EXIT_GOOD;
}

/* Opens a long log again, restricted to the time of the steps. */
static enum exit_code read_again(struct reading *reading)
{
	char *why = NULL;
	int err;

	two_pass_trace_close(reading->recorded);
	reading->owns_recorded = false;
	err = open_log(reading, reading->steps_from_ns, reading->steps_to_ns, &why);
	if (err)
		return fail_reading(reading, err, why);
	return EXIT_GOOD;
}

/* Whether an output needs steps: of the tables that replace the report only some show them. */
static bool steps_are_shown(const struct reading *reading)
{
	const struct options *options = reading->delivery->options;
	bool instead = (options->wants_tree && options->tree.by != TREE_BY_MEMORY) || options->lists ||
		       (options->ops && options->subcommand == SUBCOMMAND_REPORT);

	return options_want_steps(options) || options->step.request.source != STEP_FITTING ||
	       options->outputs.list.count || !instead;
}

/* --step of this command line, else the one of the recording. */
static const struct step_request *request_of(struct reading *reading)
{
	const struct options *options = reading->delivery->options;
	const struct model *first = trace_first(reading->recorded);
	const char *recorded = first ? model_source(first)->step : NULL;
	static const struct step_request reported;

	/* steps of a schedule were reported by the agent: the request was used while recording */
	if (options->schedule.active)
		return &reported;
	if (options->step.request.source == STEP_FITTING && recorded && !value_step(recorded, &reading->recorded_step))
		return &reading->recorded_step.request;
	return &options->step.request;
}

/* Looks in all that was read, not in the slice, which cuts what marks steps. */
static enum exit_code find_steps(struct reading *reading)
{
	const struct options *options = reading->delivery->options;
	int err = steps_find(&reading->steps, reading->recorded, request_of(reading));
	enum exit_code code;

	if (err)
		return reading_failed(reading, err);
	warn_of_functions(reading);
	if (options_want_steps(options)) {
		code = options->slice.cycle ? keep_cycle(reading) : keep_steps(reading);
		return !code && reading->is_long && !reading->is_foreign ? read_again(reading) : code;
	}
	if (options->step.request.source != STEP_FITTING && !options->schedule.active && !reading->steps.tracks.count)
		msg_warn("--step: no such steps were found in %s", name_of(reading));
	return EXIT_GOOD;
}

/* ---- a slice ---------------------------------------------------------------------------------------------------- */

static enum exit_code find_slice(struct reading *reading)
{
	const struct slice_options *options = &reading->delivery->options->slice;
	const struct model *first = trace_first(reading->recorded);
	struct slicing *slicing = &reading->slicing;
	enum exit_code code;
	int err;

	if (!first)
		return reading_failed(reading, reading->recorded->error);
	code = slicing_find(slicing, options, first, reading->delivery->log_name);
	if (code)
		return code;
	if (options_want_steps(reading->delivery->options)) {
		slicing->slice.from_ns = reading->steps_from_ns;
		slicing->slice.to_ns = reading->steps_to_ns;
		slicing->slice.by_launch = options->cycle != 0;
		slicing_add_steps(slicing, &reading->steps, first);
		if (options->cycle && !reading->steps.captured)
			slicing_name_steps(slicing, &reading->steps);
	} else {
		steps_keep_slice(&reading->steps, &slicing->slice, first);
	}
	err = open_slice(reading);
	return err ? reading_failed(reading, err) : EXIT_GOOD;
}

/* Opens what is asked for of the log, whose trace is there. */
static enum exit_code open_trace(struct reading *reading)
{
	const struct delivery *delivery = reading->delivery;
	const struct model *first = trace_first(reading->recorded);
	enum exit_code code = EXIT_GOOD;

	if (!first)
		return reading_failed(reading, reading->recorded->error);
	reading->is_long = first->more;
	/* steps of a schedule are reported by the agent, not looked for */
	if (!reading->whole &&
	    (first->schedule.is_there || delivery->options->schedule.active || steps_are_shown(reading)))
		code = find_steps(reading);
	reading->trace = reading->recorded;
	if (!code && options_want_slice(delivery->options))
		code = find_slice(reading);
	if (!code) {
		reading->trace->steps = &reading->steps;
		reading->trace->file = delivery->file;
	}
	return code;
}

enum exit_code reading_open(struct reading *reading, const struct delivery *delivery)
{
	char *why = NULL;
	int err;

	*reading = (struct reading){.delivery = delivery};
	err = open_log(reading, 0, UINT64_MAX, &why);
	return err ? fail_reading(reading, err, why) : open_trace(reading);
}

/* Of a long log only what the slice needs is read again. */
enum exit_code reading_open_slice(struct reading *reading, const struct delivery *delivery, const struct reading *whole)
{
	char *why = NULL;
	int err = 0;

	*reading = (struct reading){.delivery = delivery, .whole = whole};
	if (whole->is_long && !whole->is_foreign) {
		err = open_log(reading, 0, UINT64_MAX, &why);
	} else {
		reading->recorded = whole->recorded;
		reading->is_foreign = whole->is_foreign;
		reading->wanted = whole->wanted;
	}
	return err ? fail_reading(reading, err, why) : open_trace(reading);
}

void reading_close(struct reading *reading)
{
	if (reading->is_sliced)
		sliced_trace_close(&reading->sliced);
	slicing_free(&reading->slicing);
	if (reading->owns_recorded)
		two_pass_trace_close(reading->recorded);
	steps_free(&reading->steps);
	step_value_free(&reading->recorded_step);
	free(reading->pids);
}

/* ---- spans ------------------------------------------------------------------------------------------------------ */

/* Opens the log again, with the same restriction as the reading. */
static int open_again(const struct reading *reading, struct trace **trace)
{
	const struct log_restriction *wanted = reading->wanted.always_count ? &reading->wanted : NULL;

	return gpt_trace_open_again(reading->delivery->log_fd, wanted, reading->recorded, trace);
}

int spans_open(struct spans *spans, const struct reading *of)
{
	int err;

	*spans = (struct spans){.of = of};
	if (!of->is_long || of->is_foreign || !two_pass_trace_is_long(of->recorded))
		return 0;
	err = open_again(of, &spans->counted);
	if (!err)
		err = open_again(of, &spans->handed);
	if (err)
		return err;
	spans->last = trace_last(of->recorded);
	rolling_trace_open(&spans->counting, spans->counted);
	rolling_trace_open(&spans->handing, spans->handed);
	return spans->last ? 0 : of->recorded->error;
}

void spans_close(struct spans *spans)
{
	if (spans->counted)
		two_pass_trace_close(spans->counted);
	if (spans->handed)
		two_pass_trace_close(spans->handed);
}

/* Opens a span of a long log: one round counts what is in it, another hands it over. */
static int slice_of_log(struct spans *spans, struct reading *span)
{
	struct slicing *slicing = &span->slicing;
	int err;

	span->is_sliced = true;
	err = sliced_trace_open_before(&span->sliced, span->recorded, &slicing->slice, slicing->words, spans->last);
	span->trace = &span->sliced.trace;
	span->sliced.inner = span->recorded = &spans->handing.trace;
	return err;
}

int spans_take(struct spans *spans, struct reading *span, uint64_t from_ns, uint64_t to_ns)
{
	const struct reading *of = spans->of;
	const struct slice *whole = of->is_sliced ? &of->slicing.slice : &(struct slice){.to_ns = UINT64_MAX};
	const struct model *first;
	int err;

	*span = (struct reading){.delivery = of->delivery, .wanted = of->wanted, .recorded = of->recorded};
	from_ns = from_ns ? from_ns : whole->from_ns;
	to_ns = to_ns != UINT64_MAX ? to_ns : whole->to_ns;
	spans->counting.from_ns = spans->handing.from_ns = from_ns;
	if (spans->last)
		span->recorded = &spans->counting.trace;
	first = trace_first(span->recorded);
	if (!first)
		return span->recorded->error;
	slicing_find_span(&span->slicing, &of->delivery->options->slice, first, from_ns, to_ns);
	if (options_want_steps(of->delivery->options))
		slicing_add_steps(&span->slicing, &of->steps, first);
	span->slicing.slice.read_from_ns = of->wanted.from_ns;
	err = spans->last ? slice_of_log(spans, span) : open_slice(span);
	span->trace->steps = &of->steps;
	span->trace->file = of->delivery->file;
	return err;
}
