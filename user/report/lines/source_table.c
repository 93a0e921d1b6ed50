/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/lines/source_table.h"

#include <stdlib.h>
#include <string.h>

/* Replaces leading blanks by visible ones. */
static void add_text(struct table *table, const char *text)
{
	size_t blanks = strspn(text, " ");
	AUTO_FREE char *shown = text_indent(blanks, text + blanks);

	table_add_named(table, "source", "source", TEXT_TRUNCATE_END, shown, text);
}

static void add_costs(struct table *table, const struct line_costs *costs, const struct line_cost_row *row)
{
	const struct line_cost *under = &row->under, *own = &row->own;

	table->unit = (struct time_unit){"ms", 1e6};
	table_add_ns(table, "GPU %s", "gpu_ns", under->gpu_ns);
	table_add_percent(table, "%", "percent", (double)under->gpu_ns, (double)costs->gpu_ns);
	table_add_ns(table, "self GPU %s", "self_gpu_ns", own->gpu_ns);
	table_add_count(table, "calls", "launches", under->launches);
	table_add_data(table, "self_launches", UNIT_COUNT, own->launches);
	table_add_data(table, "copies", UNIT_COUNT, under->copies);
	table_add_ns(table, "copies %s", "copies_ns", under->copy_ns);
	table_add_ns(table, "waits %s", "waits_ns", under->wait_ns);
	table_add_ns(table, "idle %s", "idle_ns", under->idle_ns);
	table_add_ns(table, "in calls %s", "cpu_ns", under->cpu_ns);
	if (!costs->has_samples)
		return;
	table_add_ns(table, "CPU %s", "sampled_ns", under->sampled_ns);
	table_add_ns(table, "self CPU %s", "self_sampled_ns", own->sampled_ns);
}

static void add_memory(struct table *table, const struct line_costs *costs, const struct line_cost *under)
{
	const struct line_memory *gpu = &under->gpu_memory, *cpu = &under->cpu_memory;

	table_add_memory(table, "GPU at peak", "gpu_at_peak_bytes", gpu->at_peak);
	table_add_memory(table, "GPU not freed", "gpu_not_freed_bytes", gpu->held);
	table_add_growth(table, "GPU per step", "gpu_growth_per_step_bytes", gpu->growth);
	table_unset_unless(table, costs->has_growth, "-");
	table_add_memory(table, "CPU at peak", "cpu_at_peak_bytes", cpu->at_peak);
	table_add_memory(table, "CPU not freed", "cpu_not_freed_bytes", cpu->held);
	table_add_growth(table, "CPU per step", "cpu_growth_per_step_bytes", cpu->growth);
	table_unset_unless(table, costs->has_growth, "-");
}

void source_table_add(struct table *table, const struct line_costs *costs, const struct source_table_place *place,
		      const struct line_cost_row *row)
{
	table_begin_row(table);
	table_add_id(table, "line", "line_number", place->number);
	table_unset_unless(table, place->number, "-");
	add_costs(table, costs, row);
	add_text(table, place->text ? place->text : "");
	table_unset_unless(table, place->text, "");
	table_add_name(table, "function", "function", TEXT_TRUNCATE_MIDDLE, place->code->name);
	table_add_word(table, "file", place->code->file);
	table_add_id(table, NULL, "function_line_number", place->code->first_line);
	if (costs->has_memory)
		add_memory(table, costs, &row->under);
}

void source_table_add_rest(struct table *table, const struct line_costs *costs, const char *what, uint64_t sampled_ns)
{
	const struct line_cost cost = {.sampled_ns = sampled_ns};
	size_t first = table->cells.count;

	source_table_add(table, costs, &(struct source_table_place){.code = &(struct model_code){.name = what}},
			 &(struct line_cost_row){.under = cost, .own = cost});
	for (unsigned i = 0; i < table->count; i++) {
		const char *key = table->columns[i].key;

		if (strcmp(key, "sampled_ns") != 0 && strcmp(key, "self_sampled_ns") != 0 &&
		    strcmp(key, "function") != 0)
			table_unset_cell(table, first + i, "");
	}
}
