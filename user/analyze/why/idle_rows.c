/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes table rows of charges: by the line to blame, what happened there, and the line of the launch. */
#include <stdlib.h>

#include "analyze/events/line_tally.h"
#include "analyze/why/culprits.h"
#include "analyze/why/idle_internal.h"

#define CALLERS_SHARE 100u /* a caller with less than one part in this many of the idle time is not told apart */

uint32_t idle_caller_of_place(struct idle *idle, uint32_t place)
{
	const struct model *model = idle->model;

	if (place >= CALLER_NO_FRAME)
		return place;
	return why_user_frame(&idle->threads, model, place, model->stack_frames[model->stacks[place].first]);
}

/* Short gaps have no line. */
static struct place_lines lines_at(struct lines *lines, const struct idle_charge *charge, uint32_t place)
{
	struct culprit culprit;

	if (charge->what.part[1] == WHY_SHORT)
		return (struct place_lines){NONE, NONE, NONE};
	culprit = culprit_at(lines, place, NONE);
	return (struct place_lines){culprit.line, culprit.own == culprit.line ? culprit.caller : culprit.own, NONE};
}

/* A compiler's own lines are many, and say nothing to who called it. */
struct place_lines idle_lines_of_charge(struct lines *lines, const struct idle_charge *charge)
{
	const uint32_t *part = charge->what.part;
	struct culprit culprit;

	if (part[1] != WHY_COMPILE || part[2] != WHY_COMPILE_FRAMES)
		return lines_at(lines, charge, part[0]);
	culprit = culprit_at(lines, part[0], NONE);
	return (struct place_lines){culprit.own, culprit.caller, NONE};
}

/* The keys of a row besides its line. */
struct row_keys {
	struct tally what;  /* cause, inner cause, detail, extra */
	struct tally whose; /* line of the launch, line_callers_part() */
	struct line_callers callers;
};

#define AFTER 0x100u

/* A line is one row whatever native functions it ran, or a pool for it, and wherever its launch came from. */
static struct tally_key what_of(const struct idle_charge *charge)
{
	const uint32_t *part = charge->what.part;
	bool in_pool = part[1] == WHY_NATIVE && charge->via != NONE;
	bool by_line =
		part[1] == WHY_PYTHON || part[1] == WHY_PROGRAM || part[1] == WHY_UNSAMPLED || charge->inner == WHY_RAN;
	uint32_t detail = in_pool ? NONE : by_line ? 0 : part[2];
	uint32_t extra = part[1] == WHY_DATA ? why_seen_by(part[3]) : part[3];

	return (struct tally_key){
		{part[1], charge->inner | (charge->after ? AFTER : 0), detail, by_line ? NONE : extra}};
}

static void find_callers(struct idle *idle, struct row_keys *keys, struct lines *lines)
{
	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);
		struct place_lines at = idle_lines_of_charge(lines, &charge);

		line_callers_add(&keys->callers, at.line, at.user_line, charge.ns);
	}
	line_callers_finish(&keys->callers, idle->sum / CALLERS_SHARE);
}

static void add_charge(struct idle *idle, struct line_tally *by_line, struct row_keys *keys, struct lines *lines,
		       const struct idle_charge *charge)
{
	struct place_lines at = idle_lines_of_charge(lines, charge);
	struct tally_key whose = {{lines_at(lines, charge, charge->launch_place).line,
				   line_callers_part(&keys->callers, at.line, at.user_line)}};
	uint32_t parts[2] = {tally_number(&keys->what, what_of(charge)), tally_number(&keys->whose, whose)};

	line_tally_add(by_line, at, parts, idle_charge_process(idle, charge), charge->ns, charge->count);
}

static struct idle_row row_of(const struct line_tally_row *sum, struct row_keys *keys)
{
	const uint32_t *what = keys->what.entries[sum->part[0]].key.part;

	return (struct idle_row){.line = sum->line,
				 .user_line = sum->user_line,
				 .user_lines = sum->user_lines,
				 .is_divided = line_callers_divide(&keys->callers, sum->line),
				 .launch_line = keys->whose.entries[sum->part[1]].key.part[0],
				 .process = sum->process,
				 .cause = what[0],
				 .inner = what[1] & ~AFTER,
				 .after = what[1] & AFTER,
				 .detail = what[2],
				 .extra = what[3],
				 .ns = sum->ns,
				 .count = sum->count};
}

/* Adds the time before the first operation of devices, or after their last. */
static void add_edge(struct idle *idle, enum why_cause cause, uint64_t ns, uint64_t count)
{
	if (!ns)
		return;
	idle->edges++;
	idle->rows[idle->count++] = (struct idle_row){.line = NONE,
						      .user_line = NONE,
						      .launch_line = NONE,
						      .process = NONE,
						      .cause = cause,
						      .ns = ns,
						      .count = count};
}

static void add_edges(struct idle *idle)
{
	uint64_t before_ns = 0, after_ns = 0, before = 0, after = 0, untimed_ns;

	for (size_t i = 0; i < idle->devices.count; i++) {
		const struct idle_device *device = &idle->devices.items[i];

		uint64_t least_ns = idle_ns_inside(idle, 0, device->first_ns);
		uint64_t most_ns = idle_ns_inside(idle, device->busy_until_ns, UINT64_MAX);

		before_ns += least_ns;
		before += least_ns != 0;
		after_ns += most_ns;
		after += most_ns != 0;
	}
	untimed_ns = window_untimed_ns(idle->window) * before;
	before_ns -= untimed_ns < before_ns ? untimed_ns : before_ns;
	if (before_ns > after_ns)
		add_edge(idle, WHY_BEFORE, before_ns, before);
	add_edge(idle, WHY_AFTER, after_ns, after);
	if (before_ns <= after_ns)
		add_edge(idle, WHY_BEFORE, before_ns, before);
}

void idle_finish(struct idle *idle, struct lines *lines)
{
	struct row_keys keys = {0};
	struct line_tally by_line = {0};
	AUTO_FREE struct line_tally_row *sorted = NULL;
	size_t count;

	if (idle->counted.end_ns == UINT64_MAX)
		idle->counted.end_ns = idle->window->end_ns;
	idle_resolve(idle);
	find_callers(idle, &keys, lines);
	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);

		add_charge(idle, &by_line, &keys, lines, &charge);
	}
	sorted = line_tally_rows(&by_line, &count);
	idle->rows = xcalloc(count + 2, sizeof(*idle->rows));
	/* without charges there are neither rows nor keys */
	for (size_t i = 0; keys.what.entries && i < count; i++)
		idle->rows[idle->count++] = row_of(&sorted[i], &keys);
	add_edges(idle);
	compiles_finish(idle, lines);
	tally_free(&keys.what);
	tally_free(&keys.whose);
	line_callers_free(&keys.callers);
}
