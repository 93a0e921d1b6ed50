/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of ops (key_averages.c), for programs and for pasting. */
#include "report/sums/key_averages.h"

#include <inttypes.h>
#include <stdlib.h>

#include "report/page/page.h"

static const char *kind_name(enum key_kind kind)
{
	static const char *const names[] = {
		[KEY_OP] = "op",   [KEY_ANNOTATION] = "annotation", [KEY_CALL] = "call",
		[KEY_GPU] = "gpu", [KEY_MEMORY] = "memory",	    [KEY_ON_GPU] = "annotation_on_gpu",
	};

	return names[kind];
}

static void add_average(struct table *table, const char *title, const char *key, uint64_t ns, uint64_t count)
{
	table_add_value(table, title, key, UNIT_NS_AVG, number_time(ns / count), (double)ns / (double)count);
}

/* Adds the lines of a row, innermost first: "train.py(42): step;main.py(3): main". */
static void add_stack(struct report *report, struct table *table, const struct key_row *row)
{
	const struct model *model = report->model;
	uint32_t frames[KEY_STACK_MAX];
	size_t count = key_row_frames(&report->all->keys, row, frames, KEY_STACK_MAX);
	AUTO_FREE char *text = count ? xstrdup("") : NULL;

	for (size_t i = 0; i < count; i++) {
		const struct model_frame *frame = &model->frames[frames[i]];
		const struct model_code *code = &model->codes[frame->code];

		text = xjoin(text, ";", xasprintf("%s(%" PRIu32 "): %s", code->file, frame->line, code->name));
	}
	table_add_word(table, "stack", text);
}

static void add_memory(struct table *table, const char *key, bool is_known, uint64_t bytes)
{
	table_add_signed(table, NULL, key, UNIT_BYTES, (int64_t)bytes);
	table_unset_unless(table, is_known, "");
}

static void add_row(struct report *report, struct table *table, const struct key_row *row)
{
	const struct key_averages *keys = &report->all->keys;

	table_add_name(table, "Name", "name", TEXT_TRUNCATE_END, row->name);
	table_add_word(table, "kind", kind_name(row->kind));
	table_add_percent(table, "Self CPU %", "self_cpu_percent", (double)row->cpu_self_ns, (double)keys->cpu_self_ns);
	table_add_time(table, "Self CPU", "self_cpu_ns", row->cpu_self_ns);
	table_add_time(table, "CPU total", "cpu_ns", row->cpu_ns);
	add_average(table, "CPU time avg", "cpu_avg_ns", row->cpu_ns, row->count);
	table_add_time(table, "Self CUDA", "self_gpu_ns", row->gpu_self_ns);
	table_add_percent(table, "Self CUDA %", "self_gpu_percent", (double)row->gpu_self_ns, (double)keys->gpu_ns);
	table_add_time(table, "CUDA total", "gpu_ns", row->gpu_ns);
	add_average(table, "CUDA time avg", "gpu_avg_ns", row->gpu_ns, row->count);
	table_add_count(table, "# of Calls", "calls", row->count);
	table_add_word(table, "shapes", row->shapes);
	table_add_data(table, "flops", UNIT_COUNT, row->flops);
	table_unset_unless(table, row->flops, "");
	add_stack(report, table, row);
	add_memory(table, "cpu_memory_bytes", keys->has_memory, row->memory.cpu);
	add_memory(table, "self_cpu_memory_bytes", keys->has_memory, row->memory_self.cpu);
	add_memory(table, "gpu_memory_bytes", keys->has_memory, row->memory.gpu);
	add_memory(table, "self_gpu_memory_bytes", keys->has_memory, row->memory_self.gpu);
}

static void put_rows(struct report *report, const struct key_averages_options *options)
{
	const struct key_averages *keys = &report->all->keys;
	uint64_t shown = 0, rows = options->rows && options->rows < report->rows ? options->rows : report->rows;
	struct table table = {0};

	report_title(report, "key_averages", "Ops, CUDA calls and GPU work", "as key_averages() of torch.profiler");
	for (size_t i = 0; i < keys->rows.count && shown < rows; i++) {
		if (options->top_level && keys->rows.items[i].inside)
			continue;
		table_begin_row(&table);
		add_row(report, &table, &keys->rows.items[i]);
		shown++;
	}
	if (!shown) {
		add_row(report, &table, &(struct key_row){.count = 1});
		table_drop_rows(&table);
	}
	report_table(report, &table);
}

int report_write_key_tables(FILE *out, struct trace *trace, const struct key_averages_options *options,
			    const struct report_options *page)
{
	const struct analyze_options grouping = {
		.keys = {.by_shape = options->by_shape, .stack_frames = options->stack_frames}};
	struct analyses all;
	struct report report;
	int error = analyze_with(&all, trace, ANALYSES(ANALYZE_KEY_AVERAGES), &grouping);

	report_page(&report, out, &all, page);
	if (!error) {
		if (options->sort)
			key_rows_sort(&all.keys, options->sort);
		else
			key_rows_sort_as_usual(&all.keys);
		report_begin_list(&report, "key_averages");
		put_rows(&report, options);
		error = report_end(&report);
	}
	analyses_free(&all);
	return error;
}
