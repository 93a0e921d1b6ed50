/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Model, report, outputs, exit code; does not know how the log was recorded. */
#include "cmd/output/deliver.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/process/child_work.h"
#include "cmd/output/confine.h"
#include "cmd/output/cycles.h"
#include "cmd/output/every.h"
#include "cmd/process/interrupt.h"
#include "cmd/options/nearest.h"
#include "cmd/output/output.h"
#include "cmd/output/outputs.h"
#include "cmd/process/print.h"
#include "report/sums/key_averages.h"
#include "report/report.h"
#include "report/lines/source_lines.h"
#include "report/sums/layers.h"
#include "report/table/text.h"
#include "report/tree/tree.h"
#include "report/why/why.h"

/* ---- the report ---------------------------------------------------------------------------------------------- */

struct report_request {
	const struct reading *reading;
	const struct options *given;
	char **tables;	  /* set to the report's tables if the wanted one is not among them */
	char **functions; /* set to the functions that --lines can list if the wanted one is not among them */
};

static int write_report(FILE *out, const struct screen *screen, void *context)
{
	const struct report_request *request = context;
	const struct options *given = request->given;
	struct trace *trace = request->reading->trace;
	struct report_options options = {.width = screen->width,
					 .truncates = screen->is_terminal,
					 .color = screen->has_color,
					 .is_ascii = screen->is_ascii,
					 .attribution = given->attribution,
					 .comm_kernels = &given->comm_kernels,
					 .format = given->report_format,
					 .table = given->report_table,
					 .tables = request->tables,
					 .lines = screen->is_terminal && !given->whole_report ? REPORT_LINES : 0};
	struct lines_options lines = {
		.what = given->lines.what, .live = given->subcommand == SUBCOMMAND_RECORD, .there = request->functions};

	if (given->subcommand == SUBCOMMAND_WHY)
		return report_write_why(out, trace, &options);
	if (given->subcommand == SUBCOMMAND_REPORT && given->ops)
		return options.format ? report_write_key_tables(out, trace, &given->table, &options)
				      : report_write_key_averages(out, trace, &given->table);
	if (given->lists)
		return report_write_activities(out, trace, &options, given->lists);
	if (given->wants_tree)
		return report_write_tree(out, trace, &options, &given->tree);
	if (given->wants_layers)
		return report_write_layers(
			out, trace, &options,
			&(struct layers_options){.min_percent = given->tree.min_percent, .depth = given->tree.depth});
	if (given->every_ns)
		return every_write(out, request->reading, &options);
	if (given->wants_lines)
		return report_write_lines(out, trace, &options, &lines);
	return report_write(out, trace, &options);
}

static int print_report(const struct reading *reading, const struct options *given)
{
	char *tables = NULL, *functions = NULL;
	int err;

	if (given->every_ns && !every_can(reading))
		return -EINVAL;
	err = print_on_stdout(write_report, &(struct report_request){reading, given, &tables, &functions});
	if (functions)
		msg_error("--lines %s: no file or function of that name called CUDA or had a CPU sample; those that "
			  "did most: %s",
			  given->lines.what, *functions ? functions : "none, as no Python function called it");
	free(functions);
	if (tables)
		msg_error("--table %s: not in this report, which has: %s%s", given->report_table, tables,
			  nearest_question(given->report_table, tables).text);
	free(tables);
	return err;
}

/* ---- judgement --------------------------------------------------------------------------------------------------- */

static const char *const agent_failures[] = {
	[GPT_AGENT_OK] = "the agent was not loaded",
	[GPT_AGENT_NO_CUPTI] = "no libcupti was found",
	[GPT_AGENT_CUPTI_UNUSABLE] = "its libcupti cannot be used",
	[GPT_AGENT_OCCUPIED] = "another tool holds CUPTI",
	[GPT_AGENT_NO_CUDA] = "CUDA has no usable driver there",
	[GPT_AGENT_CUPTI_ERROR] = "CUPTI refused",
	[GPT_AGENT_NO_RESOURCES] = "it had no memory or thread",
};

static const char *agent_failure(const struct model_process *process)
{
	size_t failure = process->agent_failure;

	if (failure >= sizeof(agent_failures) / sizeof(agent_failures[0]) || !agent_failures[failure])
		return "unknown failure";
	return agent_failures[failure];
}

/* --agent require: the agent worked in every process that called CUDA, and in at least one. */
static bool agent_was_there(const struct model *model)
{
	unsigned ready = 0;

	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct model_process *process = &model->processes[i];
		const char *detail = process->agent_detail ? process->agent_detail : "";

		if (process->agent_ready_ns) {
			ready++;
			continue;
		}
		if (!process->calls)
			continue;
		msg_error("--agent require: no agent at work in %s (pid %u) (%s%s%s): --agent auto goes on without it",
			  process->name, process->pid, agent_failure(process), *detail ? ": " : "", detail);
		return false;
	}
	if (!ready)
		msg_error("--agent require: the agent came to work in no process: CUDA was not initialised in any; "
			  "gputrace "
			  "doctor -p PID says of one whether the agent can come in");
	return ready > 0;
}

/* For a recording just made, its own messages have said so. */
static bool ends_early(const struct delivery *delivery, const struct model *model)
{
	const struct model_receipt *receipt = &model_source(model)->receipt;
	const char *why = NULL;

	if (receipt->truncated)
		why = model_is_of_other_tool(model) ? "was cut short or is damaged: what could be read of it is used"
						    : "was cut short: it holds what was recorded up to then";
	else if (receipt->end_reason == GPT_END_DISK)
		why = "ends early: its disk was full";
	else if (receipt->end_reason == GPT_END_ERROR)
		why = "ends early: the recording failed";
	if (why && delivery->log_name)
		msg_warn("%s %s", delivery->log_name, why);
	return why != NULL;
}

static void warn_of_bad(const struct delivery *delivery, const struct model_receipt *receipt)
{
	static const char *const words[] = {
#define WORDS(enumerator, name, words) [enumerator] = words,
		GPT_BAD_REASONS(WORDS)
#undef WORDS
	};
	uint64_t bad = receipt->bad_records;
	char *reasons = xstrdup("");

	for (unsigned reason = 0; reason < BAD_REASONS; reason++)
		if (receipt->bad_reasons[reason])
			reasons = xjoin(reasons, "; ",
					xasprintf("of %" PRIu64 " %s", receipt->bad_reasons[reason], words[reason]));
	msg_warn("%s has %" PRIu64 " record%s that make%s no sense, and %s left out: %s",
		 delivery->log_name ? delivery->log_name : "the trace", bad, bad == 1 ? "" : "s", bad == 1 ? "s" : "",
		 bad == 1 ? "is" : "are", reasons);
	free(reasons);
}

static enum exit_code judge_trace(const struct delivery *delivery, struct reading *reading)
{
	const struct model *model = trace_last(reading->trace);
	const struct options *options = delivery->options;
	unsigned wanted, complete;
	uint64_t bad;

	if (!model)
		return reading_failed(reading, reading->trace->error);
	wanted = options->has_min_complete ? options->min_complete : model->min_complete;
	complete = model_completeness(model);
	if (options->agent == ATTACH_AGENT_REQUIRE && !agent_was_there(model))
		return EXIT_FAILED;
	if (ends_early(delivery, model))
		return EXIT_INCOMPLETE;
	bad = model_source(model)->receipt.bad_records;
	if (bad) {
		warn_of_bad(delivery, &model_source(model)->receipt);
		return EXIT_INCOMPLETE;
	}
	if (wanted && !model_source(model)->receipt.calls && !model_source(model)->receipt.gpu_ops) {
		msg_warn("no CUDA call was seen, but %s %% completeness was asked for",
			 number_thousandths(wanted).text);
		return EXIT_INCOMPLETE;
	}
	if (complete < wanted) {
		msg_warn("the trace is %s %% complete, below the %s %% asked for", number_thousandths(complete).text,
			 number_thousandths(wanted).text);
		return EXIT_INCOMPLETE;
	}
	return EXIT_GOOD;
}

static int write_everything(const struct delivery *delivery, struct reading *reading, struct child_work *work)
{
	bool report = delivery->report && !is_interrupted() && child_work_begins(work, "the report");
	int err = report ? print_report(reading, delivery->options) : 0;
	int outputs = outputs_write(reading, delivery->skip, work);

	if (outputs == -ECANCELED)
		msg_warn("abandoned: not all outputs were written; gputrace export makes them of the log");
	return err ? err : outputs;
}

/* What a child does, and how it went. */
struct delivering {
	const struct delivery *delivery;
	struct child_work *work;
	bool all_written;
};

/* Delivers the log as a whole.  If it has cycles, only fills *cycles, for the caller to deliver each; NULL: does not
 * look for cycles. */
static enum exit_code deliver_as_is(struct delivering *delivering, const struct delivery *delivery,
				    struct cycles *cycles)
{
	struct reading reading;
	enum exit_code code;
	int err;

	delivering->all_written = false;
	code = reading_open(&reading, delivery);
	if (!code && cycles && cycles_find(cycles, &reading)) {
		delivering->all_written = true;
	} else if (!code && cycles && cycles_are_missed(delivery)) {
		code = EXIT_FAILED;
	} else if (!code) {
		err = write_everything(delivery, &reading, delivering->work);
		delivering->all_written = err == 0;
		code = err ? EXIT_FAILED : judge_trace(delivery, &reading);
	}
	reading_close(&reading);
	return code;
}

/* Delivers each cycle: its files and its report. */
static enum exit_code deliver_cycles(struct delivering *delivering, const struct cycles *cycles)
{
	const struct delivery *delivery = delivering->delivery;
	enum exit_code code = cycles_check(cycles, delivery), one;

	delivering->all_written = code != EXIT_FAILED;
	for (size_t i = 0; i < cycles->list.count && delivering->all_written; i++) {
		struct options options = cycles_options(delivery->options, cycles->list.items[i]);
		struct delivery part = *delivery;

		part.options = &options;
		one = deliver_as_is(delivering, &part, NULL);
		code = one > code ? one : code;
		cycles_options_free(&options);
	}
	return code;
}

static enum exit_code deliver_all(struct delivering *delivering)
{
	const struct delivery *delivery = delivering->delivery;
	struct cycles cycles = {0};
	enum exit_code code;

	if (delivery->options->slice.cycle) {
		array_push(&cycles.list, (uint32_t)delivery->options->slice.cycle);
		code = deliver_cycles(delivering, &cycles);
	} else {
		code = deliver_as_is(delivering, delivery, &cycles);
		if (!code && cycles.are_wanted)
			code = deliver_cycles(delivering, &cycles);
	}
	array_free(&cycles.list);
	return code;
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

#define ALL_WRITTEN 0x100 /* beside the exit code */

static int run_delivery(struct child_work *work, void *context)
{
	struct delivering delivering = {.delivery = context, .work = work};
	enum exit_code code;

	/* commands that read a log have confined themselves */
	if (work->shared && !delivering.delivery->log_name)
		confine_reader(delivering.delivery->options);
	code = deliver_all(&delivering);
	return (int)code | (delivering.all_written ? ALL_WRITTEN : 0);
}

static void clean_outputs(void *context)
{
	const struct delivery *delivery = context;

	outputs_clean(delivery->options);
}

enum exit_code deliver(const struct delivery *delivery, bool *all_written)
{
	struct delivery copy = *delivery; /* the context of a job is not const */
	const struct child_job job = {.run = run_delivery,
				      .clean = clean_outputs,
				      .context = &copy,
				      .name = delivery->log_name ? delivery->log_name : "the log"};
	bool all;
	int result;

	interrupt_watch();
	output_mark();
	result = child_work_run(&job, &all);
	*all_written = all && (result & ALL_WRITTEN);
	return all ? (enum exit_code)(result & ~ALL_WRITTEN) : EXIT_FAILED;
}
