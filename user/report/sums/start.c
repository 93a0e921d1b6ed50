/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the recording began: all processes at one instant, after everything was set up. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "report/page/parts.h"
#include "report/page/row_table.h"

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

static void add_start(struct report *report, struct table *table, const void *item)
{
	const struct model_began *began = item;
	int64_t wall_ns = (int64_t)began->start_ns + model_source(report->model)->wall_offset_ns;
	bool is_known = began->wall_error_ns != UINT64_MAX && !began->is_unsynced;

	table_add_count(table, "processes", "processes", began->processes);
	table_add_count(table, "agents not ready", "agents_not_ready", began->unready);
	table_add_count(table, "came later", "processes_later", count_later(report->model));
	table_add_time(table, "set-up before", "set_up_ns", began->set_up_ns);
	table_add_count(table, "calls before", "calls_before", began->calls_before);
	table_add_time(table, "wall clock", "start_wall_ns", (uint64_t)wall_ns);
	table_add_time(table, "asked for", "asked_wall_ns", (uint64_t)began->asked_wall_ns);
	table_add_time(table, "late", "late_ns", began->late_ns);
	table_unset_last(table, 2, began->asked_wall_ns, "-");
	table_add_time(table, "wall clock good to", "wall_error_ns", began->wall_error_ns);
	table_unset_unless(table, is_known, "-");
}

static const struct row_table table = {.id = "start", .title = "How the recording began", .add_row = add_start};

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
	AUTO_FREE char *text = NULL, *asked = NULL;

	if (!began->set_up_ns || model_is_foreign(model))
		return;
	if (report->writer) {
		report_rows(report, &table, &(struct row_list){ROWS(began, 1)});
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
}
