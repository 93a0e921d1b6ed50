/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rules of the options that choose when to record, and into how many files: --schedule, --capture-range, --prove-cost,
 * --flight-recorder with --trigger, --rotate.
 */
#include "cmd/options/option_parser.h"

#include <errno.h>
#include <string.h>

#include "cmd/options/format.h"

static const char *schedule_option(const struct options *options)
{
	return options->captures ? "--capture-range" : options->proof_ms ? "--prove-cost" : "--schedule";
}

/* Finds how the agent counts steps while they run: by a mark at their start. */
static int find_step_by(struct parse *parse)
{
	const struct step_request *request = &parse->options->step.request;
	struct gpt_schedule *schedule = &parse->options->schedule;

	switch (request->source) {
	case STEP_FITTING:
		schedule->by = GPT_STEP_BY_FIRST;
		return 0;
	case STEP_PROFILER:
		schedule->by = GPT_STEP_BY_PROFILER;
		return 0;
	case STEP_OPTIMIZER:
		schedule->by = GPT_STEP_BY_OPTIMIZER;
		return 0;
	case STEP_RANGE:
		if (request->name[strlen(request->name) - 1] == '*')
			return option_fail(parse, "--step range:%s: %s needs the whole name of a range", request->name,
					   schedule_option(parse->options));
		schedule->by = GPT_STEP_BY_RANGE;
		schedule->name = gpt_schedule_hash(request->name);
		return 0;
	case STEP_BACKWARD:
		schedule->by = GPT_STEP_BY_BACKWARD;
		return 0;
	case STEP_BURST:
		return option_fail(parse,
				   "--step burst:%s: %s has to know of a step when it begins, and bursts of GPU "
				   "work are found in the log. Instead: record without it, and report of its "
				   "log with this --step and --steps N..M",
				   request->name, schedule_option(parse->options));
	default:
		return option_fail(
			parse,
			"--step py:%s%s%s: %s has to know of a step when it begins. A Python function is seen "
			"by a probe at every Python call, which would slow the steps that are not recorded, too, or "
			"by the stacks of launches, which these do not have. Instead: --step backward or optimizer; "
			"with a record_function around the call, or a torch.profiler, range:NAME or profiler; or "
			"--ops without it, and report of its log with this --step and --steps N..M",
			request->file ? request->file : "", request->file ? ":" : "", request->name,
			schedule_option(parse->options));
	}
}

/* Makes a schedule of --capture-range: each of these calls begins a step, and every other step is recorded. */
static int check_capture(struct parse *parse)
{
	struct options *options = parse->options;

	if (!options->captures)
		return options->capture_end ? option_fail(parse, "--capture-range-end %s: needs --capture-range",
							  options->capture_end)
					    : 0;
	if (options->schedule.active || options->step.request.source != STEP_FITTING)
		return option_fail(parse,
				   "--capture-range: the program says what is recorded: it excludes --schedule and "
				   "--step");
	options->schedule = (struct gpt_schedule){.wait = 1,
						  .active = 1,
						  .skip_first_wait = 1,
						  .repeat = options->capture_end ? options->captures_wanted : 1,
						  .by = GPT_STEP_BY_CAPTURE};
	return 0;
}

static int check_schedule_outputs(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;

	if (options->schedule.repeat != 1 && options->format && !options_use_stdout(options))
		return option_fail(
			parse, "--format %s: %s makes a report for each cycle: repeat=1 or stop, or later from the log",
			options->format, schedule_option(options));
	for (size_t i = 0; options->schedule.repeat != 1 && i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];

		if (!format_path_is_per_cycle(path) && !format_path_is_folder(path) &&
		    (!format_by_path(path, &format) || format.writer))
			return option_fail(parse,
					   "--output %s: %s makes a file for each cycle: %%c in its name is the "
					   "number of the cycle; or repeat=1 or stop",
					   path, schedule_option(options));
	}
	return 0;
}

/* There is no log of all that a report or another output could be made of. */
static int check_rotate(struct parse *parse)
{
	const struct options *options = parse->options;
	struct format format;
	const char *path;

	if (!options_rotate(options))
		return 0;
	if (options->recorder_ns || options->schedule.active || options->start_at.text)
		return option_fail(parse,
				   "--rotate: keeps all there is: it excludes --flight-recorder, --start-at and %s",
				   schedule_option(options));
	path = options->outputs.list.count == 1 ? options->outputs.list.items[0] : NULL;
	if (!path || !strcmp(path, "-") || !format_by_path(path, &format) || format.writer)
		return option_fail(parse, "--rotate: makes logs and nothing else: it needs one output, -o TRACE.gpt");
	if (options->report_format || options_replace_report(options))
		return option_fail(parse, "--rotate: makes no report: gputrace report FILE.gpt makes one of each log");
	return 0;
}

/* Of what sees what a trigger is for. */
static int check_trigger_sources(struct parse *parse)
{
	const struct options *options = parse->options;
	const struct trigger_options *trigger = &options->trigger;
	bool calls = !options->has_activity_sets || options->activity_sets >> GPT_AGENT_SET_CUDA & 1;

	if (trigger_sees(trigger) && options->agent == ATTACH_AGENT_OFF)
		return option_fail(parse, "--trigger: the agent sees what it is for: it excludes --agent off");
	if (trigger->compile && !calls)
		return option_fail(parse,
				   "--trigger compile: CUDA calls that load code show it: it needs --trace cuda, and "
				   "excludes --kernels-only");
	if (trigger->hang_ns && !calls)
		return option_fail(parse, "--trigger hang: a CUDA call that does not return shows it: it needs --trace "
					  "cuda, and excludes --kernels-only");
	if (trigger->xid && options->gpu_counters_unwanted)
		return option_fail(parse, "--trigger xid: NVML reports it: it excludes --no-gpu-counters");
	if (trigger->late_ns && options->way == RECORD_WAY_AGENT)
		return option_fail(parse, "--trigger late: calls of NCCL show it, which are followed by BPF only: it "
					  "excludes --way agent");
	return 0;
}

static int check_trigger(struct parse *parse)
{
	const struct options *options = parse->options;
	const struct trigger_options *trigger = &options->trigger;

	if (!trigger_is_wanted(trigger))
		return 0;
	if (!options->recorder_ns)
		return option_fail(parse, "--trigger: makes a flight recorder write: it needs --flight-recorder TIME");
	if (trigger->before_ns > options->recorder_ns)
		return option_fail(parse, "--trigger: before= is longer than what --flight-recorder keeps");
	/* Else a file would end without what it was written for. */
	if (trigger->after_ns > options->recorder_ns - trigger->before_ns || trigger->after_ns == options->recorder_ns)
		return option_fail(parse, "--trigger: before= and after= together, with what happens between, are "
					  "longer than what --flight-recorder keeps");
	/* Else a file would only have that nothing happens. */
	if (trigger->hang_ns >= options->recorder_ns - trigger->before_ns - trigger->after_ns && trigger->hang_ns)
		return option_fail(parse, "--trigger hang: that time, with before= and after=, is not shorter than "
					  "what --flight-recorder keeps: nothing of before the hang would be left");
	return check_trigger_sources(parse);
}

static int check_recorder(struct parse *parse)
{
	const struct options *options = parse->options;

	if (!options->recorder_ns || !options->schedule.active)
		return check_trigger(parse);
	return option_fail(parse,
			   "--flight-recorder: keeps the end of what happens, and %s says what is recorded: one of the "
			   "two",
			   schedule_option(options));
}

/* Makes a schedule of --prove-cost: windows in place of cycles. */
#define BUFFER_BYTES (64u << 20)
#define RECORDER_BYTES 500000000u

/* Of --memory-limit, what the ring buffer has by itself and at most: it counts twice, as it is mapped twice. */
#define BUFFER_PART 16u
#define BUFFER_PART_MOST 8u
/* The same of the flight recorder, which also keeps what it writes. */
#define RECORDER_PART 4u
#define RECORDER_PART_MOST 2u

/* The sizes that were not given, and how those that were fit into the limit. */
static int check_memory(struct parse *parse)
{
	struct options *options = parse->options;
	uint64_t limit = options->memory_limit;

	if (limit && options->buffer_bytes > limit / BUFFER_PART_MOST)
		return option_fail(parse, "--buffer: at most an eighth of --memory-limit is accepted: name another");
	if (limit && options->recorder_bytes > limit / RECORDER_PART_MOST)
		return option_fail(parse,
				   "--flight-recorder: in at most half of --memory-limit is accepted: name another");
	if (!options->buffer_bytes)
		for (options->buffer_bytes = BUFFER_BYTES; limit && options->buffer_bytes > limit / BUFFER_PART;)
			options->buffer_bytes /= 2;
	if (!options->recorder_bytes)
		options->recorder_bytes =
			limit && limit / RECORDER_PART < RECORDER_BYTES ? limit / RECORDER_PART : RECORDER_BYTES;
	return 0;
}

static int check_proof(struct parse *parse)
{
	struct options *options = parse->options;
	struct format format;

	if (!options->proof_ms)
		return 0;
	if (options->schedule.active || options->captures)
		return option_fail(parse, "--prove-cost: chooses what is recorded: it excludes --schedule and "
					  "--capture-range");
	if (options_replace_report(options))
		return option_fail(parse, "--prove-cost: its report is the cost: --tree, --layers, --lines and lists "
					  "come later from its log, of a window (--cycle)");
	if (options->cpu_frequency || options->off_cpu_min_ns)
		return option_fail(parse, "--prove-cost: --cpu and --off-cpu go on in all windows: what they cost is "
					  "in each report (--table cost)");
	if (options->cost_limit)
		return option_fail(parse, "--prove-cost: proves what all of the detail costs: it excludes "
					  "--cost-limit");
	for (size_t i = 0; i < options->outputs.list.count; i++)
		if (!format_by_path(options->outputs.list.items[i], &format) || format.writer)
			return option_fail(parse,
					   "--output %s: --prove-cost makes a log only: name a FILE.gpt, of which "
					   "gputrace export makes others",
					   options->outputs.list.items[i]);
	options->schedule = (struct gpt_schedule){.active = 1, .windows_ms = options->proof_ms};
	return 0;
}

static int check_schedule(struct parse *parse)
{
	const struct options *options = parse->options;

	if (!options->schedule.active) {
		for (size_t i = 0; options->subcommand == SUBCOMMAND_RECORD && i < options->outputs.list.count; i++)
			if (format_path_is_per_cycle(options->outputs.list.items[i]))
				return option_fail(
					parse,
					"--output %s: %%c is the number of a cycle of --schedule, or of a range of "
					"--capture-range",
					options->outputs.list.items[i]);
		return 0;
	}
	if (!options->command && !options->pids.list.count)
		return option_fail(parse,
				   "%s: counts the steps of a program: one is named with -p PID or started "
				   "with -- COMMAND",
				   schedule_option(options));
	if (options->python_calls)
		return option_fail(parse, "--python-calls: costs the same in every step: it excludes %s",
				   schedule_option(options));
	if (!options->captures && find_step_by(parse))
		return -EINVAL;
	return options->proof_ms ? 0 : check_schedule_outputs(parse);
}

int schedule_rules_check(struct parse *parse)
{
	if (check_capture(parse) || check_proof(parse) || check_schedule(parse) || check_recorder(parse) ||
	    check_memory(parse) || check_rotate(parse))
		return -EINVAL;
	return 0;
}
