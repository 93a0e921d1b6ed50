/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

static int parse_moment(struct parse *parse, const char *name, const char *value, struct moment *out)
{
	if (moment_parse(value, out) == 0)
		return 0;
	return option_fail(
		parse,
		"--%s %s: a time since the start is accepted, as in 90, 500ms, 1:30, or one of the wall clock, "
		"as in 14:03:20 or 2026-11-22T14:03:20Z",
		name, value);
}

int parse_from(struct parse *parse, const char *value)
{
	return parse_moment(parse, "from", value, &parse->options->slice.from);
}

int parse_to(struct parse *parse, const char *value)
{
	return parse_moment(parse, "to", value, &parse->options->slice.to);
}

int parse_process(struct parse *parse, const char *value)
{
	if (value_names(value, &parse->options->slice.processes) == 0)
		return 0;
	return option_fail(parse, "--process %s: process ids or names are accepted, by commas, as in 41230 or train.py",
			   value);
}

static int add_selected(struct parse *parse, enum selection_kind kind, const char *name, const char *value,
			const char *accepted)
{
	if (selection_add(&parse->options->slice.selection, kind, value) == 0)
		return 0;
	return option_fail(parse, "--%s %s: %s, by commas", name, value, accepted);
}

int parse_comm(struct parse *parse, const char *value)
{
	return add_selected(parse, SELECTION_COMM, "comm", value,
			    "names of processes as the kernel has them are accepted, as in python or 'pt_*'");
}

int parse_cgroup(struct parse *parse, const char *value)
{
	if (value[0] != '/' && value[0] != '*')
		return option_fail(parse,
				   "--cgroup %s: a path is accepted, from / on, as in /proc/PID/cgroup, or a pattern "
				   "such as '*/job_17*'",
				   value);
	return add_selected(parse, SELECTION_CGROUP, "cgroup", value, "paths are accepted");
}

int parse_container(struct parse *parse, const char *value)
{
	return add_selected(parse, SELECTION_CONTAINER, "container", value,
			    "ids of containers, their first digits (4 or more) or names are accepted");
}

int parse_pod(struct parse *parse, const char *value)
{
	return add_selected(parse, SELECTION_POD, "pod", value, "names of pods, NAMESPACE/NAME or uids are accepted");
}

int parse_user(struct parse *parse, const char *value)
{
	return add_selected(parse, SELECTION_USER, "user", value, "names or numbers of users are accepted");
}

int parse_thread(struct parse *parse, const char *value)
{
	if (value_thread(value, &parse->options->slice.thread) == 0)
		return 0;
	return option_fail(parse,
			   "--thread %s: a thread id is accepted, as in 41231, or one of a process, as in "
			   "41230/41231",
			   value);
}

int parse_gpu(struct parse *parse, const char *value)
{
	if (value_gpu(value, &parse->options->slice.gpu) == 0) {
		parse->options->slice.has_gpu = true;
		return 0;
	}
	return option_fail(parse, "--gpu %s: the number of a GPU is accepted, as the report has it", value);
}

int parse_step(struct parse *parse, const char *value)
{
	if (value_step(value, &parse->options->step) == 0)
		return 0;
	return option_fail(parse,
			   "--step %s: accepted are optimizer, backward, profiler, range:NAME, py:FUNCTION and "
			   "burst:TIME, as in range:batch, py:train.py:train_step or burst:5ms",
			   value);
}

int parse_steps(struct parse *parse, const char *value)
{
	if (value_steps(value, &parse->options->slice.steps) == 0)
		return 0;
	return option_fail(parse, "--steps %s: numbers of steps are accepted, as in 10..12, 10 or 10..", value);
}

int parse_cycle(struct parse *parse, const char *value)
{
	if (value_count(value, UINT32_MAX, &parse->options->slice.cycle) == 0)
		return 0;
	return option_fail(parse, "--cycle %s: the number of a cycle is accepted, from 1 on", value);
}
