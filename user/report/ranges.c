/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * GPU time by NVTX range: a range has the work that was launched while it was open on the launching thread.  What a
 * backward pass launches comes from threads of its own: it counts for the thread that called backward(), where only
 * one can have been it.
 */
#include <stdlib.h>
#include <string.h>

#include "report/parts.h"
#include "model/lookup.h"

/* Of a thread, open at once; no program means more, and a target cannot make this slow. */
#define OPEN_MAX 256u

struct open_ranges {
	uint32_t next, end; /* in model.ranges */
	uint32_t open[OPEN_MAX], count;
	uint32_t outermost; /* code of its latest call's outermost frame, NONE */
	uint32_t left_out;  /* ranges beyond OPEN_MAX */
};

struct ranges {
	struct report *report;
	uint32_t *row_names;	      /* by model.strings: the name that stands for it, NONE: not asked for yet */
	struct lookup prefixes;	      /* (1, hash) to the first of the names that PyTorch numbers */
	struct tally sums;	      /* name, domain; ns: of GPU work, count: of operations, more: index in totals */
	ARRAY(uint64_t) wall, number; /* by that index: time that the ranges lasted, and how many there were */
	struct open_ranges *threads;  /* of those that have ranges */
	uint32_t *of_thread;	      /* by model.threads: index in threads, NONE */
	uint32_t *first_of_process;   /* by model.processes: first of its threads in threads, NONE */
	uint32_t *next_of_process;    /* by threads: the next one of its process, NONE */
	uint32_t count;
	uint64_t covered_ns, covered_ops;
};

/*
 * emit_nvtx of PyTorch puts numbers of this one call behind an operator's name
 * (torch/csrc/autograd/profiler_legacy.cpp): those are one row.
 */
static size_t name_length(const char *name)
{
	static const char *const behind[] = {", seq = ", ", sizes = ", ", op_id = "};
	size_t length = strlen(name);

	for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
		const char *at = strstr(name, behind[i]);

		if (at && (size_t)(at - name) < length)
			length = (size_t)(at - name);
	}
	return length;
}

static uint32_t row_name(struct ranges *all, uint32_t string)
{
	const char *const *strings = all->report->model->strings;
	size_t length;
	uint32_t *first;

	if (all->row_names[string] != NONE)
		return all->row_names[string];
	length = name_length(strings[string]);
	first = lookup_put(&all->prefixes, 1, hash_bytes(all->prefixes.seed, strings[string], length), string);
	if (name_length(strings[*first]) == length && !memcmp(strings[*first], strings[string], length))
		all->row_names[string] = *first;
	else
		all->row_names[string] = string;
	return all->row_names[string];
}

static struct tally_entry *sum_of(struct ranges *all, const struct model_range *range)
{
	size_t known = all->sums.count;
	struct tally_entry *sum = tally_at(&all->sums, (struct tally_key){{row_name(all, range->name), range->domain}});

	if (all->sums.count != known) {
		sum->more = known;
		array_push(&all->wall, 0);
		array_push(&all->number, 0);
	}
	return sum;
}

static void open_ranges_of_threads(struct ranges *all)
{
	const struct model *model = all->report->model;

	all->threads = xcalloc(model->thread_count, sizeof(*all->threads));
	all->of_thread = xmalloc(model->thread_count * sizeof(*all->of_thread));
	all->next_of_process = xmalloc(model->thread_count * sizeof(*all->next_of_process));
	all->first_of_process = xmalloc(model->process_count * sizeof(*all->first_of_process));
	for (uint32_t i = 0; i < model->process_count; i++)
		all->first_of_process[i] = NONE;
	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		uint32_t *first = &all->first_of_process[thread->process];

		all->of_thread[i] = NONE;
		if (!thread->ranges)
			continue;
		all->of_thread[i] = all->count;
		all->threads[all->count] = (struct open_ranges){
			.next = thread->first_range, .end = thread->first_range + thread->ranges, .outermost = NONE};
		all->next_of_process[all->count] = *first;
		*first = all->count++;
	}
	for (uint32_t i = 0; i < model->range_count; i++) {
		const struct model_range *range = &model->ranges[i];
		struct tally_entry *sum;

		if (range->kind == MODEL_RANGE_MARK)
			continue;
		sum = sum_of(all, range);
		all->wall.items[sum->more] += range->end_ns - range->start_ns;
		all->number.items[sum->more]++;
	}
}

static void leave_ended(const struct model *model, struct open_ranges *thread, uint64_t time_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < thread->count; i++)
		if (model->ranges[thread->open[i]].end_ns >= time_ns)
			thread->open[kept++] = thread->open[i];
	thread->count = kept;
}

/* Which ranges of a thread are open at a time; times only go on. */
static void advance(const struct model *model, struct open_ranges *thread, uint64_t time_ns)
{
	for (; thread->next < thread->end && model->ranges[thread->next].start_ns <= time_ns; thread->next++) {
		const struct model_range *range = &model->ranges[thread->next];

		if (range->kind == MODEL_RANGE_MARK || range->end_ns < time_ns)
			continue;
		if (thread->count == OPEN_MAX)
			leave_ended(model, thread, time_ns);
		if (thread->count < OPEN_MAX)
			thread->open[thread->count++] = thread->next;
		else
			thread->left_out++;
	}
	leave_ended(model, thread, time_ns);
}

static uint32_t outermost_code(const struct model *model, const struct model_call *call)
{
	const struct model_stack *stack;

	if (call->stack == NONE)
		return NONE;
	stack = &model->stacks[call->stack];
	return model->frames[model->stack_frames[stack->first + stack->depth - 1]].code;
}

/* The thread that waits in backward(): has ranges open, began where the borrowed stack does, and is the only one. */
static struct open_ranges *caller_of_backward(struct ranges *all, const struct model_call *call)
{
	const struct model *model = all->report->model;
	uint32_t code = outermost_code(model, call), process = model->threads[call->thread].process;
	struct open_ranges *found = NULL;

	for (uint32_t i = all->first_of_process[process]; i != NONE; i = all->next_of_process[i]) {
		struct open_ranges *thread = &all->threads[i];

		if (thread->outermost != code || code == NONE)
			continue;
		if (found)
			return NULL;
		found = thread;
	}
	if (found)
		advance(model, found, call->start_ns);
	return found;
}

static struct open_ranges *ranges_of(struct ranges *all, const struct model_call *call)
{
	uint32_t thread = all->of_thread[call->thread];

	if (call->stack_state == GPT_STACK_BACKWARD)
		return caller_of_backward(all, call);
	if (thread == NONE)
		return NULL;
	advance(all->report->model, &all->threads[thread], call->start_ns);
	if (call->stack != NONE)
		all->threads[thread].outermost = outermost_code(all->report->model, call);
	return &all->threads[thread];
}

/* A name counts once, however often it is open. */
static bool is_open_before(struct ranges *all, const struct open_ranges *thread, uint32_t index)
{
	const struct model *model = all->report->model;
	const struct model_range *range = &model->ranges[thread->open[index]];

	for (uint32_t i = 0; i < index; i++)
		if (row_name(all, model->ranges[thread->open[i]].name) == row_name(all, range->name) &&
		    model->ranges[thread->open[i]].domain == range->domain)
			return true;
	return false;
}

static void add_call(struct ranges *all, const struct model_call *call)
{
	const struct model *model = all->report->model;
	struct open_ranges *thread = ranges_of(all, call);
	uint64_t ns = 0, count = 0;

	if (!thread || call->first_gpu == NONE)
		return;
	for (uint32_t op = call->first_gpu; op != NONE; op = model->gpu[op].next, count++)
		ns += gpu_ns(&model->gpu[op]);
	for (uint32_t i = 0; i < thread->count; i++) {
		struct tally_entry *sum;

		if (is_open_before(all, thread, i))
			continue;
		sum = sum_of(all, &model->ranges[thread->open[i]]);
		sum->ns += ns;
		sum->count += count;
	}
	all->covered_ns += thread->count ? ns : 0;
	all->covered_ops += thread->count ? count : 0;
}

static char *range_name(const struct model *model, const struct tally_key *key)
{
	const char *name = model->strings[key->part[0]], *domain = "";
	int length = (int)name_length(name);

	if (key->part[1] != NONE)
		domain = model->strings[key->part[1]];
	return xasprintf("%.*s%s%s%s", length ? length : 9, length ? name : "(no name)", *domain ? " [" : "", domain,
			 *domain ? "]" : "");
}

static void put_left_out(const struct ranges *all)
{
	uint64_t left_out = 0;

	for (uint32_t i = 0; i < all->count; i++)
		left_out += all->threads[i].left_out;
	if (left_out)
		report_line(all->report, "  %s ranges are not in this table: %u others were open on their thread",
			    number_count(left_out).text, OPEN_MAX);
}

static void put_table(struct ranges *all, struct time_unit unit)
{
	const struct column columns[] = {
		{unit.name, false, 0}, {"share %", false, 0}, {"ops", false, 0},
		{"ranges", false, 0},  {"open", false, 0},    {"range", true, TEXT_TRUNCATE_END},
		{NULL, false, 0},
	};
	struct report *report = all->report;
	struct tally_entry *sorted = tally_sorted(&all->sums, false);
	size_t shown = all->sums.count < report->rows ? all->sums.count : report->rows;
	struct table table;

	table_begin(&table, columns);
	for (size_t i = 0; i < shown; i++) {
		char *name = range_name(report->model, &sorted[i].key);

		table_add_number(&table, number_in(sorted[i].ns, unit));
		table_add_number(&table, number_percent((double)sorted[i].ns,
							(double)model_source(report->model)->receipt.gpu_ns));
		table_add_number(&table, number_count(sorted[i].count));
		table_add_number(&table, number_count(all->number.items[sorted[i].more]));
		table_add_number(&table, number_time(all->wall.items[sorted[i].more]));
		table_add(&table, name);
		free(name);
	}
	table_end(&table, report->out, report->width, report->color);
	if (all->sums.count > shown)
		report_line(report, "  ... and %s more ranges", number_count(all->sums.count - shown).text);
	free(sorted);
}

void report_ranges(struct report *report)
{
	struct ranges all = {.report = report};
	const struct model *model = report->model;
	uint64_t largest = 0;

	if (!model->range_count)
		return;
	all.row_names = xmalloc(model->string_count * sizeof(*all.row_names));
	for (uint32_t i = 0; i < model->string_count; i++)
		all.row_names[i] = NONE;
	lookup_init(&all.prefixes, hash_seed());
	open_ranges_of_threads(&all);
	for (uint32_t i = 0; i < model->call_count; i++)
		add_call(&all, &model->calls[i]);
	for (size_t i = 0; i < all.sums.count; i++)
		largest = all.sums.entries[i].ns > largest ? all.sums.entries[i].ns : largest;
	if (all.sums.count) {
		report_title(report, "GPU time by NVTX range",
			     "launched while it was open on that thread, ranges inside it too");
		put_table(&all, time_unit_for(largest));
		report_line(report, "  %s %% of GPU time was launched outside of all ranges",
			    number_percent((double)(model_source(model)->receipt.gpu_ns - all.covered_ns),
					   (double)model_source(model)->receipt.gpu_ns)
				    .text);
		put_left_out(&all);
	}
	lookup_free(&all.prefixes);
	free(all.row_names);
	tally_free(&all.sums);
	array_free(&all.wall);
	array_free(&all.number);
	free(all.threads);
	free(all.of_thread);
	free(all.first_of_process);
	free(all.next_of_process);
}
