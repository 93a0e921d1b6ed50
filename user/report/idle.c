/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which line lets a GPU idle.  A gap ends with an operation that some call launched:
 *  - the call came after the gap began: the CPU was late.  What its thread spent waiting in CUDA calls meanwhile is
 *    charged to the lines of those, the rest to the line of the launch;
 *  - the call came before: the GPU had the work and did not start it (launch latency, a dependency on another
 *    stream): charged to the line of the launch as the GPU's side.
 */
#include <stdlib.h>

#include "report/parts.h"

/* Shorter gaps are what the hardware needs between two operations. */
#define GAP_LEAST_NS 5000u

enum cause {
	CAUSE_LATE,
	CAUSE_WAITED, /* key: api */
	CAUSE_GPU,
	CAUSE_SHORT,  /* no line */
	CAUSE_BEFORE, /* no line */
	CAUSE_AFTER,  /* no line */
};

struct idle {
	struct report *report;
	struct tally charges; /* line, cause, api */
	struct tally devices; /* device; ns: busy until */
	uint32_t *previous;   /* call of the same thread */
	uint64_t sum;	      /* between operations */
};

/* Time about which the trace cannot say who is to blame. */
static bool is_edge(enum cause cause)
{
	return cause == CAUSE_BEFORE || cause == CAUSE_AFTER;
}

static void charge(struct idle *idle, uint32_t line, enum cause cause, uint16_t api, uint64_t ns)
{
	struct tally_entry *entry;

	if (!ns)
		return;
	entry = tally_at(&idle->charges, (struct tally_key){{line, cause, api}});
	entry->ns += ns;
	entry->count++;
	if (!is_edge(cause))
		idle->sum += ns;
}

/* Calls in which a thread can stay while the GPU runs dry. */
static bool can_block(const struct model_call *call)
{
	return call_waits(call) || call->class == GPT_CLASS_ALLOC || call->class == GPT_CLASS_FREE;
}

/* Charges what the launching thread spent in blocking calls during [from, to); returns how much that was. */
static uint64_t charge_waits(struct idle *idle, uint32_t call, uint64_t from, uint64_t to)
{
	const struct model *model = idle->report->model;
	uint64_t waited = 0;

	for (uint32_t i = idle->previous[call]; i != NONE; i = idle->previous[i]) {
		const struct model_call *before = &model->calls[i];
		uint64_t start = before->start_ns > from ? before->start_ns : from;
		uint64_t end = before->end_ns < to ? before->end_ns : to;

		if (end > start && can_block(before)) {
			charge(idle, line_of_call(idle->report, before), CAUSE_WAITED, before->api, end - start);
			waited += end - start;
			to = start;
		}
		if (before->start_ns <= from)
			break;
	}
	return waited;
}

static void charge_gap(struct idle *idle, const struct model_gpu *op, uint64_t from, uint64_t to)
{
	const struct model *model = idle->report->model;
	uint32_t line;

	if (to - from < GAP_LEAST_NS) {
		charge(idle, NONE, CAUSE_SHORT, 0, to - from);
		return;
	}
	line = line_of_launch(idle->report, op,
			      op->call); /* of a graph: the line that was late is the one that replays */
	if (op->call != NONE && model->calls[op->call].start_ns > from)
		charge(idle, line, CAUSE_LATE, 0, to - from - charge_waits(idle, op->call, from, to));
	else
		charge(idle, line, CAUSE_GPU, 0, to - from);
}

static void add_op(struct idle *idle, const struct model_gpu *op)
{
	struct report *report = idle->report;
	size_t before = idle->devices.count;
	struct tally_entry *device = tally_at(&idle->devices, (struct tally_key){{op->device}});
	uint64_t start = op->start_ns < report->all->window.end_ns ? op->start_ns : report->all->window.end_ns;

	if (idle->devices.count != before) {
		device->ns = report->all->window.start_ns;
		if (start > device->ns)
			charge(idle, NONE, CAUSE_BEFORE, 0, start - device->ns);
	} else if (start > device->ns) {
		charge_gap(idle, op, device->ns, start);
	}
	if (op->end_ns > device->ns)
		device->ns = op->end_ns < report->all->window.end_ns ? op->end_ns : report->all->window.end_ns;
}

static void link_previous(struct idle *idle)
{
	const struct model *model = idle->report->model;
	uint32_t *last = xmalloc(model->thread_count * sizeof(*last));

	idle->previous = xmalloc(model->call_count * sizeof(*idle->previous));
	for (uint32_t i = 0; i < model->thread_count; i++)
		last[i] = NONE;
	for (uint32_t i = 0; i < model->call_count; i++) {
		idle->previous[i] = last[model->calls[i].thread];
		last[model->calls[i].thread] = i;
	}
	free(last);
}

static char *cause_text(const struct tally_key *key)
{
	switch (key->part[1]) {
	case CAUSE_LATE:
		return xstrdup("launched late");
	case CAUSE_WAITED:
		return xasprintf("waited in %s", api_name((uint16_t)key->part[2]));
	case CAUSE_GPU:
		return xstrdup("GPU side");
	default:
		return xstrdup("");
	}
}

static char *charged_to(struct report *report, const struct tally_key *key)
{
	switch (key->part[1]) {
	case CAUSE_SHORT:
		return xstrdup("(gaps under 5 us)");
	case CAUSE_BEFORE:
		return xstrdup("(before the first GPU operation seen)");
	case CAUSE_AFTER:
		return xstrdup("(after the last GPU operation)");
	default:
		return line_label(&report->all->lines, key->part[0]);
	}
}

static void add_row(struct idle *idle, struct table *table, const struct tally_entry *entry, struct time_unit unit)
{
	char *line = charged_to(idle->report, &entry->key), *why = cause_text(&entry->key);

	table_add_number(table, number_in(entry->ns, unit));
	table_add_number(table, number_percent((double)entry->ns, is_edge(entry->key.part[1]) ? 0 : (double)idle->sum));
	table_add_number(table, number_count(entry->count));
	table_add(table, line);
	table_add(table, why);
	free(line);
	free(why);
}

static void put_charges(struct idle *idle)
{
	struct report *report = idle->report;
	struct tally_entry *sorted = tally_sorted(&idle->charges, false);
	struct time_unit unit = time_unit_for(idle->sum ? idle->sum : sorted[0].ns);
	const struct column columns[] = {
		{unit.name, false, 0},
		{"%", false, 0},
		{"gaps", false, 0},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{"why", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	size_t shown = 0, more = 0;
	uint64_t rest = 0;

	report_title(report, "GPU idle by Python line", "% of idle time between operations; who kept the GPU waiting");
	table_begin(&table, columns);
	for (size_t i = 0; i < idle->charges.count; i++) {
		if (is_edge(sorted[i].key.part[1]))
			continue;
		if (shown < report->rows) {
			add_row(idle, &table, &sorted[i], unit);
			shown++;
		} else {
			rest += sorted[i].ns;
			more++;
		}
	}
	for (size_t i = 0; i < idle->charges.count; i++)
		if (is_edge(sorted[i].key.part[1]))
			add_row(idle, &table, &sorted[i], unit);
	table_end(&table, report->out, report->width, report->color);
	report_more(report, more, "causes", number_in(rest, unit), unit.name);
	free(sorted);
}

void report_idle(struct report *report)
{
	const struct model *model = report->model;
	struct idle idle = {.report = report};

	link_previous(&idle);
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (gpu_ns(&model->gpu[i]) && model->gpu[i].end_ns > report->all->window.start_ns)
			add_op(&idle, &model->gpu[i]);
	for (size_t i = 0; i < idle.devices.count; i++)
		if (report->all->window.end_ns > idle.devices.entries[i].ns)
			charge(&idle, NONE, CAUSE_AFTER, 0, report->all->window.end_ns - idle.devices.entries[i].ns);
	if (idle.charges.count)
		put_charges(&idle);
	tally_free(&idle.charges);
	tally_free(&idle.devices);
	free(idle.previous);
}
