/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Written as torch/autograd/profiler_util.py does, so that readers and tools can compare the tables. */
#include "report/sums/key_averages.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/analyze.h"
#include "report/table/text.h"

#define ROWS_DEFAULT 100u
#define NAME_WIDTH_MAX 55u
#define SOURCE_WIDTH_MAX 75u
#define SHAPES_WIDTH_MAX 80u
#define SHAPES_LEAST 18u
#define SOURCE_LEAST 18u     /* width of its title, and of the text without a source */
#define NAME_BEFORE_DOTS 52u /* characters; a name of this length is cut, too */
#define WIDTH 12u

enum {
	CPU_COLUMNS = 5,
	GPU_COLUMNS = 4,
	COLUMNS = 1 + CPU_COLUMNS + GPU_COLUMNS + 1,
	MEMORY_COLUMNS = 2, /* of the CPU; GPUs have as many */
};

struct page {
	FILE *out;
	const struct key_averages_options *options;
	const struct model *model;
	const struct key_averages *keys;
	unsigned name_width;
	unsigned shapes_width; /* 0: no such column */
	unsigned flops_power;  /* 1 + unit of the column of FLOPs in powers of 1000; 0: no such column */
	unsigned source_width; /* 0: no such column */
	bool has_gpu;
	unsigned memory_columns;
};

struct figure {
	char text[32];
};

static struct figure cell_time(double ns)
{
	double us = ns / 1e3;
	struct figure cell;

	if (us >= 1e6)
		snprintf(cell.text, sizeof(cell.text), "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(cell.text, sizeof(cell.text), "%.3fms", us / 1e3);
	else
		snprintf(cell.text, sizeof(cell.text), "%.3fus", us);
	return cell;
}

static struct figure cell_share(uint64_t part, uint64_t whole)
{
	struct figure cell = {"NaN"};

	if (whole)
		snprintf(cell.text, sizeof(cell.text), "%.2f%%", 100.0 * (double)part / (double)whole);
	return cell;
}

/* bytes: in two's complement. */
static struct figure cell_memory(uint64_t bytes)
{
	static const char *const units[] = {"KB", "MB", "GB"};
	uint64_t size = (int64_t)bytes < 0 ? -bytes : bytes;
	double scaled = (double)(int64_t)bytes / 1024;
	struct figure cell;
	unsigned unit = 0;

	for (; unit < 2 && size >= 1024ull << 10 * (unit + 1); unit++)
		scaled /= 1024;
	if (size < 1024)
		snprintf(cell.text, sizeof(cell.text), "%" PRId64 " B", (int64_t)bytes);
	else
		snprintf(cell.text, sizeof(cell.text), "%.2f %s", scaled, units[unit]);
	return cell;
}

static void put_right(FILE *out, const char *text, unsigned taken, unsigned width)
{
	fprintf(out, "%*s%s  ", (int)(taken < width ? width - taken : 0), "", text);
}

static void put_cell(const struct page *page, struct figure cell)
{
	put_right(page->out, cell.text, (unsigned)strlen(cell.text), WIDTH);
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

static void put_name(const struct page *page, const char *name)
{
	AUTO_FREE char *cut = cut_name(name);
	unsigned width = text_width(cut);

	fprintf(page->out, "%*s", (int)(width < page->name_width ? page->name_width - width : 0), "");
	text_put(page->out, cut, width, TEXT_TRUNCATE_END);
	fputs("  ", page->out);
}

static unsigned count_numbers(const struct page *page)
{
	return (page->has_gpu ? COLUMNS : COLUMNS - GPU_COLUMNS) - 1 + page->memory_columns;
}

static void put_many(FILE *out, char c, unsigned count)
{
	while (count-- > 0)
		fputc(c, out);
}

static void put_dashes_of(const struct page *page, unsigned width)
{
	if (!width)
		return;
	fputs("  ", page->out);
	put_many(page->out, '-', width);
}

static void put_dashes(const struct page *page)
{
	put_many(page->out, '-', page->name_width);
	for (unsigned i = 0; i < count_numbers(page); i++) {
		fputs("  ", page->out);
		put_many(page->out, '-', WIDTH);
	}
	put_dashes_of(page, page->shapes_width);
	put_dashes_of(page, page->flops_power ? WIDTH : 0);
	put_dashes_of(page, page->source_width);
	fputs("  \n", page->out);
}

static struct figure flops_title(const struct page *page)
{
	static const char *const units[] = {"", "K", "M", "G", "T", "P"};
	struct figure cell;

	snprintf(cell.text, sizeof(cell.text), "Total %sFLOPs", units[page->flops_power - 1]);
	return cell;
}

static struct figure cell_flops(const struct page *page, uint64_t flops)
{
	struct figure cell = {"--"};
	double scaled = (double)flops;

	for (unsigned i = 1; i < page->flops_power; i++)
		scaled /= 1000;
	if (flops)
		snprintf(cell.text, sizeof(cell.text), "%8.3f", scaled);
	return cell;
}

static void put_shapes(const struct page *page, const char *shapes)
{
	const char *text = shapes ? shapes : "(not recorded)";
	unsigned width = text_width(text);

	width = width < page->shapes_width ? width : page->shapes_width;
	fprintf(page->out, "%*s", (int)(page->shapes_width - width), "");
	text_put(page->out, text, width, TEXT_TRUNCATE_END);
	fputs("  ", page->out);
}

static unsigned width_before_source(const struct page *page)
{
	return page->name_width + 2 + count_numbers(page) * (WIDTH + 2) +
	       (page->shapes_width ? page->shapes_width + 2 : 0) + (page->flops_power ? WIDTH + 2 : 0);
}

/* The last column, left-aligned. */
static void put_source(const struct page *page, const char *text)
{
	unsigned width = text_put(page->out, text, page->source_width, TEXT_TRUNCATE_START);

	fprintf(page->out, "%*s  ", (int)(page->source_width - width), "");
}

static char *source_of(const struct model *model, uint32_t index)
{
	const struct model_frame *frame = &model->frames[index];
	const struct model_code *code = &model->codes[frame->code];

	return xasprintf("%s(%" PRIu32 "): %s", code->file, frame->line, code->name);
}

static void put_memory_titles(const struct page *page)
{
	static const char *const titles[2 * MEMORY_COLUMNS] = {"CPU Mem", "Self CPU Mem", "CUDA Mem", "Self CUDA Mem"};

	for (unsigned i = 0; i < page->memory_columns; i++)
		put_right(page->out, titles[i], (unsigned)strlen(titles[i]), WIDTH);
}

static void put_memory(const struct page *page, const struct key_row *row)
{
	const uint64_t bytes[2 * MEMORY_COLUMNS] = {row->memory.cpu, row->memory_self.cpu, row->memory.gpu,
						    row->memory_self.gpu};

	for (unsigned i = 0; i < page->memory_columns; i++)
		put_cell(page, cell_memory(bytes[i]));
}

static void put_titles(const struct page *page)
{
	static const char *const titles[COLUMNS - 1] = {"Self CPU %",	 "Self CPU",  "CPU total %", "CPU total",
							"CPU time avg",	 "Self CUDA", "Self CUDA %", "CUDA total",
							"CUDA time avg", "# of Calls"};

	put_right(page->out, "Name", 4, page->name_width);
	for (int i = 0; i < COLUMNS - 1; i++)
		if (i == COLUMNS - 2) {
			put_memory_titles(page);
			put_right(page->out, titles[i], (unsigned)strlen(titles[i]), WIDTH);
		} else if (page->has_gpu || i < CPU_COLUMNS) {
			put_right(page->out, titles[i], (unsigned)strlen(titles[i]), WIDTH);
		}
	if (page->shapes_width)
		put_right(page->out, "Input Shapes", 12, page->shapes_width);
	if (page->flops_power)
		put_cell(page, flops_title(page));
	if (page->source_width)
		put_source(page, "Source Location");
	fputc('\n', page->out);
}

/* Puts all Python lines of a row but the first on lines of their own, followed by an empty one. */
static void put_sources(const struct page *page, const struct key_row *row)
{
	unsigned before = width_before_source(page);
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

static void put_row(const struct page *page, const struct key_row *row)
{
	struct figure count, total = {"0"}; /* for an asynchronous row */

	if (!row->async)
		total = cell_share(row->cpu_ns, page->keys->cpu_self_ns);
	put_name(page, row->name);
	put_cell(page, cell_share(row->cpu_self_ns, page->keys->cpu_self_ns));
	put_cell(page, cell_time((double)row->cpu_self_ns));
	put_cell(page, total);
	put_cell(page, cell_time((double)row->cpu_ns));
	put_cell(page, cell_time((double)row->cpu_ns / (double)row->count));
	if (page->has_gpu) {
		put_cell(page, cell_time((double)row->gpu_self_ns));
		put_cell(page, cell_share(row->gpu_self_ns, page->keys->gpu_ns));
		put_cell(page, cell_time((double)row->gpu_ns));
		put_cell(page, cell_time((double)row->gpu_ns / (double)row->count));
	}
	put_memory(page, row);
	snprintf(count.text, sizeof(count.text), "%" PRIu64, row->count);
	put_cell(page, count);
	if (page->shapes_width)
		put_shapes(page, row->shapes);
	if (page->flops_power)
		put_cell(page, cell_flops(page, row->flops));
	if (page->source_width)
		put_sources(page, row);
	fputc('\n', page->out);
}

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

	find_widths(page);
	if (page->options->top_level) {
		put_many(page->out, '=',
			 width_before_source(page) - 2 + (page->source_width ? page->source_width + 2 : 0));
		fputs("\nThis report only display top-level ops statistics\n", page->out);
	}
	put_dashes(page);
	put_titles(page);
	put_dashes(page);
	for (size_t i = 0; i < keys->rows.count && shown < rows; i++) {
		if (page->options->top_level && keys->rows.items[i].inside)
			continue;
		put_row(page, &keys->rows.items[i]);
		shown++;
	}
	put_dashes(page);
	fprintf(page->out, "Self CPU time total: %s\n", cell_time((double)keys->cpu_self_ns).text);
	if (page->has_gpu)
		fprintf(page->out, "Self CUDA time total: %s\n", cell_time((double)keys->gpu_ns).text);
}

/* As in PyTorch, GPUs have memory columns if some op kept GPU memory. */
static unsigned count_memory_columns(const struct key_averages *keys)
{
	return value_of_first(keys->rows.count, i, (int64_t)keys->rows.items[i].memory_self.gpu > 0, 2 * MEMORY_COLUMNS,
			      keys->has_memory ? MEMORY_COLUMNS : 0);
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
		page.memory_columns = count_memory_columns(&all.keys);
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
