/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/lines/source_margin.h"

#include <inttypes.h>
#include <stdio.h>

#define TEXT_LEAST 80u /* columns for source, even if the page is too narrow */

static void set_time(char cell[MARGIN_CELL_BYTES], uint64_t ns, struct time_unit unit)
{
	snprintf(cell, MARGIN_CELL_BYTES, "%s", ns ? number_in(ns, unit).text : "");
}

static void set_bytes(char cell[MARGIN_CELL_BYTES], uint64_t bytes)
{
	if (bytes)
		snprintf(cell, MARGIN_CELL_BYTES, "%s", number_memory(bytes).text);
}

/* "+13.0 MB" */
static void set_growth(char cell[MARGIN_CELL_BYTES], double bytes)
{
	if (bytes >= 1)
		snprintf(cell, MARGIN_CELL_BYTES, "+%.30s", number_memory((uint64_t)bytes).text);
}

struct margin_figures margin_figures(const struct margin *margin, const struct line_cost_row *row, uint32_t number)
{
	struct margin_figures figures = {0};
	const struct line_cost *under = &row->under;

	if (number)
		snprintf(figures.cells[0], MARGIN_CELL_BYTES, "%" PRIu32, number);
	else
		snprintf(figures.cells[0], MARGIN_CELL_BYTES, "-");
	set_time(figures.cells[1], under->gpu_ns, margin->unit);
	if (under->gpu_ns)
		snprintf(figures.cells[2], MARGIN_CELL_BYTES, "%s",
			 number_percent((double)under->gpu_ns, (double)margin->whole_ns).text);
	set_time(figures.cells[3], row->own.gpu_ns, margin->unit);
	if (under->launches)
		snprintf(figures.cells[4], MARGIN_CELL_BYTES, "%s", number_count(under->launches).text);
	set_time(figures.cells[5], under->copy_ns, margin->unit);
	set_time(figures.cells[6], under->wait_ns, margin->unit);
	set_time(figures.cells[7], under->idle_ns, margin->unit);
	set_time(figures.cells[8], under->cpu_ns, margin->unit);
	set_time(figures.cells[9], under->sampled_ns, margin->unit);
	set_time(figures.cells[10], row->own.sampled_ns, margin->unit);
	set_bytes(figures.cells[11], under->gpu_memory.at_peak);
	set_bytes(figures.cells[12], under->gpu_memory.held);
	set_growth(figures.cells[13], under->gpu_memory.growth);
	set_bytes(figures.cells[14], under->cpu_memory.at_peak);
	set_bytes(figures.cells[15], under->cpu_memory.held);
	set_growth(figures.cells[16], under->cpu_memory.growth);
	return figures;
}

struct margin_figures margin_titles(const struct margin *margin)
{
	static const struct {
		const char *text;
		bool is_time;
	} titles[MARGIN_COLUMNS] = {
		{"Line #", false},	  {"GPU", true},	   {"%", false},	   {"self GPU", true},
		{"calls", false},	  {"copies", true},	   {"waits", true},	   {"idle", true},
		{"in calls", true},	  {"CPU", true},	   {"self CPU", true},	   {"GPU at peak", false},
		{"GPU not freed", false}, {"GPU per step", false}, {"CPU at peak", false}, {"CPU not freed", false},
		{"CPU per step", false},
	};
	struct margin_figures figures = {0};

	for (unsigned i = 0; i < MARGIN_COLUMNS; i++)
		snprintf(figures.cells[i], MARGIN_CELL_BYTES, "%s%s%s", titles[i].text, titles[i].is_time ? " " : "",
			 titles[i].is_time ? margin->unit.name : "");
	return figures;
}

void margin_widen(struct margin *margin, const struct margin_figures *figures)
{
	struct margin_figures titles = margin_titles(margin);

	for (unsigned i = 0; i < MARGIN_COLUMNS; i++) {
		unsigned width = text_width(figures->cells[i]);

		if (!*figures->cells[i])
			continue;
		if (!margin->widths[i])
			margin->widths[i] = text_width(titles.cells[i]);
		if (width > margin->widths[i])
			margin->widths[i] = width;
	}
}

static unsigned put_columns(const struct report *report, const struct margin *margin,
			    const struct margin_figures *figures, unsigned columns)
{
	unsigned used = 0;

	for (unsigned i = 0; i < columns; i++) {
		if (!margin->widths[i])
			continue;
		fprintf(report->out, "  %*s", (int)margin->widths[i], figures->cells[i]);
		used += 2 + margin->widths[i];
	}
	return used;
}

unsigned margin_put(const struct report *report, const struct margin *margin, const struct margin_figures *figures)
{
	return put_columns(report, margin, figures, MARGIN_COLUMNS);
}

void margin_put_row(const struct report *report, const struct margin *margin, const struct margin_figures *figures,
		    const char *text)
{
	unsigned used, last = MARGIN_COLUMNS;

	if (*text) {
		used = margin_put(report, margin, figures) + 2;
		fputs("  ", report->out);
		report_put(report, text, report->width > used + TEXT_LEAST ? report->width - used : TEXT_LEAST,
			   TEXT_TRUNCATE_END);
	} else {
		/* no blanks at the end */
		while (last && !*figures->cells[last - 1])
			last--;
		put_columns(report, margin, figures, last);
	}
	fputc('\n', report->out);
}
