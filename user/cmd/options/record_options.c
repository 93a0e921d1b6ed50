/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/option_parser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/inject/inject.h"
#include "cmd/options/nearest.h"
#include "model/model.h"

int parse_pid(struct parse *parse, const char *value)
{
	const char *bad;
	int length;

	if (value_pids(value, &parse->options->pids, &bad, &length) == 0)
		return 0;
	return option_fail(
		parse, "--pid %s: '%.*s' is not a process id; one or more numbers are accepted, as in -p 41230,41231",
		value, length, bad);
}

int parse_duration(struct parse *parse, const char *value)
{
	if (value_duration(value, &parse->options->duration_ns) == 0)
		return 0;
	return option_fail(
		parse,
		"--duration %s: a time above 0 is accepted, in seconds or with its unit, as in 10, 500ms, 2m, 1h",
		value);
}

int parse_start_at(struct parse *parse, const char *value)
{
	if (start_at_parse(value, &parse->options->start_at) == 0)
		return 0;
	return option_fail(
		parse,
		"--start-at %s: a moment on the wall clock is accepted, as 14:30:00, 2026-11-22T14:30:00+01:00 "
		"or @1796049000, a time from now, as +5s, or the next whole multiple of 1 s or more, as /10s",
		value);
}

#define RECORDER_NS_MIN 1000000000ull /* a segment of the log may be as long */
#define RECORDER_NS_MAX (3600 * 1000000000ull)
#define RECORDER_BYTES_MIN 1000000u

#define KEEP_MOST 100000u

/* Cuts ",keep=N" off the end; returns what follows the =, NULL: there is none. */
static char *cut_keep(char *text)
{
	static const char keep[] = ",keep=";
	char *found = strstr(text, keep);

	if (!found)
		return NULL;
	*found = '\0';
	return found + strlen(keep);
}

int parse_flight_recorder(struct parse *parse, const char *value)
{
	struct options *options = parse->options;
	AUTO_FREE char *words = xstrdup(value);
	char *keep = cut_keep(words), *size = strchr(words, ',');
	uint64_t kept = 0;
	bool is_good;

	if (size)
		*size++ = '\0';
	options->recorder_bytes = 0;
	is_good = value_duration(words, &options->recorder_ns) == 0 && options->recorder_ns >= RECORDER_NS_MIN &&
		  options->recorder_ns <= RECORDER_NS_MAX;
	is_good &= !size ||
		   (value_size(size, &options->recorder_bytes) == 0 && options->recorder_bytes >= RECORDER_BYTES_MIN);
	is_good &= !keep || value_count(keep, KEEP_MOST, &kept) == 0;
	options->recorder_keep = (unsigned)kept;
	if (is_good)
		return 0;
	return option_fail(parse,
			   "--flight-recorder %s: how much of the end is kept is accepted, from 1s to 1h, and after a "
			   "comma in how much memory, at least 1M, and how many files are kept, as in 30s, 30s,500M or "
			   "30s,keep=20",
			   value);
}

#define TRIGGER_AFTER_NS_MAX (60 * 1000000000ull)
#define TRIGGER_GAP_NS_MIN 1000000ull
#define TRIGGER_HANG_NS_MIN 1000000000ull
#define TRIGGER_HANG_NS_MAX (3600 * 1000000000ull)

/* "10/h" */
static bool take_hourly(const char *text, unsigned *hourly)
{
	char *number = strndup(text, strcspn(text, "/"));
	uint64_t count = 0;
	bool is_good =
		number && !strcmp(text + strlen(number), "/h") && value_count(number, TRIGGER_HOURLY_MOST, &count) == 0;

	free(number);
	*hourly = (unsigned)count;
	return is_good;
}

/* "2s", or "1.5x": above 1, at most 1,000. */
static bool take_step(const char *text, struct trigger_options *trigger)
{
	size_t digits = strspn(text, "0123456789.");
	double ratio;
	char *end;

	if (value_duration(text, &trigger->step_ns) == 0)
		return true;
	ratio = strtod(text, &end);
	if (!digits || end != text + digits || strcmp(end, "x") != 0 || ratio <= 1 || ratio > 1000)
		return false;
	trigger->step_percent = (unsigned)(ratio * 100 + 0.5);
	return true;
}

/* "line>50ms", "train.py>50ms" or "train.py:41>50ms" */
static bool take_gap(const char *text, struct trigger_options *trigger)
{
	const char *time = strrchr(text, '>');
	size_t length = time ? (size_t)(time - text) : 0;

	if (!length || length >= sizeof(trigger->gap_place) || value_duration(time + 1, &trigger->gap_ns) ||
	    trigger->gap_ns < TRIGGER_GAP_NS_MIN)
		return false;
	memcpy(trigger->gap_place, text, length);
	trigger->gap_place[length] = '\0';
	if (!strcmp(trigger->gap_place, "line"))
		trigger->gap_place[0] = '\0';
	return true;
}

static bool take_hang(const char *text, struct trigger_options *trigger)
{
	return value_duration(text, &trigger->hang_ns) == 0 && trigger->hang_ns >= TRIGGER_HANG_NS_MIN &&
	       trigger->hang_ns <= TRIGGER_HANG_NS_MAX;
}

static bool take_trigger_word(const char *word, struct trigger_options *trigger)
{
	if (!strcmp(word, "oom"))
		return trigger->oom = true;
	if (!strcmp(word, "compile"))
		return trigger->compile = true;
	if (!strcmp(word, "xid"))
		return trigger->xid = true;
	if (!strncmp(word, "gap:", 4))
		return take_gap(word + 4, trigger);
	if (!strncmp(word, "late>", 5))
		return value_duration(word + 5, &trigger->late_ns) == 0;
	if (!strncmp(word, "hang=", 5))
		return take_hang(word + 5, trigger);
	if (!strncmp(word, "idle>", 5))
		return value_duration(word + 5, &trigger->idle_ns) == 0;
	if (!strncmp(word, "step>", 5))
		return take_step(word + 5, trigger);
	if (!strncmp(word, "before=", 7))
		return value_duration(word + 7, &trigger->before_ns) == 0;
	if (!strncmp(word, "after=", 6))
		return value_duration(word + 6, &trigger->after_ns) == 0 && trigger->after_ns <= TRIGGER_AFTER_NS_MAX;
	return !strncmp(word, "max=", 4) && take_hourly(word + 4, &trigger->hourly);
}

int parse_trigger(struct parse *parse, const char *value)
{
	struct options *options = parse->options;
	char *words = xstrdup(value), *at = words, *word;
	bool is_good = true;

	while (is_good && (word = strsep(&at, ",")))
		is_good = take_trigger_word(word, &options->trigger);
	free(words);
	options->ops |= options->trigger.oom || trigger_wants_steps(&options->trigger);
	options->torch_memory |= options->trigger.oom;
	if (is_good && trigger_is_wanted(&options->trigger))
		return 0;
	return option_fail(parse,
			   "--trigger %s: idle>TIME, gap:line>TIME and gap:FILE:LINE>TIME (1ms or more), step>TIME, "
			   "step>1.5x, late>TIME, hang=TIME (1s to 1h), oom, compile and xid are accepted, and after a "
			   "comma before=TIME, after=TIME of up "
			   "to 60s and max=N/h of up to %u, as in idle>200ms,before=20s,after=5s,max=10/h",
			   value, TRIGGER_HOURLY_MOST);
}

#define ROTATE_NS_MIN (10 * 1000000000ull)
#define ROTATE_BYTES_MIN 1000000u

/* "10m" is a time, "10M" a size. */
static bool take_rotation(const char *text, struct options *options)
{
	if (value_duration(text, &options->rotate.span_ns) == 0)
		return options->rotate.span_ns >= ROTATE_NS_MIN;
	return value_size(text, &options->rotate.bytes) == 0 && options->rotate.bytes >= ROTATE_BYTES_MIN;
}

int parse_rotate(struct parse *parse, const char *value)
{
	struct options *options = parse->options;
	AUTO_FREE char *first = xstrdup(value);
	char *keep = cut_keep(first);
	uint64_t count = 0;
	bool is_good;

	options->rotate.bytes = options->rotate.span_ns = 0;
	is_good = take_rotation(first, options) && (!keep || value_count(keep, KEEP_MOST, &count) == 0);
	options->rotate.keep = (unsigned)count;
	if (is_good)
		return 0;
	return option_fail(
		parse,
		"--rotate %s: when a file is over is accepted, as a size of 1M or more or a time of 10s or more, "
		"and after a comma how many are kept, as in 1G, 10m or 10m,keep=5",
		value);
}

#define LABEL_BYTES_MAX 256

int parse_label(struct parse *parse, const char *value)
{
	size_t key = strcspn(value, "=");

	for (const char *at = value; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return option_fail(parse, "--label: a label without control characters is accepted");
	if (!key || !value[key] || strlen(value) > LABEL_BYTES_MAX)
		return option_fail(
			parse,
			"--label %.40s: a name and a value, of at most %u bytes together, are accepted, as in "
			"-M run=17",
			value, LABEL_BYTES_MAX);
	if (parse->options->labels.list.count == MODEL_LABELS_MAX)
		return option_fail(parse, "--label %s: at most %u labels are accepted", value, MODEL_LABELS_MAX);
	for (size_t i = 0; i < parse->options->labels.list.count; i++)
		if (!strncmp(parse->options->labels.list.items[i], value, key + 1))
			return option_fail(parse, "--label %s: %.*s has a value, %s", value, (int)key, value,
					   parse->options->labels.list.items[i] + key + 1);
	array_push(&parse->options->labels.list, value);
	return 0;
}

int parse_interval(struct parse *parse, const char *value)
{
	if (value_duration(value, &parse->options->interval_ns) == 0)
		return 0;
	return option_fail(parse, "--interval %s: a time above 0 is accepted, as in 500ms or 2", value);
}

const char *options_agent_name(enum attach_agent agent)
{
	static const char *const names[] = {
		[ATTACH_AGENT_AUTO] = "auto", [ATTACH_AGENT_REQUIRE] = "require", [ATTACH_AGENT_OFF] = "off"};

	return names[agent];
}

int parse_cupti(struct parse *parse, const char *value)
{
	if (*value != '/')
		return option_fail(
			parse, "--cupti %s: the whole path is needed, from / on, as the traced process sees it", value);
	if (strlen(value) >= INJECT_PATH_MAX)
		return option_fail(parse, "--cupti %.40s...: a path of at most %u bytes is accepted", value,
				   INJECT_PATH_MAX - 1);
	parse->options->cupti = value;
	return 0;
}

int parse_buffer(struct parse *parse, const char *value)
{
	if (value_buffer(value, &parse->options->buffer_bytes))
		return option_fail(parse, "--buffer %s: a power of two from 64K to 1G is accepted, as in 64M", value);
	return 0;
}

int parse_cost_limit(struct parse *parse, const char *value)
{
	if (value_percent(value, &parse->options->cost_limit) || !parse->options->cost_limit)
		return option_fail(parse,
				   "--cost-limit %s: a percentage above 0 is accepted, with at most three decimals, as "
				   "in 0.5%%",
				   value);
	return 0;
}

#define MEMORY_LIMIT_MIN 100000000u

int parse_memory_limit(struct parse *parse, const char *value)
{
	if (!value_size(value, &parse->options->memory_limit) && parse->options->memory_limit >= MEMORY_LIMIT_MIN)
		return 0;
	return option_fail(parse, "--memory-limit %s: a size from 100M on is accepted, as in 200M", value);
}

#define FREQUENCY_MAX 10000u

int parse_cpu(struct parse *parse, const char *value)
{
	if (!parse->options->cpu_frequency)
		parse->options->cpu_frequency = OPTIONS_FREQUENCY;
	return 0;
}

int parse_frequency(struct parse *parse, const char *value)
{
	if (value_count(value, FREQUENCY_MAX, &parse->options->cpu_frequency))
		return option_fail(parse, "--frequency %s: a number of samples a second from 1 to %u is accepted",
				   value, FREQUENCY_MAX);
	return 0;
}

int parse_off_cpu(struct parse *parse, const char *value)
{
	parse->options->off_cpu_min_ns = OPTIONS_OFF_CPU_MIN_NS;
	if (value && value_duration(value, &parse->options->off_cpu_min_ns))
		return option_fail(parse,
				   "--off-cpu=%s: the shortest wait to record is accepted after it, as 100us or 1ms",
				   value);
	return 0;
}

static int take_by_name(const char *name, size_t length)
{
#define NAME(enumerator, name) [GPT_AGENT_SET_##enumerator] = #name,
	static const char *const names[] = {GPT_AGENT_ACTIVITY_SETS(NAME)};
#undef NAME

	for (int i = 0; i < GPT_AGENT_SET_COUNT; i++)
		if (strlen(names[i]) == length && !memcmp(names[i], name, length))
			return i;
	return -1;
}

static int refuse_set(struct parse *parse, const char *value, const char *name, int length)
{
#define NAME(enumerator, name) " " #name
	static const char names[] = GPT_AGENT_ACTIVITY_SETS(NAME);
#undef NAME
	char word[NEAREST_NAME_MAX + 1];

	snprintf(word, sizeof(word), "%.*s", length, name);
	return option_fail(parse, "--trace %s: '%.*s' is not known; accepted, by commas, are%s%s", value, length, name,
			   names, nearest_question(word, names).text);
}

int parse_trace(struct parse *parse, const char *value)
{
	const char *at = value;

	if (parse->options->has_activity_sets)
		return option_fail(parse, "--trace %s: what to trace was said before; --trace or --kernels-only, once",
				   value);
	parse->options->has_activity_sets = true;
	parse->options->activity_sets = 0;
	for (;; at++) {
		size_t length = strcspn(at, ",");
		int take = take_by_name(at, length);

		if (take < 0)
			return refuse_set(parse, value, at, (int)length);
		parse->options->activity_sets |= 1u << take;
		at += length;
		if (!*at)
			return 0;
	}
}

int parse_kernels_only(struct parse *parse, const char *value)
{
	if (parse->options->has_activity_sets)
		return option_fail(parse,
				   "--kernels-only: what to trace was said before; --trace or --kernels-only, once");
	parse->options->has_activity_sets = true;
	parse->options->activity_sets = 0;
	return 0;
}

int parse_capture_range(struct parse *parse, const char *value)
{
	if (strcmp(value, "cudaProfilerApi"))
		return option_fail(parse, "--capture-range %s: accepted is cudaProfilerApi", value);
	parse->options->captures = parse->options->ops = true;
	return 0;
}

int parse_capture_range_end(struct parse *parse, const char *value)
{
	static const char repeat[] = "repeat";
	uint64_t count = 0;

	parse->options->capture_end = value;
	parse->options->captures_wanted = 1;
	if (!strcmp(value, "stop"))
		return 0;
	if (strncmp(value, repeat, strlen(repeat)))
		goto refused;
	value += strlen(repeat);
	if (*value && (*value != ':' || value_count(value + 1, GPT_SCHEDULE_STEPS_MAX, &count)))
		goto refused;
	parse->options->captures_wanted = (uint32_t)count;
	return 0;
refused:
	return option_fail(
		parse,
		"--capture-range-end %s: accepted are stop (after the first range), repeat, and repeat:N with a "
		"number of ranges up to %u",
		parse->options->capture_end, GPT_SCHEDULE_STEPS_MAX);
}

int parse_schedule(struct parse *parse, const char *value)
{
	parse->options->ops = true;
	if (value_schedule(value, &parse->options->schedule) == 0)
		return 0;
	return option_fail(parse,
			   "--schedule %s: numbers of steps as torch.profiler.schedule has them are accepted, as in "
			   "skip_first=5,wait=5,warmup=2,active=2,repeat=1; active at least 1, none above %u",
			   value, GPT_SCHEDULE_STEPS_MAX);
}

int parse_prove_cost(struct parse *parse, const char *value)
{
	uint64_t ns;

	parse->options->ops = true;
	if (value_duration(value, &ns) || ns < 1000000000u || ns > 5000000000u)
		return option_fail(parse,
				   "--prove-cost %s: the length of its windows is accepted, from 1s to 5s: three steps "
				   "or more",
				   value);
	parse->options->proof_ms = (uint32_t)(ns / 1000000);
	return 0;
}
