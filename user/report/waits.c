/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which lines wait for the GPU, how long, and for what of it: CUPTI's word where it was asked for (--trace sync), else
 * the time in calls that wait.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

/* In the place of an enum gpt_agent_sync_kind: all that is known is the call. */
#define KIND_CALL UINT32_MAX

struct waits {
	struct tally by_line; /* line, kind, what: stream, line of the call that recorded the event, api; or NONE */
	uint64_t sum;
	uint8_t *told; /* a call whose wait CUPTI told */
};

static void add(struct waits *waits, uint32_t line, uint32_t kind, uint32_t what, uint64_t ns)
{
	struct tally_entry *entry = tally_at(&waits->by_line, (struct tally_key){{line, kind, what}});

	entry->ns += ns;
	entry->count++;
	waits->sum += ns;
}

static void add_told(struct report *report, struct waits *waits)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->sync_count; i++) {
		const struct model_sync *sync = &model->syncs[i];
		uint32_t what = sync->stream;

		if (sync->call != NONE)
			waits->told[sync->call] = 1;
		/* that one lets a stream wait, and returns at once */
		if (sync->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT)
			continue;
		if (sync->recorded_by != NONE)
			what = line_of_call(report, &model->calls[sync->recorded_by]);
		add(waits, line_of_index(report, sync->call), sync->kind, what, sync->end_ns - sync->start_ns);
	}
}

static void add_calls(struct report *report, struct waits *waits)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (call->end_ns && !waits->told[i] && call_waits(call))
			add(waits, line_of_call(report, call), KIND_CALL, call->api, call->end_ns - call->start_ns);
	}
}

static char *waited_for(struct report *report, const struct tally_key *key)
{
	char *place, *text;

	switch (key->part[1]) {
	case GPT_AGENT_SYNC_STREAM:
		return xasprintf("stream %" PRIu32, key->part[2]);
	case GPT_AGENT_SYNC_CONTEXT:
		return xstrdup("all streams");
	case KIND_CALL:
		return xstrdup(api_name((uint16_t)key->part[2]));
	default:
		break;
	}
	if (key->part[2] == NONE)
		return xstrdup("an event");
	place = line_place(&report->all->lines, key->part[2]);
	text = xasprintf("event of %s", place);
	free(place);
	return text;
}

static void put_waits(struct report *report, const struct tally *waits, uint64_t sum)
{
	struct tally_entry *sorted = tally_sorted(waits, false);
	struct time_unit unit = time_unit_for(sum);
	const struct column columns[] = {
		{unit.name, false, 0},
		{"%", false, 0},
		{"waits", false, 0},
		{"avg us", false, 0},
		{"wait", true, TEXT_TRUNCATE_MIDDLE},
		{"line", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	size_t shown = waits->count < report->rows ? waits->count : report->rows;
	struct table table;
	uint64_t rest = 0;

	report_title(report, "CPU waiting for the GPU by Python line", "% of the time of all waits");
	table_begin(&table, columns);
	for (size_t i = 0; i < waits->count; i++) {
		char *what, *line;

		if (i >= shown) {
			rest += sorted[i].ns;
			continue;
		}
		what = waited_for(report, &sorted[i].key);
		line = line_label(&report->all->lines, sorted[i].key.part[0]);
		table_add_number(&table, number_in(sorted[i].ns, unit));
		table_add_number(&table, number_percent((double)sorted[i].ns, (double)sum));
		table_add_number(&table, number_count(sorted[i].count));
		table_add_number(&table, number_tenths((double)sorted[i].ns / 1e3 / (double)sorted[i].count));
		table_add(&table, what);
		table_add(&table, line);
		free(what);
		free(line);
	}
	table_end(&table, report->out, report->width, report->color);
	report_more(report, waits->count - shown, "kinds of waits", number_in(rest, unit), unit.name);
	free(sorted);
}

void report_waits(struct report *report)
{
	struct waits waits = {.told = xcalloc(report->model->call_count, 1)};

	add_told(report, &waits);
	add_calls(report, &waits);
	if (waits.by_line.count)
		put_waits(report, &waits.by_line, waits.sum);
	tally_free(&waits.by_line);
	free(waits.told);
}
