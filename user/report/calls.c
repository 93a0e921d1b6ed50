/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUDA calls as the CPU sees them: time spent in each kind, and those that failed. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/parts.h"

struct call_sums {
	struct tally apis;  /* api; ns in calls whose return was seen; more: of those */
	struct tally pairs; /* api, line */
	uint64_t ns, returns;
};

static void sum_calls(struct report *report, struct call_sums *sums)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		bool timed = call->end_ns >= call->start_ns && call->end_ns;
		uint64_t ns = timed ? call->end_ns - call->start_ns : 0;
		struct tally_entry *api = tally_at(&sums->apis, (struct tally_key){{call->api}});
		struct tally_entry *pair =
			tally_at(&sums->pairs, (struct tally_key){{call->api, line_of_call(report, call)}});

		api->ns += ns;
		api->count++;
		api->more += timed;
		pair->ns += ns;
		pair->count++;
		sums->ns += ns;
		sums->returns += timed;
	}
}

/* The line where most of an API's time (or, without times, most of its calls) is. */
static char *main_line(struct report *report, const struct tally *pairs, uint32_t api)
{
	const struct tally_entry *best = NULL;

	for (size_t i = 0; i < pairs->count; i++) {
		const struct tally_entry *pair = &pairs->entries[i];

		if (pair->key.part[0] == api &&
		    (!best || pair->ns > best->ns || (pair->ns == best->ns && pair->count > best->count)))
			best = pair;
	}
	return best ? line_label(&report->all->lines, best->key.part[1]) : xstrdup("");
}

static void put_calls(struct report *report, const struct call_sums *sums)
{
	struct tally_entry *sorted = tally_sorted(&sums->apis, !sums->returns);
	size_t count = sums->apis.count, shown = count < report->rows ? count : report->rows;
	struct time_unit unit = time_unit_for(sums->ns);
	const struct column timed[] = {
		{unit.name, false, 0},
		{"%", false, 0},
		{"calls", false, 0},
		{"avg us", false, 0},
		{"call", true, TEXT_TRUNCATE_MIDDLE},
		{"mostly at", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	const struct column counted[] = {
		{"calls", false, 0},
		{"call", true, TEXT_TRUNCATE_MIDDLE},
		{"mostly at", true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;

	report_title(report, "CPU in CUDA calls",
		     sums->returns ? "% of the time in CUDA calls" : "returns were not seen: calls only");
	table_begin(&table, sums->returns ? timed : counted);
	for (size_t i = 0; i < shown; i++) {
		const struct tally_entry *entry = &sorted[i];
		char *label = main_line(report, &sums->pairs, entry->key.part[0]);

		if (sums->returns) {
			table_add_number(&table, number_in(entry->ns, unit));
			table_add_number(&table, number_percent((double)entry->ns, (double)sums->ns));
		}
		table_add_number(&table, number_count(entry->count));
		if (sums->returns)
			table_add_number(
				&table,
				number_tenths(entry->more ? (double)entry->ns / 1e3 / (double)entry->more : -1));
		table_add(&table, api_name((uint16_t)entry->key.part[0]));
		table_add(&table, label);
		free(label);
	}
	table_end(&table, report->out, report->width, report->color);
	if (count > shown)
		report_line(report, "  ... and %zu more kinds of calls", count - shown);
	free(sorted);
}

void report_calls(struct report *report)
{
	struct call_sums sums = {0};

	sum_calls(report, &sums);
	if (sums.apis.count)
		put_calls(report, &sums);
	tally_free(&sums.apis);
	tally_free(&sums.pairs);
}

/* cudaError_t and CUresult agree on these since CUDA 10.1 (driver_types.h). */
static const char *error_meaning(int32_t result)
{
	static const struct {
		int32_t result;
		const char *meaning;
	} errors[] = {
		{1, "invalid value"},
		{2, "out of memory"},
		{3, "not initialised"},
		{9, "invalid launch configuration"},
		{35, "driver too old for this CUDA runtime"},
		{98, "invalid device function"},
		{100, "no CUDA device"},
		{101, "invalid device"},
		{209, "no kernel image for this GPU"},
		{400, "invalid resource handle"},
		{700, "illegal memory access"},
		{701, "launch out of resources"},
		{719, "launch failure"},
		{999, "unknown error"},
	};

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].result == result)
			return errors[i].meaning;
	return NULL;
}

static void put_failures(struct report *report, const struct tally *failures, uint64_t launches, uint64_t calls)
{
	struct tally_entry *sorted = tally_sorted(failures, true);
	size_t shown = failures->count < report->rows ? failures->count : report->rows;

	fprintf(report->out, "\n%s", report->color ? "\033[31m" : "");
	report_line(report, "Failed: %s launches, %s other CUDA calls", number_count(launches).text,
		    number_count(calls - launches).text);
	fputs(report->color ? "\033[0m" : "", report->out);
	for (size_t i = 0; i < shown; i++) {
		int32_t result = (int32_t)sorted[i].key.part[0];
		const char *meaning = error_meaning(result);
		char *label = line_label(&report->all->lines, sorted[i].key.part[2]);

		report_line(report, "  %s x %s returned %" PRId32 "%s%s%s at %s", number_count(sorted[i].count).text,
			    api_name((uint16_t)sorted[i].key.part[1]), result, meaning ? " (" : "",
			    meaning ? meaning : "", meaning ? ")" : "", label);
		free(label);
	}
	if (failures->count > shown)
		report_line(report, "  ... and %zu more kinds of failures", failures->count - shown);
	free(sorted);
}

void report_failed(struct report *report)
{
	const struct model *model = report->model;
	struct tally failures = {0}; /* result, api, line */
	uint64_t launches = 0, calls = 0;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (!call_failed(call))
			continue;
		calls++;
		launches += call->class == GPT_CLASS_LAUNCH || call->class == GPT_CLASS_GRAPH;
		tally_at(&failures, (struct tally_key){{(uint32_t)call->result, call->api, line_of_call(report, call)}})
			->count++;
	}
	if (calls)
		put_failures(report, &failures, launches, calls);
	tally_free(&failures);
}
