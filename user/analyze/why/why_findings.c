/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/why/why_findings.h"

#include <stdlib.h>

/* What a finding is of; the first part of its key. */
enum kind {
	OF_LINE,    /* line */
	OF_LAUNCH,  /* line of the next launch, line of the launch before, cause */
	OF_PROGRAM, /* cause */
};

bool why_is_culprit(enum why_cause cause, const struct why_line *line)
{
	switch (cause) {
	case WHY_PYTHON:
	case WHY_PROGRAM:
	case WHY_UNSAMPLED:
	case WHY_PROCESS:
	case WHY_PEER:
		return false;
	case WHY_IMPORT:
	case WHY_GC:
		return line->extra == 0;
	case WHY_DATA:
		return why_seen_by(line->extra) != WHY_SEEN_BY_FRAMES;
	default:
		return line->line != NONE;
	}
}

static bool is_of_program(enum why_cause cause)
{
	return cause == WHY_LAUNCH || cause == WHY_IMPORT || cause == WHY_GC || cause == WHY_REQUEST ||
	       cause == WHY_RANK;
}

static struct tally_key key_of(const struct why_loss *loss, const struct why_line *line)
{
	if (is_of_program(loss->cause))
		return (struct tally_key){{OF_PROGRAM, loss->cause}};
	if (why_is_culprit(loss->cause, line))
		return (struct tally_key){{OF_LINE, line->line}};
	return (struct tally_key){{OF_LAUNCH, line->line, line->from_line, loss->cause}};
}

struct making {
	struct why_findings *findings;
	struct tally alone;	       /* by key_of: time */
	struct tally keys;	       /* numbered like findings */
	struct tally lines, processes; /* finding, line or process */
	uint64_t least_ns;
};

static size_t number_of(struct making *making, const struct why_loss *loss, const struct why_line *line)
{
	struct tally_key key = key_of(loss, line);

	if (tally_at(&making->alone, key)->ns < making->least_ns)
		key = (struct tally_key){{OF_PROGRAM, loss->cause}};
	return tally_number(&making->keys, key);
}

static void add_line(struct making *making, const struct why_loss *loss, const struct why_line *line)
{
	size_t number = number_of(making, loss, line), known = making->findings->all.count;
	struct why_finding *finding;

	if (number == known)
		array_push(&making->findings->all, (struct why_finding){0});
	finding = &making->findings->all.items[number];
	finding->ns += line->ns;
	finding->of_cause[loss->cause] += line->ns;
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
	struct making making = {.findings = findings, .least_ns = least_ns};

	*findings = (struct why_findings){0};
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			tally_at(&making.alone, key_of(&why->losses[i], &why->losses[i].lines[k]))->ns +=
				why->losses[i].lines[k].ns;
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			add_line(&making, &why->losses[i], &why->losses[i].lines[k]);
	for (size_t i = 0; i < why->count; i++)
		for (size_t k = 0; k < why->losses[i].line_count; k++)
			choose_line(&making, &why->losses[i], &why->losses[i].lines[k]);
	if (findings->all.count)
		qsort(findings->all.items, findings->all.count, sizeof(*findings->all.items), by_time);
	tally_free(&making.alone);
	tally_free(&making.keys);
	tally_free(&making.lines);
	tally_free(&making.processes);
}

void why_findings_free(struct why_findings *findings)
{
	array_free(&findings->all);
}
