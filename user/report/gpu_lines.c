/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time (or, where there is none, launches) by Python line.  A line's own part is what it launched itself; its total
 * is what ran under it, every stack counted once however often the line is in it.
 */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"

struct line_sums {
	struct tally self;   /* line */
	struct tally total;  /* line */
	struct tally stacks; /* stack, process, stack of the replay of a graph or NONE */
	uint64_t sum;
};

/* replay: the stack that launched the graph of which the call was captured, NONE. */
static void add(struct report *report, struct line_sums *sums, uint32_t line, const struct model_call *call,
		uint32_t replay, uint32_t process, uint64_t value, bool first_of_call)
{
	struct tally_entry *entry = tally_at(&sums->self, (struct tally_key){{line}});

	entry->ns += value;
	entry->count += first_of_call;
	process_note(&entry->more, process);
	sums->sum += value;
	if (call && call->stack != NONE && report->model->stacks[call->stack].depth)
		tally_at(&sums->stacks, (struct tally_key){{call->stack, process, replay}})->ns += value;
	else
		tally_at(&sums->total, (struct tally_key){{line}})->ns += value;
}

/* To the total of each line of a stack, unless it has the stamp. */
static void add_stack(struct report *report, struct line_sums *sums, const struct tally_entry *entry, uint32_t index,
		      uint32_t *stamps, uint32_t stamp)
{
	const struct model *model = report->model;
	const struct model_stack *stack = &model->stacks[index];

	for (uint32_t k = 0; k < stack->depth; k++) {
		uint32_t line = report->lines.of_frame[model->stack_frames[stack->first + k]];
		struct tally_entry *total;

		if (stamps[line] == stamp)
			continue;
		stamps[line] = stamp;
		total = tally_at(&sums->total, (struct tally_key){{line}});
		total->ns += entry->ns;
		process_note(&total->more, entry->key.part[1]);
	}
}

static void sum_totals(struct report *report, struct line_sums *sums)
{
	uint32_t *stamps = xcalloc(report->lines.lines.count, sizeof(*stamps));

	for (size_t i = 0; i < sums->stacks.count; i++) {
		const struct tally_entry *entry = &sums->stacks.entries[i];

		add_stack(report, sums, entry, entry->key.part[0], stamps, (uint32_t)i + 1);
		if (entry->key.part[2] != NONE)
			add_stack(report, sums, entry, entry->key.part[2], stamps, (uint32_t)i + 1);
	}
	free(stamps);
}

static void sum_gpu(struct report *report, struct line_sums *sums)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *op = &model->gpu[i];
		uint32_t attributed = gpu_attributed_call(model, op);
		const struct model_call *call = attributed == NONE ? NULL : &model->calls[attributed];
		bool captured = attributed != op->call;
		uint32_t replay = captured && op->call != NONE ? model->calls[op->call].stack : NONE;

		add(report, sums, line_of_gpu(&report->lines, op), call, replay, op->process, gpu_ns(op),
		    captured || (attributed != NONE && call->first_gpu == i));
	}
	sum_totals(report, sums);
}

static void sum_calls(struct report *report, struct line_sums *sums)
{
	const struct model *model = report->model;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];

		if (call_is_work(call))
			add(report, sums, line_of_call(&report->lines, call), call, NONE,
			    model->threads[call->thread].process, 1, true);
	}
	sum_totals(report, sums);
}

static void free_sums(struct line_sums *sums)
{
	tally_free(&sums->self);
	tally_free(&sums->total);
	tally_free(&sums->stacks);
}

static void add_line_cells(struct report *report, struct table *table, uint32_t line, uint64_t more)
{
	char *place = line_place(&report->lines, line);

	table_add(table, place);
	table_add(table, line_function(&report->lines, line));
	if (report->active > 1)
		report_add_process(report, table, more);
	free(place);
}

/* On which lines the time of graphs is. */
static void put_graphs(struct report *report, struct time_unit unit)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;

	if (receipt->graph_ns)
		report_line(report,
			    "  CUDA graphs: %s %s; %s %% on lines that were captured, the rest on lines that replay",
			    number_in(receipt->graph_ns, unit).text, unit.name,
			    number_percent((double)receipt->graph_ns_captured, (double)receipt->graph_ns).text);
}

static void put_gpu_self(struct report *report, struct line_sums *sums)
{
	struct tally_entry *sorted = tally_sorted(&sums->self, false);
	size_t count = sums->self.count, shown = count < report->rows ? count : report->rows;
	struct time_unit unit = time_unit_for(sums->sum);
	char self[16], total[16];
	const struct column columns[] = {
		{self, false, 0},
		{total, false, 0},
		{"%", false, 0},
		{"launches", false, 0},
		{"line", true, TEXT_TRUNCATE_START},
		{"function", true, TEXT_TRUNCATE_MIDDLE},
		{report->active > 1 ? "process" : NULL, true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	uint64_t rest = 0;

	snprintf(self, sizeof(self), "self %s", unit.name);
	snprintf(total, sizeof(total), "total %s", unit.name);
	report_title(report, "GPU time by Python line", "% of GPU time");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		const struct tally_entry *entry = &sorted[i];

		table_add_number(&table, number_in(entry->ns, unit));
		table_add_number(&table, number_in(tally_at(&sums->total, entry->key)->ns, unit));
		table_add_number(&table, number_percent((double)entry->ns, (double)sums->sum));
		table_add_number(&table, number_count(entry->count));
		add_line_cells(report, &table, entry->key.part[0], entry->more);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < count; i++)
		rest += sorted[i].ns;
	report_more(report, count - shown, "lines", number_in(rest, unit), unit.name);
	put_graphs(report, unit);
	free(sorted);
}

/* Code that people install rather than write, and what the interpreter runs without a file. */
static bool is_library(const struct line *line)
{
	static const char *const marks[] = {"/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python"};

	if (line->reason || *line->file == '<')
		return true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (strstr(line->file, marks[i]))
			return true;
	return false;
}

/*
 * Lines of the user's own code by what ran under them.  In most programs libraries do the launching, so the
 * table above names them; this one names the lines one can change.  Left out when it would say nothing new.
 */
static void put_gpu_own(struct report *report, struct line_sums *sums)
{
	struct tally_entry *sorted = tally_sorted(&sums->total, false);
	size_t shown = 0;
	struct time_unit unit = time_unit_for(sums->sum);
	char total[16];
	const struct column columns[] = {
		{total, false, 0},
		{"%", false, 0},
		{"line", true, TEXT_TRUNCATE_START},
		{"function", true, TEXT_TRUNCATE_MIDDLE},
		{report->active > 1 ? "process" : NULL, true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	bool news = false;

	snprintf(total, sizeof(total), "total %s", unit.name);
	table_begin(&table, columns);
	for (size_t i = 0; i < sums->total.count && shown < report->rows; i++) {
		const struct tally_entry *entry = &sorted[i];

		if (is_library(&report->lines.lines.items[entry->key.part[0]]) || !entry->ns)
			continue;
		news |= tally_at(&sums->self, entry->key)->ns != entry->ns;
		table_add_number(&table, number_in(entry->ns, unit));
		table_add_number(&table, number_percent((double)entry->ns, (double)sums->sum));
		add_line_cells(report, &table, entry->key.part[0], entry->more);
		shown++;
	}
	if (news)
		report_title(report, "GPU time under lines of your own code", "launched there or by what they call");
	table_end(&table, news ? report->out : NULL, report->width, report->color);
	free(sorted);
}

void report_gpu_by_line(struct report *report)
{
	struct line_sums sums = {0};

	sum_gpu(report, &sums);
	put_gpu_self(report, &sums);
	put_gpu_own(report, &sums);
	free_sums(&sums);
}

static void put_calls_by_line(struct report *report, struct line_sums *sums)
{
	struct tally_entry *sorted = tally_sorted(&sums->self, false);
	size_t count = sums->self.count, shown = count < report->rows ? count : report->rows;
	const struct column columns[] = {
		{"launches", false, 0},
		{"with callees", false, 0},
		{"%", false, 0},
		{"line", true, TEXT_TRUNCATE_START},
		{"function", true, TEXT_TRUNCATE_MIDDLE},
		{report->active > 1 ? "process" : NULL, true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	uint64_t rest = 0;

	report_title(report, "CUDA calls by Python line", "kernel and graph launches, copies, fills");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		table_add_number(&table, number_count(sorted[i].ns));
		table_add_number(&table, number_count(tally_at(&sums->total, sorted[i].key)->ns));
		table_add_number(&table, number_percent((double)sorted[i].ns, (double)sums->sum));
		add_line_cells(report, &table, sorted[i].key.part[0], sorted[i].more);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < count; i++)
		rest += sorted[i].ns;
	report_more(report, count - shown, "lines", number_count(rest), "launches");
	free(sorted);
}

void report_calls_by_line(struct report *report)
{
	struct line_sums sums = {0};

	sum_calls(report, &sums);
	if (sums.self.count)
		put_calls_by_line(report, &sums);
	free_sums(&sums);
}

static void put_untimed(struct report *report, const struct tally *launches, uint64_t sum)
{
	struct tally_entry *sorted = tally_sorted(launches, true);
	size_t count = launches->count, shown = count < report->rows ? count : report->rows;
	const struct column columns[] = {
		{"launches", false, 0},
		{"%", false, 0},
		{"line", true, TEXT_TRUNCATE_START},
		{"function", true, TEXT_TRUNCATE_MIDDLE},
		{report->active > 1 ? "process" : NULL, true, TEXT_TRUNCATE_MIDDLE},
		{NULL, false, 0},
	};
	struct table table;
	uint64_t rest = 0;

	report_title(report, "Launches without GPU times by Python line",
		     "not in the tables of GPU time; why: the lines under Complete");
	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		table_add_number(&table, number_count(sorted[i].count));
		table_add_number(&table, number_percent((double)sorted[i].count, (double)sum));
		add_line_cells(report, &table, sorted[i].key.part[0], sorted[i].more);
	}
	table_end(&table, report->out, report->width, report->color);
	for (size_t i = shown; i < count; i++)
		rest += sorted[i].count;
	report_more(report, count - shown, "lines", number_count(rest), "launches");
	free(sorted);
}

void report_untimed_launches(struct report *report)
{
	const struct model *model = report->model;
	struct tally launches = {0};
	uint64_t sum = 0;

	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *call = &model->calls[i];
		struct tally_entry *entry;

		if (!launch_lacks_times(launch_fate(model, call)))
			continue;
		entry = tally_at(&launches, (struct tally_key){{line_of_call(&report->lines, call)}});
		entry->count++;
		process_note(&entry->more, model->threads[call->thread].process);
		sum++;
	}
	if (sum)
		put_untimed(report, &launches, sum);
	tally_free(&launches);
}
