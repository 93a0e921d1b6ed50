/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which lines wait for the GPU, how long, and for what of it. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

/* Keys: line, kind, what (stream; for events the line of the call that recorded it, NONE). */
static void sum_waits(struct report *report, struct tally *waits, uint64_t *sum)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->sync_count; i++) {
		const struct model_sync *sync = &model->syncs[i];
		struct tally_entry *entry;
		uint32_t what = sync->stream;

		/* that one lets a stream wait, and returns at once */
		if (sync->kind == GPT_AGENT_SYNC_STREAM_WAITS_EVENT)
			continue;
		if (sync->recorded_by != NONE)
			what = line_of_call(&report->lines, &model->calls[sync->recorded_by]);
		entry = tally_at(waits,
				 (struct tally_key){{line_of_index(&report->lines, sync->call), sync->kind, what}});
		entry->ns += sync->end_ns - sync->start_ns;
		entry->count++;
		*sum += sync->end_ns - sync->start_ns;
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
	default:
		break;
	}
	if (key->part[2] == NONE)
		return xstrdup("an event");
	place = line_place(&report->lines, key->part[2]);
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
		{"for", true, TEXT_CUT_MIDDLE},
		{"line", true, TEXT_CUT_MIDDLE},
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
		line = line_label(&report->lines, sorted[i].key.part[0]);
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
	struct tally waits = {0};
	uint64_t sum = 0;

	sum_waits(report, &waits, &sum);
	if (waits.count)
		put_waits(report, &waits, sum);
	tally_free(&waits);
}
