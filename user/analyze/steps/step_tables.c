/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the steps with rows, sums as events come, then chooses the ops to list. */
#include "analyze/steps/step_tables.h"

#include <stdlib.h>

#include "base/order.h"

/* An op with less than this share (1/20) of a step's extra time explains nothing. */
#define SHOWN_SHARE 20

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static uint64_t wall_of(const struct step *step)
{
	return step->end_ns > step->start_ns ? step->end_ns - step->start_ns : 0;
}

static int by_wall(const void *left, const void *right, void *context)
{
	const struct step *list = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	uint64_t wall_a = wall_of(&list[a]), wall_b = wall_of(&list[b]);

	return most_first(wall_a, wall_b) ?: least_first(a, b);
}

static void begin_row(struct step_row *row, const struct step *step, const struct model *model)
{
	row->step = *step;
	ops_by_name_init(&row->ops, model);
}

/* In `order` the slowest step is first. */
static size_t from_slowest(const struct step_table *table, size_t from_least)
{
	return table->count - 1 - from_least;
}

/* The step that one in a hundred exceeds: it may be among the slowest. */
static void add_p99(struct step_table *table, const size_t *order, const struct model *model)
{
	size_t at = from_slowest(table, p99_of_order(table->count));

	table->p99 = SIZE_MAX;
	if (table->count < STEP_P99_MIN || wall_of(&table->list[order[at]]) == wall_of(&table->median.step))
		return;
	table->p99 = at;
	if (at < table->slowest_count)
		return;
	table->p99 = table->slowest_count++;
	begin_row(&table->slowest[table->p99], &table->list[order[at]], model);
}

/* Begins rows for the slowest steps, and for the one with as many slower as faster steps. */
static void begin_rows(struct step_table *table, const struct model *model)
{
	AUTO_FREE size_t *order = xmalloc(table->count * sizeof(*order));
	size_t median = from_slowest(table, median_of_order(table->count));

	for (size_t i = 0; i < table->count; i++) {
		order[i] = i;
		table->wall_ns += wall_of(&table->list[i]);
	}
	qsort_r(order, table->count, sizeof(*order), by_wall, (void *)table->list);
	table->slowest_count = median < STEP_SLOWEST_MAX ? median : STEP_SLOWEST_MAX;
	begin_row(&table->median, &table->list[order[median]], model);
	while (table->slowest_count &&
	       wall_of(&table->list[order[table->slowest_count - 1]]) == wall_of(&table->median.step))
		table->slowest_count--;
	for (size_t i = 0; i < table->slowest_count; i++)
		begin_row(&table->slowest[i], &table->list[order[i]], model);
	add_p99(table, order, model);
}

static void add_table(struct step_tables *all, const struct step_track *track, uint32_t process,
		      const struct model *model)
{
	size_t first = step_track_first_whole(track);
	struct step_table table = {.track = track,
				   .process = process,
				   .list = track->list.items + first,
				   .count = track->list.count - first};

	if (!table.count)
		return;
	if (all->list.count == STEP_TABLES_MAX) {
		all->left_out++;
		return;
	}
	begin_rows(&table, model);
	array_push(&all->list, table);
	all->of_process[process] = (uint32_t)all->list.count;
}

void step_tables_init(struct step_tables *all, const struct steps *steps, const struct model *model)
{
	*all = (struct step_tables){0};
	if (!steps || !steps->tracks.count)
		return;
	all->of_process = xcalloc(model->process_count, sizeof(*all->of_process));
	for (uint32_t i = 0; i < model->process_count; i++) {
		const struct step_track *track = steps_of_process(steps, model, i);

		if (track)
			add_table(all, track, i, model);
	}
}

/* The rows of a table; the median row is last. */
static struct step_row *row_at(struct step_table *table, size_t index)
{
	return index < table->slowest_count ? &table->slowest[index] : &table->median;
}

void step_tables_begin_part(struct step_tables *all, const struct model *part)
{
	for (size_t t = 0; t < all->list.count; t++)
		for (size_t i = 0; i <= all->list.items[t].slowest_count; i++)
			row_at(&all->list.items[t], i)->ops.model = part;
}

void step_tables_free(struct step_tables *all)
{
	for (size_t t = 0; t < all->list.count; t++)
		for (size_t i = 0; i <= all->list.items[t].slowest_count; i++)
			ops_by_name_free(&row_at(&all->list.items[t], i)->ops);
	array_free(&all->list);
	free(all->of_process);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct step_table *table_of(struct step_tables *all, uint32_t process)
{
	return all->of_process && all->of_process[process] ? &all->list.items[all->of_process[process] - 1] : NULL;
}

/* The step at that time, NULL: none.  Times do not decrease. */
static const struct step *step_of(struct step_table *table, uint64_t time_ns)
{
	while (table->at < table->count && table->list[table->at].end_ns <= time_ns)
		table->at++;
	if (table->at == table->count || table->list[table->at].start_ns > time_ns)
		return NULL;
	return &table->list[table->at];
}

/* The row of a step, NULL: it has none. */
static struct step_row *row_of(struct step_table *table, const struct step *step)
{
	for (size_t i = 0; step && i <= table->slowest_count; i++)
		if (row_at(table, i)->step.start_ns == step->start_ns)
			return row_at(table, i);
	return NULL;
}

static size_t slot_of(const struct step_table *table, const struct step *step)
{
	if (step->start_ns == table->median.step.start_ns)
		return STEP_SLOT_MEDIAN;
	return value_of_first(table->slowest_count, i, step->start_ns == table->slowest[i].step.start_ns, i,
			      STEP_SLOT_OTHER);
}

struct step_place step_tables_at(const struct step_tables *all, uint32_t process, uint64_t time_ns)
{
	size_t number = all->of_process ? all->of_process[process] : 0, at;
	const struct step_table *table;

	if (!number)
		return (struct step_place){.slot = 0, .until_ns = UINT64_MAX};
	table = &all->list.items[--number];
	at = step_at(table->list, table->count, time_ns);
	if (at != SIZE_MAX && time_ns < table->list[at].end_ns)
		return (struct step_place){.slot = step_slot(number, slot_of(table, &table->list[at])),
					   .until_ns = table->list[at].end_ns};
	at = at == SIZE_MAX ? 0 : at + 1;
	return (struct step_place){.slot = step_slot(number, STEP_SLOT_OUTSIDE),
				   .until_ns = at < table->count ? table->list[at].start_ns : UINT64_MAX};
}

/* ProfilerStep#N, or the range that marks the steps: that it took longer explains nothing. */
static bool is_step(const struct model_op *op, const struct step *step)
{
	return op->start_ns == step->start_ns && op->end_ns == step->end_ns;
}

void step_tables_add_op(struct step_tables *all, const struct op_event *event, uint32_t process)
{
	struct step_table *table = table_of(all, process);
	struct step_row *row = table ? row_of(table, step_of(table, event->op->start_ns)) : NULL;
	struct model_op op = *event->op;

	if (table)
		table->has_ops = true;
	if (!row || is_step(&op, &row->step))
		return;
	if (op.end_ns > row->step.end_ns)
		op.end_ns = row->step.end_ns;
	ops_by_name_add_op(&row->ops, &(struct op_event){.op = &op});
}

void step_tables_add_call(struct step_tables *all, const struct call_event *event)
{
	struct step_table *table = table_of(all, event->process);
	const struct step *step = table ? step_of(table, event->call->start_ns) : NULL;
	bool is_launch = event->call->class == GPT_CLASS_LAUNCH || event->call->class == GPT_CLASS_GRAPH;
	struct model_call call = *event->call;
	struct call_event of_op = *event;
	struct step_row *row;

	if (!step)
		return;
	is_launch = is_launch && !call_failed(event->call);
	table->launches += is_launch;
	table->untimed += launch_lacks_times(event->fate);
	row = row_of(table, step);
	if (!row)
		return;
	row->launches += is_launch;
	/* keeps the call's time in its op's own time: a wait is why a step is slow */
	call.end_ns = 0;
	of_op.call = &call;
	ops_by_name_add_call(&row->ops, &of_op);
}

/* Adds what of [from, to) lies in steps, which may be later ones, too. */
static void add_busy(struct step_table *table, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = table->at; i < table->count && table->list[i].start_ns < to_ns; i++) {
		const struct step *step = &table->list[i];
		uint64_t start_ns = step->start_ns > from_ns ? step->start_ns : from_ns;
		uint64_t end_ns = step->end_ns < to_ns ? step->end_ns : to_ns;
		struct step_row *row;

		if (end_ns <= start_ns)
			continue;
		row = row_of(table, step);
		table->busy_ns += end_ns - start_ns;
		if (row)
			row->busy_ns += end_ns - start_ns;
	}
}

void step_tables_add_gpu(struct step_tables *all, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct step_table *table = table_of(all, op->process);
	uint64_t from_ns;

	if (!table || !gpu_ns(op))
		return;
	table->has_gpu = true;
	step_of(table, op->start_ns);
	from_ns = op->start_ns > table->busy_until_ns ? op->start_ns : table->busy_until_ns;
	if (op->end_ns <= from_ns)
		return;
	add_busy(table, from_ns, op->end_ns);
	table->busy_until_ns = op->end_ns;
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static void insert_op(struct step_row *row, struct step_op op)
{
	size_t at = row->more_count;

	while (at && row->more[at - 1].more_ns < op.more_ns)
		at--;
	if (at == STEP_OPS_MAX)
		return;
	if (row->more_count < STEP_OPS_MAX)
		row->more_count++;
	for (size_t i = row->more_count - 1; i > at; i--)
		row->more[i] = row->more[i - 1];
	row->more[at] = op;
}

static struct tally_key key_of(const struct op_row *op, bool on_gpu)
{
	return (struct tally_key){{op->name, op->annotated, on_gpu}};
}

static void compare_with_median(struct step_row *row, struct tally *usual, const struct step_row *median)
{
	uint64_t longer_ns = wall_of(&row->step) - wall_of(&median->step);

	array_each (op, &row->ops.rows) {
		for (int on_gpu = 0; on_gpu < 2 && !op->hidden; on_gpu++) {
			uint64_t ns = on_gpu ? op->gpu_self_ns : op->cpu_self_ns;
			uint64_t usual_ns = tally_at(usual, key_of(op, on_gpu))->ns;

			if (ns > usual_ns && ns - usual_ns > longer_ns / SHOWN_SHARE)
				insert_op(row, (struct step_op){
						       .name = op->name, .on_gpu = on_gpu, .more_ns = ns - usual_ns});
		}
	}
}

void step_tables_finish(struct step_tables *all)
{
	array_each (table, &all->list) {
		struct tally usual = {0};

		array_each (op, &table->median.ops.rows) {
			tally_at(&usual, key_of(op, false))->ns = op->cpu_self_ns;
			tally_at(&usual, key_of(op, true))->ns = op->gpu_self_ns;
		}
		for (size_t i = 0; i < table->slowest_count; i++)
			compare_with_median(&table->slowest[i], &usual, &table->median);
		tally_free(&usual);
	}
}
