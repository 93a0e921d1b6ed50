/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes rows of the modules that stacks with GPU time or idle time refer to. */
#include "analyze/layers/layers.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

/* One of model.modules that some stack refers to. */
struct referenced {
	const struct model_module *module;
	uint32_t index;
};

struct maker {
	struct layers *layers;
	const struct model *model;
	const struct layer_sources *sources;
	ARRAY(struct referenced) referenced;
	uint32_t *row_of;		    /* by model.modules: index of the row + 1; 0: no stack refers to it */
	uint64_t *stamps;		    /* by row and then by class: the last entry that was added to its total */
	uint64_t stamp;			    /* the current entry */
	struct tally kinds;		    /* kind, process; more: index of the row + 1 */
	uint32_t kind_classes[LAYER_KINDS]; /* index of the class of that kind + 1; 0: none so far */
	size_t most;			    /* rows, and classes */
	ARRAY(uint32_t) path;		    /* rows of the current entry, outermost first */
};

/* ---- whose an amount is ------------------------------------------------------------------------------------------ */

static bool misses_module(const struct model *model, uint32_t place)
{
	const struct model_stack *stack = model_known_stack(model, place);

	return stack && stack->module_missing;
}

struct layer_owner layer_owner_of(const struct model *model, uint32_t place, uint32_t replay, enum layer_kind rest)
{
	const struct model_module *module = model_innermost_module(model, place);

	if (!module && !misses_module(model, place))
		module = model_innermost_module(model, replay);
	if (module)
		return (struct layer_owner){*module->unnamed ? LAYER_UNNAMED : LAYER_MODULE,
					    (uint32_t)(module - model->modules)};
	if (misses_module(model, place) || misses_module(model, replay))
		rest = LAYER_MISSING;
	return (struct layer_owner){rest, NONE};
}

/* ---- modules that are one row ------------------------------------------------------------------------------------ */

static bool is_unnamed(const struct model_module *module)
{
	return *module->unnamed;
}

static int by_row(const void *left, const void *right)
{
	const struct model_module *a = ((const struct referenced *)left)->module,
				  *b = ((const struct referenced *)right)->module;

	return least_first(is_unnamed(a), is_unnamed(b)) ?: least_first(a->process, b->process) ?:
	       strcmp(a->label, b->label) ?: strcmp(a->class, b->class);
}

static int by_row_and_root(const void *left, const void *right)
{
	const struct referenced *a = left, *b = right;

	return by_row(left, right) ?: least_first(a->module->root, b->module->root);
}

static void note_modules(struct maker *maker, uint32_t place)
{
	const struct model_stack *of = model_known_stack(maker->model, place);

	for (uint32_t i = 0; of && i < of->module_count; i++) {
		uint32_t index = maker->model->stack_modules[of->first_module + i].module;

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

	layers->modules = (uint32_t)maker->referenced.count;
	qsort(list, maker->referenced.count, sizeof(*list), by_row_and_root);
	for (size_t i = 0; i < maker->referenced.count; i++) {
		bool unnamed = is_unnamed(list[i].module);

		layers->unnamed += unnamed;
		if (!i || by_row(&list[i - 1], &list[i]))
			add_row(layers, (struct layer_row){.kind = unnamed ? LAYER_UNNAMED : LAYER_MODULE,
							   .module = list[i].index,
							   .roots = !unnamed,
							   .process = list[i].module->process});
		else if (!unnamed)
			layers->rows[layers->count - 1].roots += list[i].module->root != list[i - 1].module->root;
		maker->row_of[list[i].index] = (uint32_t)layers->count;
	}
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static int by_class(const void *left, const void *right)
{
	return strcmp(((const struct referenced *)left)->module->class,
		      ((const struct referenced *)right)->module->class);
}

static void add_class(struct layers *layers, enum layer_kind kind, uint32_t module)
{
	layers->classes[layers->class_count] = (struct layer_class){
		.kind = kind, .module = module, .process = NONE, .number = (uint32_t)layers->class_count};
	layers->class_count++;
}

/* Puts a row into the latest class. */
static void put_into_class(struct layers *layers, struct layer_row *row)
{
	struct layer_class *class = &layers->classes[layers->class_count - 1];

	row->class = class->number;
	process_note(&class->process, row->process);
}

static void make_classes(struct maker *maker)
{
	struct referenced *list = maker->referenced.items;
	struct layers *layers = maker->layers;
	AUTO_FREE bool *is_put = xcalloc(layers->count, sizeof(*is_put));

	qsort(list, maker->referenced.count, sizeof(*list), by_class);
	for (size_t i = 0; i < maker->referenced.count; i++) {
		uint32_t row = maker->row_of[list[i].index] - 1;

		if (!i || by_class(&list[i - 1], &list[i]))
			add_class(layers, LAYER_MODULE, list[i].index);
		layers->classes[layers->class_count - 1].layers++;
		if (!is_put[row])
			put_into_class(layers, &layers->rows[row]);
		is_put[row] = true;
	}
}

/* ---- amounts ----------------------------------------------------------------------------------------------------- */

/* Where an amount was launched, or is to blame: as in layer_owner_of. */
struct source {
	uint32_t place, replay;
	uint32_t process;
	enum layer_kind rest;
};

static void add_row_of_kind(struct maker *maker, enum layer_kind kind, uint32_t process)
{
	struct layers *layers = maker->layers;
	struct layer_class *class;

	if (!maker->kind_classes[kind]) {
		add_class(layers, kind, NONE);
		maker->kind_classes[kind] = (uint32_t)layers->class_count;
	}
	class = &layers->classes[maker->kind_classes[kind] - 1];
	process_note(&class->process, process);
	add_row(layers, (struct layer_row){.kind = kind, .module = NONE, .process = process, .class = class->number});
}

static struct layer_row *row_of_kind(struct maker *maker, enum layer_kind kind, uint32_t process)
{
	struct tally_entry *entry = tally_at(&maker->kinds, (struct tally_key){{kind, process}});

	if (!entry->more) {
		add_row_of_kind(maker, kind, process);
		entry->more = maker->layers->count;
	}
	return &maker->layers->rows[entry->more - 1];
}

static uint32_t row_of_module(const struct maker *maker, const struct model_stack *stack, uint32_t number)
{
	return maker->row_of[maker->model->stack_modules[stack->first_module + number].module] - 1;
}

static struct layer_owner owner_of(const struct maker *maker, const struct source *source)
{
	return layer_owner_of(maker->model, source->place, source->replay, source->rest);
}

static struct layer_row *own_row(struct maker *maker, const struct source *source)
{
	struct layer_owner owner = owner_of(maker, source);

	return owner.module == NONE ? row_of_kind(maker, owner.kind, source->process)
				    : &maker->layers->rows[maker->row_of[owner.module] - 1];
}

static void push_row(struct maker *maker, uint32_t row)
{
	if (!maker->path.count || maker->path.items[maker->path.count - 1] != row)
		array_push(&maker->path, row);
}

/* How many of the first modules of a captured stack are the last ones of the path: the graph's launch was in them, too.
 */
static uint32_t count_common(const struct maker *maker, const struct model_stack *captured)
{
	uint32_t count = captured->module_count;

	if (count > maker->path.count)
		count = (uint32_t)maker->path.count;
	for (; count; count--) {
		const uint32_t *last = maker->path.items + maker->path.count - count;
		uint32_t same = 0;

		while (same < count && last[same] == row_of_module(maker, captured, same))
			same++;
		if (same == count)
			break;
	}
	return count;
}

/* The path of rows to the amount: the modules that launched a graph, those in which it was captured, its own row. */
static void make_path(struct maker *maker, const struct source *source, const struct layer_row *own)
{
	const struct model_stack *stack = model_known_stack(maker->model, source->place);
	const struct model_stack *replay = model_known_stack(maker->model, source->replay);

	maker->path.count = 0;
	for (uint32_t i = 0; replay && i < replay->module_count; i++)
		push_row(maker, row_of_module(maker, replay, i));
	for (uint32_t i = stack ? count_common(maker, stack) : 0; stack && i < stack->module_count; i++)
		push_row(maker, row_of_module(maker, stack, i));
	push_row(maker, own->number);
}

/* Adds to the total of each row of the path, and of its class, once. */
static void add_totals(struct maker *maker, const struct layer_amount *amount)
{
	struct layers *layers = maker->layers;
	uint64_t *row_stamps = maker->stamps, *class_stamps = maker->stamps + maker->most;

	maker->stamp++;
	for (size_t i = 0; i < maker->path.count; i++) {
		uint32_t row = maker->path.items[i], class = layers->rows[row].class;

		if (row_stamps[row] != maker->stamp)
			layer_amount_add(&layers->rows[row].total, amount);
		if (class_stamps[class] != maker->stamp)
			layer_amount_add(&layers->classes[class].total, amount);
		row_stamps[row] = class_stamps[class] = maker->stamp;
	}
}

/* Returns the node of the tree whose own amount it is. */
static uint32_t add_amount(struct maker *maker, const struct source *source, const struct layer_amount *amount)
{
	struct layer_row *own = own_row(maker, source);

	layer_amount_add(&maker->layers->all, amount);
	layer_amount_add(&own->self, amount);
	layer_amount_add(&maker->layers->classes[own->class].self, amount);
	make_path(maker, source, own);
	add_totals(maker, amount);
	return layer_tree_add(&maker->layers->tree, maker->path.items, maker->path.count, amount);
}

/* part: of a key of line_sums.stacks. */
static struct source source_of(const uint32_t part[4])
{
	struct layer_work work = layer_work_of(part[0], part[3]);

	return (struct source){.place = work.place, .replay = part[2], .process = part[1], .rest = work.rest};
}

static void add_gpu_time(struct maker *maker, const struct tally_entry *entry)
{
	struct source source = source_of(entry->key.part);
	struct layer_work work = layer_work_of(entry->key.part[0], entry->key.part[3]);
	bool is_recomputed = work.is_in_node && owner_of(maker, &source).module != NONE;

	add_amount(maker, &source,
		   &(struct layer_amount){
			   .ns = entry->ns,
			   .launches = entry->count,
			   .backward_ns = work.is_backward || (work.is_in_node && !is_recomputed) ? entry->ns : 0,
			   .recomputed_ns = is_recomputed ? entry->ns : 0});
}

static void add_idle(struct maker *maker, const struct idle *idle, const struct idle_charge *charge)
{
	uint32_t place = charge->what.part[0];
	struct layer_work work = layer_work_of(place, charge->launch_pass);

	add_amount(maker,
		   &(struct source){.place = work.place,
				    .replay = NONE,
				    .process = idle_charge_process(idle, charge),
				    .rest = place == NONE ? LAYER_NO_LINE : work.rest},
		   &(struct layer_amount){.idle_ns = charge->ns});
}

/* ---- parts of an amount ------------------------------------------------------------------------------------------ */

static void note_source(struct maker *maker, struct source source)
{
	note_modules(maker, source.place);
	note_modules(maker, source.replay);
}

static struct source source_of_holder(const struct maker *maker, size_t holder)
{
	const struct torch_memory_sums *memory = maker->sources->memory;
	const uint32_t *part = memory->by_holder.entries[holder].key.part;
	uint32_t process = memory->spaces.items[part[2]].process;

	return source_of((const uint32_t[]){part[0], process, NONE, part[3]});
}

static void add_memory(struct maker *maker)
{
	const struct torch_memory_sums *memory = maker->sources->memory;

	for (size_t i = 0; i < memory->holders.count; i++) {
		uint32_t space = memory->by_holder.entries[i].key.part[2];
		struct source source = source_of_holder(maker, i);

		if (memory->spaces.items[space].device_type != GPT_TORCH_CPU)
			add_amount(maker, &source,
				   &(struct layer_amount){.memory_bytes = memory->holders.items[i].at_peak});
	}
}

static void add_parts(struct maker *maker)
{
	struct layer_parts *parts = maker->sources->parts;
	const struct tally *kernels = gpu_tally_all(&parts->kernels), *steps = gpu_tally_all(&parts->steps);
	AUTO_FREE uint32_t *nodes = xcalloc(parts->sources.count, sizeof(*nodes)); /* by source */
	struct layers *layers = maker->layers;

	for (size_t i = 0; i < parts->sources.count; i++) {
		struct source source = source_of(parts->sources.entries[i].key.part);

		nodes[i] = add_amount(maker, &source, &(struct layer_amount){0});
	}
	for (size_t i = 0; i < kernels->count; i++) {
		const struct tally_entry *from = &kernels->entries[i];
		struct tally_entry *sum =
			tally_at(&layers->kernels, (struct tally_key){{nodes[from->key.part[0]], from->key.part[1]}});

		sum->ns += from->ns;
		sum->count += from->count;
	}
	for (size_t i = 0; i < steps->count; i++) {
		const uint32_t *part = steps->entries[i].key.part;

		tally_at(&layers->steps, (struct tally_key){{nodes[part[0]], part[1]}})->ns += steps->entries[i].ns;
	}
	for (size_t i = 0; i < parts->flops.count; i++) {
		struct source source = source_of(parts->flops.entries[i].key.part);

		add_amount(maker, &source, &(struct layer_amount){.flops = parts->flops.entries[i].ns});
	}
	add_memory(maker);
	layers->has_memory = maker->sources->memory->spaces.count;
	layers->has_flops = parts->has_shapes;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

const char *layer_kind_label(enum layer_kind kind)
{
	static const char *const labels[] = {
		[LAYER_MODULE] = "",
		[LAYER_UNNAMED] = "[no name]",
		[LAYER_BACKWARD] = "[backward]",
		[LAYER_NONE] = "[no module]",
		[LAYER_MISSING] = "[frames left out]",
		[LAYER_NO_STACK] = "[no Python stack]",
		[LAYER_NO_LINE] = "[no line to blame]",
	};

	return labels[kind];
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static int by_self(const void *left, const void *right)
{
	const struct layer_row *a = left, *b = right;

	return most_first(a->self.ns, b->self.ns) ?: most_first(a->total.ns, b->total.ns) ?:
	       least_first(a->number, b->number);
}

static int by_total(const void *left, const void *right)
{
	const struct layer_class *a = left, *b = right;

	return most_first(a->total.ns, b->total.ns) ?: most_first(a->self.ns, b->self.ns) ?:
	       least_first(a->number, b->number);
}

static void sort_rows(struct layers *layers)
{
	AUTO_FREE uint32_t *row_of = xcalloc(layers->count, sizeof(*row_of));

	qsort(layers->rows, layers->count, sizeof(*layers->rows), by_self);
	for (size_t i = 0; i < layers->count; i++)
		row_of[layers->rows[i].number] = (uint32_t)i;
	layer_tree_finish(&layers->tree, row_of);
	qsort(layers->classes, layers->class_count, sizeof(*layers->classes), by_total);
}

static void make_rows(struct maker *maker)
{
	const struct tally *stacks = gpu_tally_all(&maker->sources->gpu_time->stacks);
	const struct idle *idle = maker->sources->idle;
	struct layers *layers = maker->layers;

	maker->most = maker->referenced.count + (size_t)LAYER_KINDS * (maker->model->process_count + 1);
	layers->rows = xcalloc(maker->most, sizeof(*layers->rows));
	layers->classes = xcalloc(maker->most, sizeof(*layers->classes));
	maker->stamps = xcalloc(2 * maker->most, sizeof(*maker->stamps));
	make_module_rows(maker);
	make_classes(maker);
	for (size_t i = 0; i < stacks->count; i++)
		add_gpu_time(maker, &stacks->entries[i]);
	for (size_t i = 0; i < idle_charge_count(idle); i++) {
		struct idle_charge charge = idle_charge_at(idle, i);

		add_idle(maker, idle, &charge);
	}
	if (maker->sources->parts)
		add_parts(maker);
	sort_rows(layers);
}

/* Notes all modules that are to have a row. */
static void note_sources(struct maker *maker)
{
	const struct layer_sources *from = maker->sources;
	const struct tally *stacks = gpu_tally_all(&from->gpu_time->stacks);
	size_t flops = from->parts ? from->parts->flops.count : 0,
	       holders = from->parts ? from->memory->holders.count : 0;

	for (size_t i = 0; i < stacks->count; i++)
		note_source(maker, source_of(stacks->entries[i].key.part));
	for (size_t i = 0; i < idle_charge_count(from->idle); i++) {
		struct idle_charge charge = idle_charge_at(from->idle, i);

		note_modules(maker, layer_work_of(charge.what.part[0], charge.launch_pass).place);
	}
	for (size_t i = 0; i < flops; i++)
		note_source(maker, source_of(from->parts->flops.entries[i].key.part));
	for (size_t i = 0; i < holders; i++)
		note_source(maker, source_of_holder(maker, i));
}

void layers_finish(struct layers *layers, const struct layer_sources *sources)
{
	struct maker maker = {.layers = layers, .model = sources->model, .sources = sources};

	*layers = (struct layers){.model = sources->model, .sum = sources->gpu_time->sum};
	maker.row_of = xcalloc(sources->model->module_count + 1, sizeof(*maker.row_of));
	note_sources(&maker);
	if (maker.referenced.count)
		make_rows(&maker);
	array_free(&maker.referenced);
	array_free(&maker.path);
	tally_free(&maker.kinds);
	free(maker.row_of);
	free(maker.stamps);
}

void layers_free(struct layers *layers)
{
	free(layers->rows);
	free(layers->classes);
	layer_tree_free(&layers->tree);
	tally_free(&layers->kernels);
	tally_free(&layers->steps);
}
