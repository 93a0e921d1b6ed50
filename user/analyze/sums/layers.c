/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes rows of the modules that stacks with GPU time refer to. */
#include "analyze/sums/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* One of model.modules that some stack refers to. */
struct referenced {
	const struct model_module *module;
	uint32_t index;
	uint32_t root; /* as in layer_row; 0 while not known */
	uint32_t roots;
};

struct maker {
	struct layers *layers;
	const struct model *model;
	ARRAY(struct referenced) referenced;
	uint32_t *row_of;		  /* by model.modules: index of the row + 1; 0: no stack refers to it */
	uint64_t *stamps;		  /* by row: the last entry that was added to its total */
	size_t kinds[LAYER_NO_STACK + 1]; /* index of the row of that kind + 1; 0: none so far */
};

/* ---- modules that are one row ------------------------------------------------------------------------------------ */

static bool is_unnamed(const struct model_module *module)
{
	return *module->unnamed;
}

static int by_root(const void *left, const void *right)
{
	const struct model_module *a = ((const struct referenced *)left)->module,
				  *b = ((const struct referenced *)right)->module;

	return least_first(is_unnamed(a), is_unnamed(b)) ?: least_first(a->process, b->process) ?:
	       strcmp(a->root_class, b->root_class) ?: least_first(a->root, b->root);
}

static int by_row(const void *left, const void *right)
{
	const struct referenced *a = left, *b = right;

	return least_first(is_unnamed(a->module), is_unnamed(b->module)) ?:
	       least_first(a->module->process, b->module->process) ?:
	       strcmp(a->module->root_class, b->module->root_class) ?: least_first(a->root, b->root) ?:
	       strcmp(a->module->name, b->module->name) ?: strcmp(a->module->class, b->module->class);
}

/* Numbers the roots of each class where there are several, but not too many. */
static void number_roots(struct referenced *list, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		const struct model_module *first = list[from].module;
		uint32_t roots = 1;

		for (to = from + 1; to < count; to++) {
			const struct model_module *next = list[to].module;

			if (is_unnamed(next) != is_unnamed(first) || next->process != first->process ||
			    strcmp(next->root_class, first->root_class) != 0)
				break;
			roots += next->root != list[to - 1].module->root;
		}
		for (size_t i = from; i < to && !is_unnamed(first); i++) {
			bool separate = roots > 1 && roots <= LAYER_ROOTS_SEPARATE;

			list[i].root = separate ? list[i].module->root : 0;
			list[i].roots = separate ? 1 : roots;
		}
	}
}

static void note_modules(struct maker *maker, uint32_t stack)
{
	const struct model_stack *of = &maker->model->stacks[stack];

	for (uint32_t i = 0; i < of->module_count; i++) {
		uint32_t index = maker->model->stack_modules[of->first_module + i];

		if (maker->row_of[index])
			continue;
		maker->row_of[index] = 1;
		array_push(&maker->referenced,
			   ((struct referenced){.module = &maker->model->modules[index], .index = index}));
	}
}

static void add_row(struct layers *layers, struct layer_row row)
{
	row.number = (uint32_t)layers->count;
	layers->rows[layers->count++] = row;
}

static void make_module_rows(struct maker *maker)
{
	struct referenced *list = maker->referenced.items;
	struct layers *layers = maker->layers;

	qsort(list, maker->referenced.count, sizeof(*list), by_root);
	number_roots(list, maker->referenced.count);
	layers->modules = (uint32_t)maker->referenced.count;
	qsort(list, maker->referenced.count, sizeof(*list), by_row);
	for (size_t i = 0; i < maker->referenced.count; i++) {
		bool unnamed = is_unnamed(list[i].module);

		layers->unnamed += unnamed;
		if (!i || by_row(&list[i - 1], &list[i]))
			add_row(layers, (struct layer_row){.kind = unnamed ? LAYER_UNNAMED : LAYER_MODULE,
							   .module = list[i].index,
							   .root = list[i].root,
							   .roots = list[i].roots,
							   .process = list[i].module->process});
		maker->row_of[list[i].index] = (uint32_t)layers->count;
	}
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static const struct model_stack *stack_of(const struct maker *maker, uint32_t place)
{
	return place < CALLER_NO_FRAME ? &maker->model->stacks[place] : NULL;
}

static struct layer_row *row_of_kind(struct maker *maker, enum layer_kind kind, uint32_t process)
{
	struct layers *layers = maker->layers;
	struct layer_row *row;

	if (!maker->kinds[kind]) {
		add_row(layers, (struct layer_row){.kind = kind, .module = NONE, .process = NONE});
		maker->kinds[kind] = layers->count;
	}
	row = &layers->rows[maker->kinds[kind] - 1];
	process_note(&row->process, process);
	return row;
}

/* The row of the innermost module of a stack; NULL: none is known. */
static struct layer_row *innermost_row(const struct maker *maker, const struct model_stack *stack)
{
	uint32_t last;

	if (!stack || !stack->module_count || stack->module_missing)
		return NULL;
	last = stack->first_module + stack->module_count - 1;
	return &maker->layers->rows[maker->row_of[maker->model->stack_modules[last]] - 1];
}

static bool misses_module(const struct model_stack *stack)
{
	return stack && stack->module_missing;
}

/* What was captured into a graph without a module may be replayed by one. */
static struct layer_row *own_row(struct maker *maker, const struct tally_entry *entry)
{
	const uint32_t *part = entry->key.part;
	const struct model_stack *stack = stack_of(maker, part[0]), *replay = stack_of(maker, part[2]);
	struct layer_row *row = innermost_row(maker, stack);

	if (!row && !misses_module(stack))
		row = innermost_row(maker, replay);
	if (row)
		return row;
	if (misses_module(stack) || misses_module(replay))
		return row_of_kind(maker, LAYER_MISSING, part[1]);
	if (part[3])
		return row_of_kind(maker, LAYER_BACKWARD, part[1]);
	return row_of_kind(maker, stack ? LAYER_NONE : LAYER_NO_STACK, part[1]);
}

/* Adds to the total of each module of a stack that has not got this entry. */
static void add_totals(const struct maker *maker, const struct model_stack *stack, uint64_t ns, uint64_t stamp)
{
	for (uint32_t i = 0; stack && i < stack->module_count; i++) {
		uint32_t row = maker->row_of[maker->model->stack_modules[stack->first_module + i]] - 1;

		if (maker->stamps[row] != stamp)
			maker->layers->rows[row].total += ns;
		maker->stamps[row] = stamp;
	}
}

static void add_entry(struct maker *maker, const struct tally_entry *entry, uint64_t stamp)
{
	struct layer_row *row = own_row(maker, entry);

	row->self += entry->ns;
	row->launches += entry->count;
	if (row->module == NONE)
		row->total += entry->ns;
	add_totals(maker, stack_of(maker, entry->key.part[0]), entry->ns, stamp);
	add_totals(maker, stack_of(maker, entry->key.part[2]), entry->ns, stamp);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int by_self(const void *left, const void *right)
{
	const struct layer_row *a = left, *b = right;

	return most_first(a->self, b->self) ?: most_first(a->total, b->total) ?: least_first(a->number, b->number);
}

void layers_finish(struct layers *layers, const struct model *model, struct line_sums *sums)
{
	const struct tally *stacks = gpu_tally_all(&sums->stacks);
	struct maker maker = {.layers = layers, .model = model};

	*layers = (struct layers){.model = model, .sum = sums->sum};
	maker.row_of = xcalloc(model->module_count + 1, sizeof(*maker.row_of));
	for (size_t i = 0; i < stacks->count; i++)
		for (unsigned part = 0; part <= 2; part += 2)
			if (stacks->entries[i].key.part[part] < CALLER_NO_FRAME)
				note_modules(&maker, stacks->entries[i].key.part[part]);
	if (maker.referenced.count) {
		layers->rows = xcalloc(maker.referenced.count + LAYER_NO_STACK + 1, sizeof(*layers->rows));
		maker.stamps = xcalloc(maker.referenced.count, sizeof(*maker.stamps));
		make_module_rows(&maker);
		for (size_t i = 0; i < stacks->count; i++)
			add_entry(&maker, &stacks->entries[i], i + 1);
		qsort(layers->rows, layers->count, sizeof(*layers->rows), by_self);
	}
	array_free(&maker.referenced);
	free(maker.row_of);
	free(maker.stamps);
}

void layers_free(struct layers *layers)
{
	free(layers->rows);
}
