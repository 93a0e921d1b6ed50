/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the functions to list, and their lines. */
#include "report/lines/source_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "report/page/page.h"
#include "report/lines/source_file.h"
#include "report/lines/source_margin.h"
#include "report/lines/source_table.h"

#define FUNCTIONS_SHOWN 5u
#define WHOLE_LINES 60u /* a function of at most this many lines is listed whole */
#define AROUND_LINES 3u /* of a longer function, lines this near to one with costs are listed */

struct listing {
	struct report *report;
	const struct line_costs *costs;
	const struct lines_options *options;
	int64_t started_ns; /* wall clock */
	struct table table; /* for programs */
	bool is_missing;    /* the requested function or file */
};

/* ---- lines of a function ----------------------------------------------------------------------------------------- */

/* A function with its rows, and the text next to them. */
struct function {
	const struct function_cost *cost;
	const struct line_cost_row *rows;
	const struct model_code *code;
	struct source_file source;
	uint32_t first, last; /* numbers of its lines */
};

static uint32_t number_of(const struct listing *listing, const struct line_cost_row *row)
{
	return listing->report->all->lines.all.items[row->line].number;
}

/* Whether a block begins in the first line: not for a module, a comprehension and the like. */
static bool has_block(const struct model_code *code)
{
	const char *dot = strrchr(code->name, '.');

	return (dot ? dot[1] : *code->name) != '<';
}

static void find_range(const struct listing *listing, struct function *function)
{
	uint32_t known = 0, end;

	/* line 0: the line is not known */
	while (known + 1 < function->cost->rows && !number_of(listing, &function->rows[known]))
		known++;
	function->first = function->code->first_line;
	function->last = number_of(listing, &function->rows[function->cost->rows - 1]);
	if (!function->first || function->first > number_of(listing, &function->rows[known]))
		function->first = number_of(listing, &function->rows[known]);
	if (!function->source.text || !has_block(function->code))
		return;
	end = source_file_block_end(&function->source, function->first);
	if (end > function->last && end - function->first < WHOLE_LINES)
		function->last = end;
}

/* Whether to list a line without costs. */
static bool is_near(const struct listing *listing, const struct function *function, uint32_t row, uint32_t number)
{
	uint32_t next = row < function->cost->rows ? number_of(listing, &function->rows[row]) : 0;
	uint32_t before = row ? number_of(listing, &function->rows[row - 1]) : 0;

	if (has_block(function->code) &&
	    (function->last - function->first < WHOLE_LINES || number - function->first < AROUND_LINES))
		return true;
	return (next && next - number <= AROUND_LINES) || (before && number - before <= AROUND_LINES);
}

/* Writes rows that have no text. */
static void put_rows(const struct listing *listing, const struct function *function, const struct margin *margin,
		     uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		struct margin_figures figures =
			margin_figures(margin, &function->rows[i], number_of(listing, &function->rows[i]));

		margin_put_row(listing->report, margin, &figures, "");
	}
}

static uint32_t rows_before(const struct listing *listing, const struct function *function, uint32_t number)
{
	uint32_t row = 0;

	while (row < function->cost->rows && number_of(listing, &function->rows[row]) < number)
		row++;
	return row;
}

static void put_lines(const struct listing *listing, const struct function *function, const struct margin *margin)
{
	static const struct line_cost_row nothing;
	uint32_t row = rows_before(listing, function, function->first), number = function->first;
	bool left_out = false;

	put_rows(listing, function, margin, 0, row);
	for (; number && number <= function->last && number <= function->source.lines; number++) {
		const struct line_cost_row *at = &nothing;
		struct margin_figures figures;
		AUTO_FREE char *text = NULL;

		row = rows_before(listing, function, number);
		if (row < function->cost->rows && number_of(listing, &function->rows[row]) == number) {
			at = &function->rows[row];
		} else if (!is_near(listing, function, row, number)) {
			if (!left_out)
				fputs("  ...\n", listing->report->out);
			left_out = true;
			continue;
		}
		left_out = false;
		figures = margin_figures(margin, at, number);
		text = source_file_line(&function->source, number);
		margin_put_row(listing->report, margin, &figures, text);
	}
	put_rows(listing, function, margin, rows_before(listing, function, number), function->cost->rows);
}

/* ---- a function -------------------------------------------------------------------------------------------------- */

static struct margin margin_of(const struct listing *listing, const struct function *function)
{
	const struct line_cost *under = &function->cost->under;
	struct margin margin = {.whole_ns = listing->costs->gpu_ns};
	uint64_t most = under->gpu_ns;

	most = under->wait_ns > most ? under->wait_ns : most;
	most = under->idle_ns > most ? under->idle_ns : most;
	most = under->cpu_ns > most ? under->cpu_ns : most;
	most = under->sampled_ns > most ? under->sampled_ns : most;
	margin.unit = time_unit_for(most);
	for (uint32_t i = 0; i < function->cost->rows; i++) {
		struct margin_figures figures =
			margin_figures(&margin, &function->rows[i], number_of(listing, &function->rows[i]));

		margin_widen(&margin, &figures);
	}
	return margin;
}

/* Adds rows to the table for programs. */
static void add_rows(struct listing *listing, const struct function *function)
{
	struct source_table_place place = {.code = function->code};

	for (uint32_t i = 0; i < function->cost->rows; i++) {
		place.number = number_of(listing, &function->rows[i]);
		place.text = function->source.text ? source_file_line(&function->source, place.number) : NULL;
		source_table_add(&listing->table, listing->costs, &place, &function->rows[i]);
		free(place.text);
	}
	if (function->source.why)
		report_line(listing->report, "the source of %s in %s is not shown: %s", function->code->name,
			    function->code->file, function->source.why);
}

/*
 * Whether first_line is the function's: torch.profiler gives the line at its start, for a function that was open then.
 */
static bool is_first_line(const struct listing *listing, const struct function *function)
{
	for (size_t i = 0; i < function->cost->rows; i++) {
		uint32_t number = number_of(listing, &function->rows[i]);

		if (number && number < function->code->first_line)
			return false;
	}
	return function->code->first_line;
}

static void put_memory(struct report *report, const char *of, const struct line_memory *memory)
{
	if (memory->growth >= 1)
		report_line(report, "Memory of PyTorch (%s): %s at the peak, %s not freed, grows by %s a step", of,
			    number_memory(memory->at_peak).text, number_memory(memory->held).text,
			    number_memory((uint64_t)memory->growth).text);
	else if (memory->at_peak || memory->held)
		report_line(report, "Memory of PyTorch (%s): %s at the peak, %s not freed", of,
			    number_memory(memory->at_peak).text, number_memory(memory->held).text);
}

static void put_head(const struct listing *listing, const struct function *function)
{
	struct report *report = listing->report;
	const struct line_cost *under = &function->cost->under, *own = &function->cost->own;

	fputc('\n', report->out);
	if (listing->costs->has_gpu || !under->sampled_ns)
		report_line(report, "Total GPU time: %s, %s %% of all; launched by its own lines: %s",
			    number_time(under->gpu_ns).text,
			    number_percent((double)under->gpu_ns, (double)listing->costs->gpu_ns).text,
			    number_time(own->gpu_ns).text);
	if (under->idle_ns)
		report_line(report, "GPU idle for it: %s, kept by its own lines: %s", number_time(under->idle_ns).text,
			    number_time(own->idle_ns).text);
	if (under->sampled_ns)
		report_line(report, "CPU time by samples: %s, %s %% of all; in its own lines: %s",
			    number_time(under->sampled_ns).text,
			    number_percent((double)under->sampled_ns, (double)listing->costs->sampled_ns).text,
			    number_time(own->sampled_ns).text);
	put_memory(report, "GPU", &under->gpu_memory);
	put_memory(report, "CPU", &under->cpu_memory);
	report_line(report, "File: %s", function->code->file);
	if (is_first_line(listing, function))
		report_line(report, "Function: %s at line %" PRIu32, function->code->name, function->code->first_line);
	else
		report_line(report, "Function: %s", function->code->name);
	if (function->source.why)
		report_line(report, "Source is not shown: %s", function->source.why);
	fputc('\n', report->out);
}

static void put_function(struct listing *listing, const struct function_cost *cost)
{
	const struct model *model = listing->report->model;
	struct function function = {
		.cost = cost, .rows = &listing->costs->rows[cost->first_row], .code = &model->codes[cost->code]};
	struct margin margin;
	struct margin_figures titles;
	unsigned used;

	source_file_read(&function.source, listing->report->model, function.code,
			 cost->process == NONE ? NULL : &model->processes[cost->process], listing->options->live,
			 listing->started_ns);
	if (listing->report->writer) {
		add_rows(listing, &function);
		source_file_free(&function.source);
		return;
	}
	find_range(listing, &function);
	margin = margin_of(listing, &function);
	titles = margin_titles(&margin);
	put_head(listing, &function);
	used = margin_put(listing->report, &margin, &titles);
	fputs(function.source.text ? "  Line Contents\n" : "\n", listing->report->out);
	used += function.source.text ? 15 : 0;
	for (unsigned i = 0; i < used; i++)
		fputc('=', listing->report->out);
	fputc('\n', listing->report->out);
	if (function.source.text)
		put_lines(listing, &function, &margin);
	else
		put_rows(listing, &function, &margin, 0, cost->rows);
	source_file_free(&function.source);
}

/* ---- which functions --------------------------------------------------------------------------------------------- */

static bool ends_in(const char *text, const char *end, char before)
{
	size_t length = strlen(text), of_end = strlen(end);

	return length >= of_end && !strcmp(text + length - of_end, end) &&
	       (length == of_end || text[length - of_end - 1] == before);
}

/* Matches a function by its name, with or without what contains it; a file by its path or the end of the path. */
static bool is_asked_for(const struct model_code *code, const char *what)
{
	return ends_in(code->name, what, '.') || ends_in(code->file, what, '/');
}

static size_t put_asked_for(struct listing *listing)
{
	const struct line_costs *costs = listing->costs;
	size_t shown = 0;

	for (size_t i = 0; i < costs->function_count; i++) {
		if (!is_asked_for(&listing->report->model->codes[costs->functions[i].code], listing->options->what))
			continue;
		put_function(listing, &costs->functions[i]);
		shown++;
	}
	return shown;
}

/* What the functions that are listed have as their own CPU time, so that all of it is somewhere. */
struct listed {
	size_t functions;
	uint64_t sampled_ns;
};

static void put_share_of_samples(struct listing *listing, const char *what, uint64_t sampled_ns, bool is_in_rows)
{
	struct report *report = listing->report;

	if (!sampled_ns)
		return;
	if (!report->writer)
		report_line(report, "  %s, %s %%: %s", number_time(sampled_ns).text,
			    number_percent((double)sampled_ns, (double)listing->costs->sampled_ns).text, what);
	else if (!is_in_rows)
		source_table_add_rest(&listing->table, listing->costs, what, sampled_ns);
}

/* CPU time by samples: of the lines above, of other functions, and of what has no line. */
static void put_samples(struct listing *listing, const struct listed *listed)
{
	const struct line_costs *costs = listing->costs;
	struct report *report = listing->report;
	uint64_t others_ns = costs->sampled_ns - listed->sampled_ns;
	AUTO_FREE char *others = NULL;

	if (!costs->has_samples)
		return;
	for (size_t i = 0; i < costs->outside.count; i++)
		others_ns -= costs->outside.items[i].sampled_ns;
	if (!report->writer) {
		fputc('\n', report->out);
		report_line(report, "CPU time by samples: %s", number_time(costs->sampled_ns).text);
	}
	others = xasprintf("[functions not listed: %s]", number_count(costs->function_count - listed->functions).text);
	put_share_of_samples(listing, "lines above (self)", listed->sampled_ns, true);
	put_share_of_samples(listing, others, others_ns, false);
	for (size_t i = 0; i < costs->outside.count; i++) {
		AUTO_FREE char *label = line_label(&report->all->lines, costs->outside.items[i].line);

		put_share_of_samples(listing, label, costs->outside.items[i].sampled_ns, false);
	}
}

static struct listed put_owners(struct listing *listing)
{
	const struct line_costs *costs = listing->costs;
	struct listed listed = {0};
	size_t more = 0;

	for (size_t i = 0; i < costs->function_count; i++) {
		if (!costs->functions[i].owned)
			continue;
		if (listed.functions < FUNCTIONS_SHOWN) {
			put_function(listing, &costs->functions[i]);
			listed.functions++;
			listed.sampled_ns += costs->functions[i].own.sampled_ns;
		} else {
			more++;
		}
	}
	if (more) {
		if (!listing->report->writer)
			fputc('\n', listing->report->out);
		report_line(listing->report,
			    "... and %s more function%s; --lines FUNCTION or --lines FILE lists others",
			    number_count(more).text, more == 1 ? "" : "s");
	}
	return listed;
}

static void put_functions(struct listing *listing)
{
	struct report *report = listing->report;

	struct listed listed;

	if (listing->options->most) {
		for (size_t i = 0; i < listing->costs->function_count && i < listing->options->most; i++)
			put_function(listing, &listing->costs->functions[i]);
		return;
	}
	if (listing->options->what) {
		if (!put_asked_for(listing)) {
			report_line(report, "  no file or function %s called CUDA or had a CPU sample",
				    listing->options->what);
			listing->is_missing = true;
		}
		return;
	}
	listed = put_owners(listing);
	if (!listed.functions)
		report_line(report, "  no Python function put work on a GPU");
	put_samples(listing, &listed);
}

/* "step (train.py), main (train.py)": the functions that own most; the caller frees it. */
static char *functions_there(const struct listing *listing)
{
	const struct line_costs *costs = listing->costs;
	char *text = xstrdup("");

	for (size_t i = 0; i < costs->function_count && i < FUNCTIONS_SHOWN; i++) {
		const struct model_code *code = &listing->report->model->codes[costs->functions[i].code];

		text = xjoin(text, ", ", xasprintf("%s (%s)", code->name, path_base(code->file)));
	}
	return text;
}

static void put_listing(struct listing *listing)
{
	struct report *report = listing->report;

	report_title(report, "source_lines", "GPU and CPU time by source line",
		     listing->costs->has_samples ? "of a line with what it calls; in calls: of CUDA; CPU: by samples"
						 : "of a line with what it calls; in calls: the CPU in calls of CUDA");
	put_functions(listing);
	if (report->writer) {
		table_writer_want_all_rows(report->writer);
		if (!listing->table.count) {
			source_table_add_rest(&listing->table, listing->costs, "", 0);
			table_drop_rows(&listing->table);
		}
		report_table(report, &listing->table);
	}
}

int report_write_lines_of(FILE *out, struct analyses *all, const struct report_options *page,
			  const struct lines_options *options)
{
	struct report report;
	struct listing listing = {.report = &report, .costs = &all->line_costs, .options = options};
	int error;

	report_page(&report, out, all, page);
	listing.started_ns = model_source(report.model)->wall_offset_ns + (int64_t)all->window.start_ns;
	report_begin_list(&report, "source_lines");
	put_listing(&listing);
	error = report_end(&report);
	if (!error && listing.is_missing) {
		error = -ENOENT;
		if (options->there)
			*options->there = functions_there(&listing);
	}
	return error;
}

int report_write_lines(FILE *out, struct trace *trace, const struct report_options *page,
		       const struct lines_options *options)
{
	struct analyses all;
	int error = analyze(&all, trace, ANALYSES(ANALYZE_LINE_COSTS, ANALYZE_TORCH_MEMORY), &page->attribution);

	if (!error)
		error = report_write_lines_of(out, &all, page, options);
	analyses_free(&all);
	return error;
}
