/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the recording began: all processes at one instant, after everything was set up. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "report/page/parts.h"

/* Processes that came after the start, and did something. */
static uint32_t count_later(const struct model *model)
{
	const uint64_t start_ns = model_source(model)->began.start_ns;
	uint32_t later = 0;

	for (uint32_t i = 0; i < model->process_count; i++)
		later += model->processes[i].start_ns >= start_ns &&
			 (model->processes[i].calls || model->processes[i].gpu_ops);
	return later;
}

static void put_table(struct report *report, const struct model_began *began)
{
	static const struct column columns[] = {
		COLUMN_NUMBER("processes", "processes", UNIT_COUNT),
		COLUMN_NUMBER("agents not ready", "agents_not_ready", UNIT_COUNT),
		COLUMN_NUMBER("came later", "processes_later", UNIT_COUNT),
		COLUMN_NUMBER("set-up before", "set_up_ns", UNIT_NS),
		COLUMN_NUMBER("calls before", "calls_before", UNIT_COUNT),
		COLUMN_NUMBER("wall clock", "start_wall_ns", UNIT_NS),
		COLUMN_NUMBER("asked for", "asked_wall_ns", UNIT_NS),
		COLUMN_NUMBER("late", "late_ns", UNIT_NS),
		COLUMN_NUMBER("wall clock good to", "wall_error_ns", UNIT_NS),
		COLUMN_END,
	};
	const struct model *model = report->model;
	int64_t wall_ns = (int64_t)began->start_ns + model_source(model)->wall_offset_ns;
	bool is_known = began->wall_error_ns != UINT64_MAX && !began->is_unsynced;
	struct table table;

	report_title(report, "start", "How the recording began", NULL);
	table_begin(&table, columns);
	table_add_count(&table, began->processes);
	table_add_count(&table, began->unready);
	table_add_count(&table, count_later(model));
	table_add_time(&table, began->set_up_ns);
	table_add_count(&table, began->calls_before);
	table_add_time(&table, (uint64_t)wall_ns);
	if (began->asked_wall_ns) {
		table_add_time(&table, (uint64_t)began->asked_wall_ns);
		table_add_time(&table, began->late_ns);
	} else {
		table_add_unknowns(&table, 2, "-");
	}
	table_add_time(&table, began->wall_error_ns);
	table_unset_unless(&table, is_known, "-");
	report_table(report, &table);
}

/* ", 14:30:00.000 as asked (UTC)"; the caller frees it. */
static char *asked_text(const struct model_began *began)
{
	time_t seconds = (time_t)(began->asked_wall_ns / 1000000000);
	char clock[16] = "";
	struct tm utc;

	if (!began->asked_wall_ns)
		return xstrdup("");
	if (gmtime_r(&seconds, &utc))
		strftime(clock, sizeof(clock), "%H:%M:%S", &utc);
	return xasprintf(", %s.%03d UTC as asked%s%s", clock, (int)(began->asked_wall_ns / 1000000 % 1000),
			 began->late_ns ? ", late by " : "", began->late_ns ? number_time(began->late_ns).text : "");
}

void report_start(struct report *report)
{
	const struct model *model = report->model;
	const struct model_began *began = &model_source(model)->began;
	uint32_t later = count_later(model);
	char *text, *asked;

	if (!began->set_up_ns || model_is_foreign(model))
		return;
	if (report->writer) {
		put_table(report, began);
		return;
	}
	if (model->slice || (began->with_command && !began->asked_wall_ns))
		return; /* nothing of the program came before */
	asked = asked_text(began);
	text = xasprintf("%s process%s from one moment%s; setting up took %s before it and is not in the trace.",
			 number_count(began->processes).text, began->processes == 1 ? "" : "es", asked,
			 number_time(began->set_up_ns).text);
	if (began->unready)
		text = xjoin(text, " ",
			     xasprintf("In %" PRIu32 " of them the agent was not ready by then.", began->unready));
	if (later)
		text = xjoin(text, " ",
			     xasprintf("%" PRIu32 " that came later begin%s where %s came.", later,
				       later == 1 ? "s" : "", later == 1 ? "it" : "they"));
	report_text(report, 2, "%s", text);
	free(text);
	free(asked);
}
