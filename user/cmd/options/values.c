/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parsers of option values, which know nothing of options. */
#include "cmd/options/values.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* PID_MAX_LIMIT of 64-bit kernels, include/linux/threads.h. */
#define PID_LIMIT (4 * 1024 * 1024)

#define YEAR_NS (365.0 * 24 * 3600 * 1e9)

/* Splits off a non-negative decimal number; takes no sign, no blanks, no hexadecimal, no "inf". */
static int split_number(const char *text, double *number, const char **rest)
{
	size_t length = strspn(text, "0123456789.");
	char *end;

	if (!length || !isdigit((unsigned char)text[0]) || length > 18)
		return -EINVAL;
	*number = strtod(text, &end);
	if (end < text + length) /* "1.2.3" */
		return -EINVAL;
	*rest = text + length;
	return end == *rest ? 0 : -EINVAL; /* rejects "1e9", which strtod takes */
}

int value_duration(const char *text, uint64_t *ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e9}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	const char *unit;
	double number;

	if (split_number(text, &number, &unit))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = number * units[i].ns;

		if (strcmp(unit, units[i].unit) != 0)
			continue;
		if (value < 1 || value > YEAR_NS)
			return -EINVAL;
		*ns = (uint64_t)(value + 0.5); /* rounded: 0.000000015 s is a little less than 15 ns */
		return 0;
	}
	return -EINVAL;
}

int value_buffer(const char *text, size_t *bytes)
{
	static const struct {
		const char *unit;
		unsigned shift;
	} units[] = {{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}};
	size_t digits = strspn(text, "0123456789");
	unsigned long long number;

	if (!digits || digits > 12)
		return -EINVAL;
	number = strtoull(text, NULL, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		unsigned long long value = number << units[i].shift;

		if (strcasecmp(text + digits, units[i].unit) != 0)
			continue;
		if (value < VALUE_BUFFER_MIN || value > VALUE_BUFFER_MAX || (value & (value - 1)))
			return -EINVAL;
		*bytes = value;
		return 0;
	}
	return -EINVAL;
}

/* Takes digits one by one: a double cannot hold 99.9. */
int value_percent(const char *text, unsigned *thousandths)
{
	size_t digits = strspn(text, "0123456789");
	unsigned value = 0, unit = 1000;

	if (!digits || digits > 3)
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		value = 10 * value + (unsigned)(*text++ - '0');
	value *= unit;
	if (*text == '.') {
		digits = strspn(++text, "0123456789");
		if (!digits || digits > 3)
			return -EINVAL;
		while (digits--)
			value += (unsigned)(*text++ - '0') * (unit /= 10);
	}
	if ((*text && strcmp(text, "%") != 0) || value > 100000)
		return -EINVAL;
	*thousandths = value;
	return 0;
}

static void add_pid(struct pid_list *pids, pid_t pid)
{
	for (size_t i = 0; i < pids->list.count; i++)
		if (pids->list.items[i] == pid)
			return;
	array_push(&pids->list, pid);
}

int value_pids(const char *text, struct pid_list *pids, const char **bad, int *bad_length)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		size_t digits = strspn(text, "0123456789");
		unsigned long pid = digits ? strtoul(text, NULL, 10) : 0;

		if (!digits || digits != length || digits > 9 || pid == 0 || pid > PID_LIMIT) {
			*bad = text;
			*bad_length = (int)(length < 32 ? length : 32);
			return -EINVAL;
		}
		add_pid(pids, (pid_t)pid);
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

int value_names(const char *text, struct name_list *names)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		char *name;

		if (!length)
			return -EINVAL;
		name = xmalloc(length + 1);
		memcpy(name, text, length);
		name[length] = 0;
		array_push(&names->list, name);
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

void name_list_free(struct name_list *names)
{
	array_free_items(&names->list);
}

/* Takes digits up to `end`, a possible thread id. */
static bool take_id(const char *text, const char *end, uint32_t *id)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long value = digits && digits < 10 ? strtoul(text, NULL, 10) : 0;

	*id = (uint32_t)value;
	return text + digits == end && value && value <= PID_LIMIT;
}

int value_thread(const char *text, struct thread_value *thread)
{
	const char *slash = strchr(text, '/'), *tid = slash ? slash + 1 : text;

	*thread = (struct thread_value){0};
	if (slash && !take_id(text, slash, &thread->pid))
		return -EINVAL;
	return take_id(tid, tid + strlen(tid), &thread->tid) ? 0 : -EINVAL;
}

int value_gpu(const char *text, uint32_t *gpu)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 9 || text[digits])
		return -EINVAL;
	*gpu = (uint32_t)strtoul(text, NULL, 10);
	return 0;
}

int value_count(const char *text, uint64_t most, uint64_t *count)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 9 || text[digits])
		return -EINVAL;
	*count = strtoul(text, NULL, 10);
	return *count >= 1 && *count <= most ? 0 : -EINVAL;
}

int value_size(const char *text, uint64_t *bytes)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}};
	const char *unit;
	double number;

	if (split_number(text, &number, &unit))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = number * units[i].bytes;

		if (strcasecmp(unit, units[i].unit) != 0)
			continue;
		if (value < 1 || value > 1e15)
			return -EINVAL;
		*bytes = (uint64_t)value;
		return 0;
	}
	return -EINVAL;
}

/* Takes up to 18 digits; returns what follows them.  Without digits, *number is `without`.  NULL: more digits. */
static const char *take_number(const char *text, uint64_t without, uint64_t *number)
{
	size_t digits = strspn(text, "0123456789");

	*number = digits ? strtoull(text, NULL, 10) : without;
	return digits < 19 ? text + digits : NULL;
}

int value_steps(const char *text, struct steps_value *steps)
{
	const char *rest = take_number(text, 0, &steps->first);

	steps->last = steps->first;
	if (rest && !strncmp(rest, "..", 2))
		rest = take_number(rest + 2, UINT64_MAX, &steps->last);
	else if (rest == text)
		return -EINVAL;
	if (!rest || *rest || !strcmp(text, "..") || steps->last < steps->first)
		return -EINVAL;
	steps->has_any = true;
	return 0;
}

/* "81" after a file is a line number: no function's name begins with a digit. */
static int take_line(struct step_request *request)
{
	uint64_t line;

	if (*request->name < '0' || *request->name > '9')
		return 0;
	if (value_count(request->name, UINT32_MAX, &line) != 0)
		return -EINVAL;
	request->line = (uint32_t)line;
	return 0;
}

int value_step(const char *text, struct step_value *step)
{
	static const struct {
		const char *name;
		enum step_source source;
	} plain[] = {{"optimizer", STEP_OPTIMIZER}, {"backward", STEP_BACKWARD}, {"profiler", STEP_PROFILER}};
	bool is_function = !strncmp(text, "py:", 3), is_range = !strncmp(text, "range:", 6);
	bool is_burst = !strncmp(text, "burst:", 6);
	char *name, *colon;

	step_value_free(step);
	step->given = text;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(text, plain[i].name)) {
			step->request.source = plain[i].source;
			return 0;
		}
	if (!is_function && !is_range && !is_burst)
		return -EINVAL;
	step->text = xstrdup(text);
	name = strchr(step->text, ':') + 1;
	if (is_burst) {
		step->request = (struct step_request){.source = STEP_BURST, .name = name};
		return value_duration(name, &step->request.gap_ns);
	}
	colon = is_function ? strrchr(name, ':') : NULL;
	step->request = (struct step_request){.source = is_function ? STEP_FUNCTION : STEP_RANGE, .name = name};
	if (colon) {
		*colon = 0;
		step->request.file = name;
		step->request.name = colon + 1;
	}
	if (!*step->request.name || (colon && !*name))
		return -EINVAL;
	return colon ? take_line(&step->request) : 0;
}

void step_value_free(struct step_value *step)
{
	free(step->text);
	*step = (struct step_value){0};
}

int value_schedule(const char *text, struct gpt_schedule *schedule)
{
	const struct {
		const char *name;
		uint32_t *at;
		uint64_t most;
	} parts[] = {
		{"skip_first=", &schedule->skip_first, GPT_SCHEDULE_STEPS_MAX},
		{"wait=", &schedule->wait, GPT_SCHEDULE_STEPS_MAX},
		{"warmup=", &schedule->warmup, GPT_SCHEDULE_STEPS_MAX},
		{"active=", &schedule->active, GPT_SCHEDULE_STEPS_MAX},
		{"repeat=", &schedule->repeat, GPT_SCHEDULE_STEPS_MAX},
		{"skip_first_wait=", &schedule->skip_first_wait, 1},
	};
	unsigned given = 0;

	*schedule = (struct gpt_schedule){0};
	for (;; text++) {
		size_t i = 0, count = sizeof(parts) / sizeof(parts[0]);
		const char *number;
		uint64_t value;

		while (i < count && strncmp(text, parts[i].name, strlen(parts[i].name)))
			i++;
		if (i == count || given >> i & 1)
			return -EINVAL;
		given |= 1u << i;
		number = text + strlen(parts[i].name);
		text = take_number(number, 0, &value);
		if (!text || text == number || value > parts[i].most)
			return -EINVAL;
		*parts[i].at = (uint32_t)value;
		if (!*text)
			return schedule->active ? 0 : -EINVAL;
		if (*text != ',')
			return -EINVAL;
	}
}
