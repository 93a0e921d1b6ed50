/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_findings.h"

#include <stdlib.h>

/* What a finding is of; the first part of its key. */
enum kind {
	OF_LINE,    /* line, part of its callers */
	OF_LAUNCH,  /* the same of the next launch, line of the launch before; with the cause above CAUSE_SHIFT */
	OF_PROGRAM, /* cause; of one line alone: with the cause above CAUSE_SHIFT, line, part */
};

#define CAUSE_SHIFT 8

bool why_is_culprit(enum why_cause cause, const struct why_line *line)
{
	const bool culprits[WHY_LOSSES] = {
#define CAUSE(cause, name, of_program, is_culprit) [WHY_##cause] = (is_culprit),
		WHY_LOSS_ROWS(CAUSE)
#undef CAUSE
	};

	return cause < WHY_LOSSES ? culprits[cause] : WHY_HAS_LINE;
}

static bool is_of_program(enum why_cause cause)
{
	static const bool of_program[WHY_LOSSES] = {
#define CAUSE(cause, name, of_program, is_culprit) [WHY_##cause] = (of_program),
		WHY_LOSS_ROWS(CAUSE)
#undef CAUSE
	};

	return of_program[cause];
}

static struct tally_key key_alone(enum why_cause cause, const struct why_line *line)
{
	if (is_of_program(cause))
		return (struct tally_key){{OF_PROGRAM, cause}};
	if (why_is_culprit(cause, line))
		return (struct tally_key){{OF_LINE, line->line, line->part}};
	return (struct tally_key){
		{OF_LAUNCH | (uint32_t)cause << CAUSE_SHIFT, line->line, line->part, line->from_line}};
}

static struct tally_key key_of_program(enum why_cause cause, const struct why_line *line)
{
	return (struct tally_key){{OF_PROGRAM | (uint32_t)cause << CAUSE_SHIFT, line->line, line->part}};
}

/* What the line did for most of the time in which it got no CPU, if that is the program's as a whole; else `cause`. */
static enum why_cause cause_with_cpu(struct why_findings *findings, enum why_cause cause, const struct why_line *line)
{
	static const enum why_cause others[] = {WHY_IMPORT, WHY_GC};
	uint64_t most;

	if (cause != WHY_NO_CPU || line->line == NONE)
		return cause;
	most = tally_at(&findings->alone, key_alone(cause, line))->ns;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		uint64_t ns = tally_at(&findings->alone, key_of_program(others[i], line))->ns;

		if (ns <= most)
			continue;
		most = ns;
		cause = others[i];
	}
	return cause;
}

static struct tally_key key_of(struct why_findings *findings, enum why_cause cause, const struct why_line *line)
{
	enum why_cause with_cpu = cause_with_cpu(findings, cause, line);
	struct tally_key key = with_cpu == cause ? key_alone(cause, line) : (struct tally_key){{OF_PROGRAM, with_cpu}};

	if (tally_at(&findings->alone, key)->ns < findings->least_ns)
		return (struct tally_key){{OF_PROGRAM, cause}};
	return key;
}

static void add_alone(struct why_findings *findings, enum why_cause cause, const struct why_line *line)
{
	tally_at(&findings->alone, key_alone(cause, line))->ns += line->ns;
	if (is_of_program(cause) && why_is_culprit(cause, line))
		tally_at(&findings->alone, key_of_program(cause, line))->ns += line->ns;
}

struct making {
	struct why_findings *findings;
	struct tally lines, processes; /* finding, line or process */
};

static size_t number_of(struct making *making, const struct why_loss *loss, const struct why_line *line)
{
	return tally_number(&making->findings->keys, key_of(making->findings, loss->cause, line));
}

static void add_line(struct making *making, const struct why_loss *loss, const struct why_line *line)
{
	size_t number = number_of(making, loss, line), known = making->findings->all.count;
	struct why_finding *finding;

	if (number == known)
		array_push(&making->findings->all, ((struct why_finding){.number = number}));
	finding = &making->findings->all.items[number];
	finding->ns += line->ns;
	finding->of_cause[loss->cause] += line->ns - line->starved_ns;
	finding->of_cause[WHY_NO_CPU] += line->starved_ns;
	finding->lines += !tally_at(&making->lines, (struct tally_key){{(uint32_t)number, line->line}})->count++;
	finding->processes +=
		!tally_at(&making->processes, (struct tally_key){{(uint32_t)number, line->process}})->count++;
}

/* Lines are in the order of their time, so the first of the cause with most time is it. */
static void choose_line(struct making *making, const struct why_loss *loss, const struct why_line *line)
{
	struct why_finding *finding = &making->findings->all.items[number_of(making, loss, line)];

	if (finding->loss && finding->of_cause[finding->loss->cause] >= finding->of_cause[loss->cause])
		return;
	finding->loss = loss;
	finding->line = line;
}

static int by_time(const void *left, const void *right)
{
	const struct why_finding *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	if (a->loss->cause != b->loss->cause)
		return a->loss->cause < b->loss->cause ? -1 : 1;
	return a->line < b->line ? -1 : a->line > b->line; /* of one loss, as the cause is the same */
}

void why_findings_make(struct why_findings *findings, const struct why *why, uint64_t least_ns)
{
	struct making making = {.findings = findings};

	*findings = (struct why_findings){.least_ns = least_ns};
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			add_alone(findings, why->losses[i].cause, &why->losses[i].lines[k]);
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			add_line(&making, &why->losses[i], &why->losses[i].lines[k]);
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			choose_line(&making, &why->losses[i], &why->losses[i].lines[k]);
	array_sort(&findings->all, by_time);
	findings->sorted = xcalloc(findings->all.count + 1, sizeof(*findings->sorted));
	for (size_t i = 0; i < findings->all.count; i++)
		findings->sorted[findings->all.items[i].number] = i;
	tally_free(&making.lines);
	tally_free(&making.processes);
}

void why_findings_free(struct why_findings *findings)
{
	array_free(&findings->all);
	tally_free(&findings->alone);
	tally_free(&findings->keys);
	free(findings->sorted);
}

size_t why_findings_find(struct why_findings *findings, enum why_cause cause, const struct why_line *line)
{
	size_t number;

	if (cause >= WHY_LOSSES)
		return SIZE_MAX;
	number = tally_number(&findings->keys, key_of(findings, cause, line));
	return number < findings->all.count ? findings->sorted[number] : SIZE_MAX;
}
