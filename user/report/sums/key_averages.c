/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Written as torch/autograd/profiler_util.py does, so that readers and tools can compare the tables. */
#include "report/sums/key_averages.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/analyze.h"
#include "report/table/table.h"

#define ROWS_DEFAULT 100u
#define NAME_WIDTH_MAX 55u
#define SOURCE_WIDTH_MAX 75u
#define SHAPES_WIDTH_MAX 80u
#define SHAPES_LEAST 18u
#define SOURCE_LEAST 18u     /* width of its title, and of the text without a source */
#define NAME_BEFORE_DOTS 52u /* characters; a name of this length is cut, too */
#define WIDTH 12u

struct page {
	FILE *out;
	const struct key_averages_options *options;
	const struct model *model;
	const struct key_averages *keys;
	unsigned name_width;
	unsigned shapes_width; /* 0: no such column */
	unsigned flops_power;  /* 1 + unit of the column of FLOPs in powers of 1000; 0: no such column */
	unsigned source_width; /* 0: no such column */
	bool has_gpu, has_memory, has_gpu_memory;
};

static struct number cell_time(double ns)
{
	double us = ns / 1e3;
	struct number cell;

	if (us >= 1e6)
		snprintf(cell.text, sizeof(cell.text), "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(cell.text, sizeof(cell.text), "%.3fms", us / 1e3);
	else
		snprintf(cell.text, sizeof(cell.text), "%.3fus", us);
	return cell;
}

static struct number cell_share(uint64_t part, uint64_t whole)
{
	struct number cell = {"NaN"};

	if (whole)
		snprintf(cell.text, sizeof(cell.text), "%.2f%%", 100.0 * (double)part / (double)whole);
	return cell;
}

/* bytes: in two's complement. */
static struct number cell_memory(uint64_t bytes)
{
	static const char *const units[] = {"KB", "MB", "GB"};
	uint64_t size = (int64_t)bytes < 0 ? -bytes : bytes;
	double scaled = (double)(int64_t)bytes / 1024;
	struct number cell;
	unsigned unit = 0;

	for (; unit < 2 && size >= 1024ull << 10 * (unit + 1); unit++)
		scaled /= 1024;
	if (size < 1024)
		snprintf(cell.text, sizeof(cell.text), "%" PRId64 " B", (int64_t)bytes);
	else
		snprintf(cell.text, sizeof(cell.text), "%.2f %s", scaled, units[unit]);
	return cell;
}

/* The name, or its first characters and dots; the caller frees it. */
static char *cut_name(const char *name)
{
	size_t characters = 0, end = 0, length = strlen(name);

	/* a byte of the form 10xxxxxx continues a character; all others begin one */
	for (size_t i = 0; i < length; i++) {
		if (((unsigned char)name[i] & 0xc0) == 0x80)
			continue;
		if (characters++ == NAME_BEFORE_DOTS)
			end = i;
	}
	if (characters < NAME_BEFORE_DOTS)
		return xstrdup(name);
	return xasprintf("%.*s...", (int)(end ? end : length), name);
}

static struct number cell_flops(const struct page *page, uint64_t flops)
{
	struct number cell = {"--"};
	double scaled = (double)flops;

	for (unsigned i = 1; i < page->flops_power; i++)
		scaled /= 1000;
	if (flops)
		snprintf(cell.text, sizeof(cell.text), "%8.3f", scaled);
	return cell;
}

static char *source_of(const struct model *model, uint32_t index)
{
	const struct model_frame *frame = &model->frames[index];
	const struct model_code *code = &model->codes[frame->code];

	return xasprintf("%s(%" PRIu32 "): %s", code->file, frame->line, code->name);
}

/* The cells of a row but its source. */
static void add_row(const struct page *page, struct table *table, const struct key_row *row)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P"};
	const struct key_averages *keys = page->keys;
	double count = (double)row->count;
	AUTO_FREE char *name = cut_name(row->name), *flops = NULL;
	struct number calls, total = {"0"};

	if (!row->async)
		total = cell_share(row->cpu_ns, keys->cpu_self_ns);
	snprintf(calls.text, sizeof(calls.text), "%" PRIu64, row->count);
	table_begin_row(table);
	table_add_name(table, "Name", NULL, TEXT_TRUNCATE_END, name);
	table_add_shown(table, "Self CPU %", cell_share(row->cpu_self_ns, keys->cpu_self_ns));
	table_add_shown(table, "Self CPU", cell_time((double)row->cpu_self_ns));
	table_add_shown(table, "CPU total %", total);
	table_add_shown(table, "CPU total", cell_time((double)row->cpu_ns));
	table_add_shown(table, "CPU time avg", cell_time((double)row->cpu_ns / count));
	if (page->has_gpu) {
		table_add_shown(table, "Self CUDA", cell_time((double)row->gpu_self_ns));
		table_add_shown(table, "Self CUDA %", cell_share(row->gpu_self_ns, keys->gpu_ns));
		table_add_shown(table, "CUDA total", cell_time((double)row->gpu_ns));
		table_add_shown(table, "CUDA time avg", cell_time((double)row->gpu_ns / count));
	}
	if (page->has_memory) {
		table_add_shown(table, "CPU Mem", cell_memory(row->memory.cpu));
		table_add_shown(table, "Self CPU Mem", cell_memory(row->memory_self.cpu));
	}
	if (page->has_gpu_memory) {
		table_add_shown(table, "CUDA Mem", cell_memory(row->memory.gpu));
		table_add_shown(table, "Self CUDA Mem", cell_memory(row->memory_self.gpu));
	}
	table_add_shown(table, "# of Calls", calls);
	if (page->shapes_width)
		table_add_name(table, "Input Shapes", NULL, TEXT_TRUNCATE_END,
			       row->shapes ? row->shapes : "(not recorded)");
	flops = page->flops_power ? xasprintf("Total %sFLOPs", units[page->flops_power - 1]) : NULL;
	if (flops)
		table_add_shown(table, flops, cell_flops(page, row->flops));
}

/* ---- on the page ------------------------------------------------------------------------------------------------- */

static unsigned width_of(const struct page *page, const struct table *table, unsigned column)
{
	return !column ? page->name_width : table->columns[column].is_name ? page->shapes_width : WIDTH;
}

static unsigned width_before_source(const struct page *page, const struct table *table)
{
	unsigned width = 0;

	for (unsigned i = 0; i < table->count; i++)
		width += width_of(page, table, i) + 2;
	return width;
}

static void put_many(FILE *out, char c, unsigned count)
{
	while (count-- > 0)
		fputc(c, out);
}

static void put_dashes(const struct page *page, const struct table *table)
{
	for (unsigned i = 0; i < table->count; i++) {
		put_many(page->out, '-', width_of(page, table, i));
		fputs("  ", page->out);
	}
	put_many(page->out, '-', page->source_width);
	fputs(page->source_width ? "  \n" : "\n", page->out);
}

/* Aligned to the right; only shapes are truncated. */
static void put_text(const struct page *page, const struct table *table, unsigned column, const char *text)
{
	unsigned width = width_of(page, table, column), taken = text_width(text);

	if (column && table->columns[column].is_name && taken > width)
		taken = width;
	fprintf(page->out, "%*s", (int)(taken < width ? width - taken : 0), "");
	text_put(page->out, text, taken, TEXT_TRUNCATE_END);
	fputs("  ", page->out);
}

/* The last column, left-aligned. */
static void put_source(const struct page *page, const char *text)
{
	unsigned width = text_put(page->out, text, page->source_width, TEXT_TRUNCATE_START);

	fprintf(page->out, "%*s  ", (int)(page->source_width - width), "");
}

static void put_titles(const struct page *page, const struct table *table)
{
	for (unsigned i = 0; i < table->count; i++)
		put_text(page, table, i, table->columns[i].title);
	if (page->source_width)
		put_source(page, "Source Location");
	fputc('\n', page->out);
}

/* Puts all Python lines of a row but the first on lines of their own, followed by an empty one. */
static void put_sources(const struct page *page, const struct key_row *row, unsigned before)
{
	bool of_ops = row->kind == KEY_OP || row->kind == KEY_ANNOTATION;
	uint32_t frames[KEY_STACK_MAX];
	size_t count = key_row_frames(page->keys, row, frames, KEY_STACK_MAX);

	if (!count)
		put_source(page, of_ops ? "(not recorded)" : "");
	for (size_t i = 0; i < count; i++) {
		AUTO_FREE char *source = source_of(page->model, frames[i]);

		if (i)
			fprintf(page->out, "\n%*s", (int)before, "");
		put_source(page, source);
	}
	fprintf(page->out, "\n%*s", (int)before, "");
	put_source(page, "");
}

static void put_row(const struct page *page, struct table *table, const struct key_row *row)
{
	table_drop_rows(table);
	add_row(page, table, row);
	for (unsigned i = 0; i < table->count; i++)
		put_text(page, table, i, table->cells.items[i].text);
	if (page->source_width)
		put_sources(page, row, width_before_source(page, table));
	fputc('\n', page->out);
}

/* ---- widths ------------------------------------------------------------------------------------------------------ */

static unsigned limit_width(unsigned least, unsigned width, unsigned most)
{
	return width < least ? least : width > most ? most : width;
}

/* The unit fits the smallest value of all rows. */
static unsigned find_flops_power(const struct key_averages *keys)
{
	uint64_t least = UINT64_MAX;
	unsigned power = 1;

	for (size_t i = 0; i < keys->rows.count; i++)
		if (keys->rows.items[i].flops && keys->rows.items[i].flops < least)
			least = keys->rows.items[i].flops;
	if (least == UINT64_MAX)
		return 0;
	for (; least >= 1000 && power < 6; least /= 1000)
		power++;
	return power;
}

/* As wide as the widest of all rows, including those that are not shown. */
static void find_widths(struct page *page)
{
	const struct key_averages *keys = page->keys;
	unsigned source = 0, shapes = 0;

	for (size_t i = 0; i < keys->rows.count; i++) {
		uint32_t frames[KEY_STACK_MAX];
		size_t count = key_row_frames(keys, &keys->rows.items[i], frames, KEY_STACK_MAX);
		unsigned width = text_width(keys->rows.items[i].name) + 4;

		page->name_width = width > page->name_width ? width : page->name_width;
		if (keys->rows.items[i].shapes) {
			width = text_width(keys->rows.items[i].shapes) + 4;
			shapes = width > shapes ? width : shapes;
		}
		for (size_t k = 0; k < count; k++) {
			AUTO_FREE char *text = source_of(page->model, frames[k]);

			width = text_width(text) + 4;
			source = width > source ? width : source;
		}
	}
	page->name_width = limit_width(0, page->name_width, NAME_WIDTH_MAX);
	if (page->options->by_shape)
		page->shapes_width = limit_width(SHAPES_LEAST, shapes, SHAPES_WIDTH_MAX);
	page->flops_power = find_flops_power(keys);
	if (page->options->stack_frames)
		page->source_width = limit_width(SOURCE_LEAST, source, SOURCE_WIDTH_MAX);
}

static void put_table(struct page *page)
{
	const struct key_averages *keys = page->keys;
	uint64_t shown = 0, rows = page->options->rows ? page->options->rows : ROWS_DEFAULT;
	struct table table = {0};

	find_widths(page);
	add_row(page, &table, &(struct key_row){.name = (char[]){""}, .count = 1}); /* makes the columns */
	if (page->options->top_level) {
		put_many(page->out, '=',
			 width_before_source(page, &table) - 2 + (page->source_width ? page->source_width + 2 : 0));
		fputs("\nThis report only display top-level ops statistics\n", page->out);
	}
	put_dashes(page, &table);
	put_titles(page, &table);
	put_dashes(page, &table);
	for (size_t i = 0; i < keys->rows.count && shown < rows; i++) {
		if (page->options->top_level && keys->rows.items[i].inside)
			continue;
		put_row(page, &table, &keys->rows.items[i]);
		shown++;
	}
	put_dashes(page, &table);
	table_free(&table);
	fprintf(page->out, "Self CPU time total: %s\n", cell_time((double)keys->cpu_self_ns).text);
	if (page->has_gpu)
		fprintf(page->out, "Self CUDA time total: %s\n", cell_time((double)keys->gpu_ns).text);
}

int report_write_key_averages(FILE *out, struct trace *trace, const struct key_averages_options *options)
{
	struct analyses all;
	struct page page = {.out = out, .options = options, .keys = &all.keys};
	struct analyze_options grouping = {
		.keys = {.by_shape = options->by_shape, .stack_frames = options->stack_frames}};
	int error = analyze_with(&all, trace, ANALYSES(ANALYZE_KEY_AVERAGES), &grouping);

	if (!error) {
		page.model = all.model;
		page.has_gpu = all.keys.gpu_ns > 0;
		page.has_memory = all.keys.has_memory;
		/* as in PyTorch: if some op kept GPU memory */
		page.has_gpu_memory = array_find(&all.keys.rows, row, (int64_t)row->memory_self.gpu > 0);
		if (options->sort)
			key_rows_sort(&all.keys, options->sort);
		else
			key_rows_sort_as_usual(&all.keys);
		text_begin();
		put_table(&page);
		text_end();
		errno = 0;
		if (fflush(out) || ferror(out))
			error = errno ? -errno : -EIO;
	}
	analyses_free(&all);
	return error;
}
