/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/lines/source_table.h"

#include <stdlib.h>
#include <string.h>

#define NO_BREAK_SPACE "\u00a0"

#define COST_COLUMNS                                                                                                   \
	COLUMN_NUMBER("line", "line_number", UNIT_ID), COLUMN_NUMBER("GPU ms", "gpu_ns", UNIT_NS),                     \
		COLUMN_NUMBER("%", "percent", UNIT_PERCENT), COLUMN_NUMBER("self GPU ms", "self_gpu_ns", UNIT_NS),     \
		COLUMN_NUMBER("calls", "launches", UNIT_COUNT), COLUMN_DATA("self_launches", UNIT_COUNT),              \
		COLUMN_DATA("copies", UNIT_COUNT), COLUMN_NUMBER("copies ms", "copies_ns", UNIT_NS),                   \
		COLUMN_NUMBER("waits ms", "waits_ns", UNIT_NS), COLUMN_NUMBER("idle ms", "idle_ns", UNIT_NS),          \
		COLUMN_NUMBER("in calls ms", "cpu_ns", UNIT_NS)

#define SAMPLE_COLUMNS                                                                                                 \
	COLUMN_NUMBER("CPU ms", "sampled_ns", UNIT_NS), COLUMN_NUMBER("self CPU ms", "self_sampled_ns", UNIT_NS)

#define PLACE_COLUMNS                                                                                                  \
	COLUMN_NAME("source", "source", TEXT_TRUNCATE_END), COLUMN_NAME("function", "function", TEXT_TRUNCATE_MIDDLE), \
		COLUMN_DATA("file", UNIT_TEXT), COLUMN_DATA("function_line_number", UNIT_ID)

#define MEMORY_COLUMNS                                                                                                 \
	COLUMN_NUMBER("GPU at peak", "gpu_at_peak_bytes", UNIT_BYTES),                                                 \
		COLUMN_NUMBER("GPU not freed", "gpu_not_freed_bytes", UNIT_BYTES),                                     \
		COLUMN_NUMBER("GPU per step", "gpu_growth_per_step_bytes", UNIT_BYTES_AVG),                            \
		COLUMN_NUMBER("CPU at peak", "cpu_at_peak_bytes", UNIT_BYTES),                                         \
		COLUMN_NUMBER("CPU not freed", "cpu_not_freed_bytes", UNIT_BYTES),                                     \
		COLUMN_NUMBER("CPU per step", "cpu_growth_per_step_bytes", UNIT_BYTES_AVG)

void source_table_begin(struct table *table, const struct line_costs *costs)
{
	static const struct column plain[] = {COST_COLUMNS, PLACE_COLUMNS, COLUMN_END};
	static const struct column sampled[] = {COST_COLUMNS, SAMPLE_COLUMNS, PLACE_COLUMNS, COLUMN_END};
	static const struct column with_memory[] = {COST_COLUMNS, PLACE_COLUMNS, MEMORY_COLUMNS, COLUMN_END};
	static const struct column sampled_with_memory[] = {COST_COLUMNS, SAMPLE_COLUMNS, PLACE_COLUMNS, MEMORY_COLUMNS,
							    COLUMN_END};

	if (costs->has_memory)
		table_begin(table, costs->has_samples ? sampled_with_memory : with_memory);
	else
		table_begin(table, costs->has_samples ? sampled : plain);
}

/* Replaces leading blanks by visible ones. */
static void add_text(struct table *table, const char *text)
{
	size_t blanks = strspn(text, " ");
	char *shown = xstrdup(text + blanks);

	while (blanks--) {
		char *longer = xasprintf(NO_BREAK_SPACE "%s", shown);

		free(shown);
		shown = longer;
	}
	table_add_named(table, shown, text);
	free(shown);
}

static void add_memory(struct table *table, const struct line_memory *memory, bool has_growth)
{
	table_add_memory(table, memory->at_peak);
	table_add_memory(table, memory->held);
	table_add_growth(table, memory->growth);
	table_unset_unless(table, has_growth, "-");
}

static const struct time_unit ms = {"ms", 1e6};

static void add_costs(struct table *table, const struct line_costs *costs, const struct line_cost_row *row)
{
	const struct line_cost *under = &row->under;

	table_add_ns(table, under->gpu_ns, ms);
	table_add_percent(table, (double)under->gpu_ns, (double)costs->gpu_ns);
	table_add_ns(table, row->own.gpu_ns, ms);
	table_add_count(table, under->launches);
	table_add_count(table, row->own.launches);
	table_add_count(table, under->copies);
	table_add_ns(table, under->copy_ns, ms);
	table_add_ns(table, under->wait_ns, ms);
	table_add_ns(table, under->idle_ns, ms);
	table_add_ns(table, under->cpu_ns, ms);
	if (!costs->has_samples)
		return;
	table_add_ns(table, under->sampled_ns, ms);
	table_add_ns(table, row->own.sampled_ns, ms);
}

void source_table_add(struct table *table, const struct line_costs *costs, const struct source_table_place *place,
		      const struct line_cost_row *row)
{
	table_add_id(table, place->number);
	table_unset_unless(table, place->number, "-");
	add_costs(table, costs, row);
	if (place->text)
		add_text(table, place->text);
	else
		table_add_unknown(table, "");
	table_add(table, place->code->name);
	table_add(table, place->code->file);
	table_add_id(table, place->code->first_line);
	if (!costs->has_memory)
		return;
	add_memory(table, &row->under.gpu_memory, costs->has_growth);
	add_memory(table, &row->under.cpu_memory, costs->has_growth);
}

void source_table_add_rest(struct table *table, const char *what, uint64_t sampled_ns)
{
	for (unsigned i = 0; i < table->count; i++) {
		const char *key = table->columns[i].key;

		if (!strcmp(key, "sampled_ns") || !strcmp(key, "self_sampled_ns"))
			table_add_ns(table, sampled_ns, ms);
		else if (!strcmp(key, "function"))
			table_add(table, what);
		else
			table_add_unknown(table, "");
	}
}
