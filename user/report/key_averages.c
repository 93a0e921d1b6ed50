/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* As torch/autograd/profiler_util.py writes it, so that whoever reads or compares such tables can. */
#include "report/key_averages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "report/text.h"

#define ROWS_MAX 100u
#define NAME_WIDTH_MAX 55u
#define NAME_BEFORE_DOTS 52u /* characters; names that are as long are cut, too */
#define WIDTH 12u

enum {
	CPU_COLUMNS = 5,
	GPU_COLUMNS = 4,
	COLUMNS = 1 + CPU_COLUMNS + GPU_COLUMNS + 1,
};

struct page {
	FILE *out;
	const struct key_averages *keys;
	unsigned name_width;
	bool has_gpu;
};

struct cell {
	char text[32];
};

static struct cell cell_time(uint64_t ns)
{
	double us = (double)ns / 1e3;
	struct cell cell;

	if (us >= 1e6)
		snprintf(cell.text, sizeof(cell.text), "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(cell.text, sizeof(cell.text), "%.3fms", us / 1e3);
	else
		snprintf(cell.text, sizeof(cell.text), "%.3fus", us);
	return cell;
}

static struct cell cell_share(uint64_t part, uint64_t whole)
{
	struct cell cell = {"NaN"};

	if (whole)
		snprintf(cell.text, sizeof(cell.text), "%.2f%%", 100.0 * (double)part / (double)whole);
	return cell;
}

static void put_right(FILE *out, const char *text, unsigned taken, unsigned width)
{
	fprintf(out, "%*s%s  ", (int)(taken < width ? width - taken : 0), "", text);
}

static void put_cell(const struct page *page, struct cell cell)
{
	put_right(page->out, cell.text, (unsigned)strlen(cell.text), WIDTH);
}

/* The name, or its first characters and dots; to be freed. */
static char *cut_name(const char *name)
{
	size_t characters = 0, end = 0, length = strlen(name);

	/* a character begins where no byte of the form 10xxxxxx is */
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
	char *cut = cut_name(name);
	unsigned width = text_width(cut);

	fprintf(page->out, "%*s", (int)(width < page->name_width ? page->name_width - width : 0), "");
	text_put(page->out, cut, width, TEXT_TRUNCATE_END);
	fputs("  ", page->out);
	free(cut);
}

static void put_dashes(const struct page *page)
{
	unsigned columns = page->has_gpu ? COLUMNS : COLUMNS - GPU_COLUMNS;

	for (unsigned i = 0; i < columns; i++) {
		for (unsigned k = i ? WIDTH : page->name_width; k > 0; k--)
			fputc('-', page->out);
		fputs("  ", page->out);
	}
	fputc('\n', page->out);
}

static void put_titles(const struct page *page)
{
	static const char *const titles[COLUMNS - 1] = {"Self CPU %",	 "Self CPU",  "CPU total %", "CPU total",
							"CPU time avg",	 "Self CUDA", "Self CUDA %", "CUDA total",
							"CUDA time avg", "# of Calls"};

	put_right(page->out, "Name", 4, page->name_width);
	for (int i = 0; i < COLUMNS - 1; i++)
		if (page->has_gpu || i < CPU_COLUMNS || i == COLUMNS - 2)
			put_right(page->out, titles[i], (unsigned)strlen(titles[i]), WIDTH);
	fputc('\n', page->out);
}

static void put_row(const struct page *page, const struct key_row *row)
{
	struct cell count;

	put_name(page, row->name);
	put_cell(page, cell_share(row->cpu_self_ns, page->keys->cpu_self_ns));
	put_cell(page, cell_time(row->cpu_self_ns));
	put_cell(page, cell_share(row->cpu_ns, page->keys->cpu_self_ns));
	put_cell(page, cell_time(row->cpu_ns));
	put_cell(page, cell_time(row->count ? row->cpu_ns / row->count : 0));
	if (page->has_gpu) {
		put_cell(page, cell_time(row->gpu_self_ns));
		put_cell(page, cell_share(row->gpu_self_ns, page->keys->gpu_ns));
		put_cell(page, cell_time(row->gpu_ns));
		put_cell(page, cell_time(row->count ? row->gpu_ns / row->count : 0));
	}
	snprintf(count.text, sizeof(count.text), "%" PRIu64, row->count);
	put_cell(page, count);
	fputc('\n', page->out);
}

static void put_table(struct page *page)
{
	const struct key_averages *keys = page->keys;

	for (size_t i = 0; i < keys->rows.count; i++)
		if (text_width(keys->rows.items[i].name) + 4 > page->name_width)
			page->name_width = text_width(keys->rows.items[i].name) + 4;
	if (page->name_width > NAME_WIDTH_MAX)
		page->name_width = NAME_WIDTH_MAX;
	put_dashes(page);
	put_titles(page);
	put_dashes(page);
	for (size_t i = 0; i < keys->rows.count && i < ROWS_MAX; i++)
		put_row(page, &keys->rows.items[i]);
	put_dashes(page);
	fprintf(page->out, "Self CPU time total: %s\n", cell_time(keys->cpu_self_ns).text);
	if (page->has_gpu)
		fprintf(page->out, "Self CUDA time total: %s\n", cell_time(keys->gpu_ns).text);
}

int report_write_key_averages(FILE *out, struct trace *trace)
{
	struct analyses all;
	struct page page = {.out = out, .keys = &all.keys};
	int error = analyze(&all, trace, ANALYZE_OPS | ANALYZE_KEY_AVERAGES, NULL);

	if (!error) {
		page.has_gpu = all.keys.gpu_ns > 0;
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
