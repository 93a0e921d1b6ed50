/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps sums by stack while events come; makes lines of them at the end. */
#include "analyze/sums/line_sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

void line_sums_init(struct line_sums *sums, const struct model *model)
{
	*sums = (struct line_sums){.model = model};
}

void line_sums_free(struct line_sums *sums)
{
	gpu_tally_free(&sums->stacks);
	tally_free(&sums->user_lines);
	free(sums->rows);
	free(sums->totals);
}

static struct tally_key key_of(const struct model *model, uint32_t stack, uint32_t caller, uint32_t process,
			       uint32_t replay)
{
	uint32_t place = caller_place(model, stack, caller);

	return (struct tally_key){{place, process, place < CALLER_NO_FRAME ? replay : NONE}};
}

struct tally_key line_sums_key(const struct model *model, const struct gpu_event *event)
{
	struct tally_key key = key_of(model, event->stack, event->caller, event->op->process, event->replay);

	key.part[3] = call_pass(model, event->attributed);
	return key;
}

void line_sums_add_gpu(struct line_sums *sums, const struct gpu_event *event)
{
	uint64_t ns = gpu_ns(event->op);
	struct tally_entry *sum = gpu_tally_at(&sums->stacks, event->op, line_sums_key(sums->model, event));

	sum->ns += ns;
	sum->count += event->attributed != event->launch || event->first;
	sums->sum += ns;
	sums->backward[backward_place(event->attributed)] += ns;
}

void line_sums_add_call(struct line_sums *sums, const struct call_event *event)
{
	struct tally_entry *sum;

	if (!call_is_work(event->call))
		return;
	sum = tally_at(&sums->stacks.timed, key_of(sums->model, event->stack, event->caller, event->process, NONE));
	sum->ns++;
	sum->count++;
	sums->sum++;
	sums->backward[backward_place(event->call)]++;
}

void line_sums_add_time(struct line_sums *sums, uint32_t stack, uint32_t caller, uint32_t process, uint64_t ns)
{
	struct tally_entry *sum = tally_at(&sums->stacks.timed, key_of(sums->model, stack, caller, process, NONE));

	sum->ns += ns;
	sum->count++;
	sums->sum += ns;
}

/* Adds to the total of each line of a stack, unless the line has the stamp. */
static void add_stack(const struct line_sums *sums, struct lines *lines, const struct tally_entry *entry,
		      uint32_t index, uint32_t *stamps, uint32_t stamp)
{
	const struct model *model = sums->model;
	const struct model_stack *stack = &model->stacks[index];

	for (uint32_t k = 0; k < stack->depth; k++) {
		uint32_t line = line_of(lines, model->stack_frames[stack->first + k]);

		if (stamps[line] == stamp)
			continue;
		stamps[line] = stamp;
		sums->totals[line].total += entry->ns;
		process_note(&sums->totals[line].process, entry->key.part[1]);
	}
}

static void sum_totals(struct line_sums *sums, const struct tally *stacks, struct lines *lines)
{
	AUTO_FREE uint32_t *stamps = xcalloc(lines->all.count, sizeof(*stamps));

	for (size_t i = 0; i < stacks->count; i++) {
		const struct tally_entry *entry = &stacks->entries[i];
		uint32_t stamp = (uint32_t)i + 1;

		if (entry->key.part[0] >= CALLER_NO_FRAME) {
			sums->totals[lines_of_place(lines, entry->key.part[0]).line].total += entry->ns;
			continue;
		}
		add_stack(sums, lines, entry, entry->key.part[0], stamps, stamp);
		if (entry->key.part[2] != NONE)
			add_stack(sums, lines, entry, entry->key.part[2], stamps, stamp);
	}
}

/* own: key line; more: index of its row + 1. */
static void find_user_lines(struct line_sums *sums, const struct tally *stacks, struct lines *lines, struct tally *own)
{
	struct tally users = {0};
	AUTO_FREE struct tally_entry *sorted = NULL;

	for (size_t i = 0; i < stacks->count; i++) {
		struct place_lines at = lines_of_place(lines, stacks->entries[i].key.part[0]);
		struct tally_entry *sum;

		if (at.user_line == NONE && at.generated == NONE)
			continue;
		sum = tally_at(&users, (struct tally_key){{at.line, at.user_line, at.generated}});
		sum->ns += stacks->entries[i].ns;
		sum->count += stacks->entries[i].count;
	}
	sorted = tally_sorted(&users, false);
	for (size_t i = 0; i < users.count; i++) {
		const uint32_t *part = sorted[i].key.part;
		struct line_row *row = &sums->rows[tally_at(own, (struct tally_key){{part[0]}})->more - 1];

		if (row->user_lines++)
			continue;
		row->user_line = part[1];
		row->generated_line = part[2];
	}
	tally_free(&users);
}

static void sum_own(struct line_sums *sums, const struct tally *stacks, struct lines *lines)
{
	struct tally own = {0}; /* key: line; more: index of the row + 1 */

	sums->rows = xcalloc(stacks->count, sizeof(*sums->rows));
	for (size_t i = 0; i < stacks->count; i++) {
		const struct tally_entry *entry = &stacks->entries[i];
		struct place_lines at = lines_of_place(lines, entry->key.part[0]);
		struct tally_entry *line = tally_at(&own, (struct tally_key){{at.line}});
		uint32_t user_line = at.user_line == NONE ? at.line : at.user_line;
		struct line_row *row;

		tally_at(&sums->user_lines, (struct tally_key){{user_line}})->ns += entry->ns;
		if (!line->more) {
			sums->rows[sums->count] = (struct line_row){
				.line = line->key.part[0], .process = NONE, .user_line = NONE, .generated_line = NONE};
			line->more = ++sums->count;
		}
		row = &sums->rows[line->more - 1];
		row->self += entry->ns;
		row->launches += entry->count;
		process_note(&row->process, entry->key.part[1]);
	}
	find_user_lines(sums, stacks, lines, &own);
	tally_free(&own);
}

DEFINE_ORDER(by_self, struct line_row,
	     most_first(a->self, b->self) ?: most_first(a->launches, b->launches) ?: least_first(a->line, b->line))

DEFINE_ORDER(by_total, struct line_row, most_first(a->total, b->total) ?: least_first(a->line, b->line))

/* Until here totals has a row for every line. */
static void keep_totals(struct line_sums *sums, const struct lines *lines)
{
	for (size_t i = 0; i < sums->count; i++) {
		struct line_row *total = &sums->totals[sums->rows[i].line];

		sums->rows[i].total = total->total;
		total->self = sums->rows[i].self;
		total->launches = sums->rows[i].launches;
	}
	for (uint32_t i = 0; i < lines->all.count; i++)
		if (sums->totals[i].total && !lines->all.items[i].reason)
			sums->totals[sums->total_count++] = sums->totals[i];
}

void line_sums_finish(struct line_sums *sums, struct lines *lines)
{
	const struct tally *stacks = gpu_tally_all(&sums->stacks);

	sum_own(sums, stacks, lines);
	sums->totals = xcalloc(lines->all.count, sizeof(*sums->totals));
	for (uint32_t i = 0; i < lines->all.count; i++)
		sums->totals[i] = (struct line_row){.line = i, .process = NONE};
	sum_totals(sums, stacks, lines);
	keep_totals(sums, lines);
	qsort(sums->rows, sums->count, sizeof(*sums->rows), by_self);
	qsort(sums->totals, sums->total_count, sizeof(*sums->totals), by_total);
}
