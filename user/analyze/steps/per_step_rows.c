/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Makes rows of sums by block: first by the numbers of this trace, then by keys. */
#include "analyze/steps/per_step_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sums/kernel_family.h"
#include "base/order.h"
#include "base/path.h"

/* A row in the making: its cost and count in each block. */
struct draft {
	char *key, *place, *name;
	uint32_t what, api;
	double *cost, *count; /* by block */
};

struct drafts {
	struct analyses *all;
	const struct step_blocks *blocks; /* of all processes, or of one */
	ARRAY(struct draft) list;
	struct tally known; /* key: the caller's numbers; more: index + 1 */
};

/* ---- rows by key ------------------------------------------------------------------------------------------------- */

static struct draft *draft_at(struct drafts *drafts, struct tally_key key, bool *is_new)
{
	struct tally_entry *entry = tally_at(&drafts->known, key);
	uint32_t blocks = drafts->blocks->count;

	*is_new = !entry->more;
	if (*is_new) {
		array_push(&drafts->list,
			   ((struct draft){.api = NONE, .cost = xcalloc(2 * (size_t)blocks, sizeof(double))}));
		entry->more = drafts->list.count;
		drafts->list.items[entry->more - 1].count = drafts->list.items[entry->more - 1].cost + blocks;
	}
	return &drafts->list.items[entry->more - 1];
}

static void free_draft(struct draft *draft)
{
	free(draft->key);
	free(draft->place);
	free(draft->name);
	free(draft->cost);
}

DEFINE_ORDER(by_key, struct draft, strcmp(a->key, b->key) ?: strcmp(a->place, b->place))

static struct estimate of_no_step(const double *by_block)
{
	return (struct estimate){.mean = by_block[0], .variance = NAN};
}

/* Merges rows of one key into the first of them.  whole: their cost is not per step, and is in the first block. */
static void take_rows(struct per_step_rows *rows, struct drafts *drafts, bool whole)
{
	const struct step_blocks *blocks = drafts->blocks;
	size_t count = drafts->list.count, end;

	sort_items(drafts->list.items, count, sizeof(*drafts->list.items), by_key);
	for (size_t i = 0; i < count; i = end) {
		struct draft *first = &drafts->list.items[i];

		for (end = i + 1; end < count && !strcmp(drafts->list.items[end].key, first->key); end++)
			for (size_t block = 0; block < 2 * (size_t)blocks->count; block++)
				first->cost[block] += drafts->list.items[end].cost[block];
		array_push(&rows->list,
			   ((struct per_step_row){.key = first->key,
						  .place = first->place,
						  .name = first->name,
						  .what = first->what,
						  .api = first->api,
						  .cost = whole ? of_no_step(first->cost)
								: step_blocks_estimate(blocks, first->cost),
						  .count = step_blocks_estimate(blocks, first->count)}));
		first->key = first->place = first->name = NULL;
	}
	for (size_t i = 0; i < count; i++)
		free_draft(&drafts->list.items[i]);
	array_free(&drafts->list);
	tally_free(&drafts->known);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static uint32_t user_frame(struct lines *lines, const struct model *model, uint32_t index)
{
	const struct model_stack *stack = &model->stacks[index];

	for (uint32_t i = 0; i < stack->depth; i++) {
		uint32_t frame = model->stack_frames[stack->first + i];

		if (!line_is_library(lines, line_of(lines, frame)))
			return frame;
	}
	return model->stack_frames[stack->first];
}

/* The place of a line without its number. */
static char *file_of(const struct lines *lines, uint32_t line)
{
	char *place = line_place(lines, line), *colon = strrchr(place, ':');

	if (colon && line_shown(&lines->all.items[line]))
		*colon = '\0';
	return place;
}

static void name_line(struct drafts *drafts, struct draft *draft, uint32_t line, uint32_t caller)
{
	const struct lines *lines = &drafts->all->lines;
	const struct model *model = drafts->all->model;
	AUTO_FREE char *file = NULL;
	int below;

	draft->place = line_place(lines, line);
	draft->name = xstrdup(line_function(lines, line));
	if (lines->all.items[line].reason) {
		draft->key = xstrdup(draft->place);
		return;
	}
	file = file_of(lines, line);
	below = (int)lines->all.items[line].number - (int)model->codes[model->frames[caller].code].first_line;
	draft->key = xasprintf("%s\n%s\n%d", file, draft->name, below);
}

/* line: of caller, which is no stack; NONE: there is none. */
static struct draft *caller_draft(struct drafts *drafts, uint32_t caller, uint32_t line, uint32_t what, uint32_t api)
{
	struct draft *draft;
	bool is_new;
	char *key;

	draft = draft_at(drafts, (struct tally_key){{line, what, api}}, &is_new);
	if (!is_new)
		return draft;
	draft->what = what;
	draft->api = api;
	if (line == NONE) {
		draft->key = xstrdup("");
		draft->place = xstrdup("");
		draft->name = xstrdup("");
	} else {
		name_line(drafts, draft, line, caller);
	}
	key = xasprintf("%s\n%u\n%s", draft->key, what, api == NONE ? "" : api_name((uint16_t)api));
	free(draft->key);
	draft->key = key;
	return draft;
}

/* place: caller_place. */
static struct draft *line_draft(struct drafts *drafts, uint32_t place, uint32_t what, uint32_t api)
{
	struct lines *lines = &drafts->all->lines;
	uint32_t caller = place < CALLER_NO_FRAME ? user_frame(lines, drafts->all->model, place) : place;

	return caller_draft(drafts, caller, line_of(lines, caller), what, api);
}

/* part: of the key of a sum of GPU work; device: NONE: any. */
static bool is_computation_on(const struct step_blocks *blocks, const uint32_t *part, uint32_t device)
{
	return step_blocks_has(blocks, part[2]) && per_step_work_of(part[3]) == PER_STEP_COMPUTATION &&
	       per_step_is_on(part[3], device);
}

static void add_gpu_of_lines(struct drafts *drafts, bool only_computation, uint32_t device)
{
	const struct tally *sums = &drafts->all->per_step.gpu.timed;

	for (size_t i = 0; i < sums->count; i++) {
		const struct tally_entry *sum = &sums->entries[i];

		if (only_computation ? !is_computation_on(drafts->blocks, sum->key.part, device)
				     : !step_blocks_has(drafts->blocks, sum->key.part[2]))
			continue;
		line_draft(drafts, sum->key.part[0], 0, NONE)->cost[sum->key.part[2]] += (double)sum->ns;
	}
}

static void make_computation(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks,
			     uint32_t device)
{
	struct drafts drafts = {.all = all, .blocks = blocks};

	add_gpu_of_lines(&drafts, true, device);
	take_rows(rows, &drafts, false);
}

static void make_lines(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	const struct per_step *per_step = &all->per_step;
	struct drafts drafts = {.all = all, .blocks = blocks};

	add_gpu_of_lines(&drafts, false, NONE);
	for (size_t i = 0; i < per_step->calls.count; i++) {
		const struct tally_entry *sum = &per_step->calls.entries[i];

		line_draft(&drafts, sum->key.part[0], 0, NONE)->count[sum->key.part[2]] += (double)sum->count;
	}
	take_rows(rows, &drafts, false);
}

/* A row that has only a name, which it takes over. */
static void name_draft(struct draft *draft, char *name)
{
	draft->name = name;
	draft->key = xstrdup(name);
	draft->place = xstrdup("");
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

/* "LlamaModel.layers.17.mlp", without the number of the model, which another trace need not have. */
static char *layer_text(const struct model *model, const struct layer_owner *owner)
{
	const struct model_module *module = owner->module == NONE ? NULL : &model->modules[owner->module];

	if (module && owner->kind == LAYER_MODULE)
		return xasprintf("%s%s%s", module->root_class, *module->name ? "." : "", module->name);
	return xasprintf("%s%s%s", layer_kind_label(owner->kind), module && *module->class ? " " : "",
			 module ? module->class : "");
}

static struct layer_owner owner_at(const struct drafts *drafts, uint32_t place, uint32_t replay, uint32_t pass)
{
	struct layer_work work = layer_work_of(place, pass);

	return layer_owner_of(drafts->all->model, work.place, replay, work.rest);
}

/* Of the GPU time of a sum of per_step.layers. */
static struct layer_owner owner_of(const struct drafts *drafts, const struct tally_entry *sum)
{
	const uint32_t *source = drafts->all->per_step.layer_sources.entries[sum->key.part[0]].key.part;

	return owner_at(drafts, source[0], source[1], source[2]);
}

static struct draft *layer_draft(struct drafts *drafts, struct layer_owner owner)
{
	bool is_new;
	struct draft *draft = draft_at(drafts, (struct tally_key){{owner.kind, owner.module}}, &is_new);

	if (is_new)
		name_draft(draft, layer_text(drafts->all->model, &owner));
	return draft;
}

/* device: with only_computation: NONE: any. */
static void make_layers(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks,
			bool only_computation, uint32_t device)
{
	const struct tally *calls = &all->per_step.calls, *layers = &all->per_step.layers.timed;
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < layers->count; i++) {
		const struct tally_entry *sum = &layers->entries[i];
		const uint32_t *part = sum->key.part;

		if (only_computation ? is_computation_on(blocks, part, device) : step_blocks_has(blocks, part[2]))
			layer_draft(&drafts, owner_of(&drafts, sum))->cost[part[2]] += (double)sum->ns;
	}
	for (size_t i = 0; i < calls->count && !only_computation; i++) {
		const uint32_t *part = calls->entries[i].key.part;
		struct layer_owner owner = owner_at(&drafts, part[0], NONE, part[1]);

		layer_draft(&drafts, owner)->count[part[2]] += (double)calls->entries[i].count;
	}
	take_rows(rows, &drafts, false);
}

/* Kernels of layers, by family. */
static void make_layer_kernels(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	const struct tally *layers = &all->per_step.layers.timed;
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < layers->count; i++) {
		const struct tally_entry *sum = &layers->entries[i];
		struct layer_owner owner = owner_of(&drafts, sum);
		bool is_new;
		struct draft *draft =
			draft_at(&drafts, (struct tally_key){{owner.kind, owner.module, sum->key.part[1]}}, &is_new);

		if (is_new) {
			draft->place = layer_text(all->model, &owner);
			draft->name = operation_family(all->model, sum->key.part[1]);
			draft->key = xasprintf("%s\n%s", draft->place, draft->name);
		}
		draft->cost[sum->key.part[2]] += (double)sum->ns;
		draft->count[sum->key.part[2]] += (double)sum->count;
	}
	take_rows(rows, &drafts, false);
}

/* ---- kernels, ops, losses and waits ------------------------------------------------------------------------------ */

static struct draft *kernel_draft(struct drafts *drafts, const uint32_t *part)
{
	bool is_new;
	struct draft *draft = draft_at(drafts, (struct tally_key){{part[1]}}, &is_new);

	if (is_new)
		name_draft(draft, operation_family(drafts->all->model, part[1]));
	return draft;
}

static struct draft *op_draft(struct drafts *drafts, const uint32_t *part)
{
	bool is_new;
	struct draft *draft = draft_at(drafts, (struct tally_key){{part[0], part[1]}}, &is_new);

	if (is_new)
		name_draft(draft, xstrdup(drafts->all->model->strings[part[0]]));
	return draft;
}

static struct draft *loss_draft(struct drafts *drafts, const uint32_t *part)
{
	uint32_t line = part[0] == NONE ? NONE : line_of(&drafts->all->lines, part[0]);

	return caller_draft(drafts, part[0], line, part[1], part[2]);
}

static struct draft *wait_draft(struct drafts *drafts, const uint32_t *part)
{
	return line_draft(drafts, part[0], 0, part[1]);
}

/* Rows of sums, in whose keys part `block` is the block. */
static void make_rows(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks,
		      const struct tally *sums, unsigned block,
		      struct draft *(*draft_of)(struct drafts *drafts, const uint32_t *part))
{
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < sums->count; i++) {
		const uint32_t *part = sums->entries[i].key.part;
		struct draft *draft;

		if (!step_blocks_has(blocks, part[block]))
			continue;
		draft = draft_of(&drafts, part);
		draft->cost[part[block]] += (double)sums->entries[i].ns;
		draft->count[part[block]] += (double)sums->entries[i].count;
	}
	take_rows(rows, &drafts, false);
}

static void make_losses(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	make_rows(rows, all, blocks, &all->why.in_blocks, 3, loss_draft);
}

static void make_waits(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	make_rows(rows, all, blocks, &all->per_step.waits, 2, wait_draft);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static struct draft *holder_draft(struct drafts *drafts, size_t holder)
{
	const struct torch_memory_sums *memory = &drafts->all->torch_memory;
	const uint32_t *part = memory->by_holder.entries[holder].key.part;
	uint32_t what = (uint32_t)memory->spaces.items[part[2]].device_type;

	return part[0] == CALLER_UNSEEN ? caller_draft(drafts, NONE, NONE, what, NONE)
					: line_draft(drafts, part[0], what, NONE);
}

static void make_memory(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	const struct torch_memory_sums *memory = &all->torch_memory;
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < memory->changes.count; i++) {
		const struct tally_entry *change = &memory->changes.entries[i];
		struct draft *draft = holder_draft(&drafts, change->key.part[0]);

		draft->cost[change->key.part[1]] += (double)change->ns - (double)change->more;
	}
	take_rows(rows, &drafts, false);
}

/* A peak is not per step, so there is no noise to compare it with. */
static void make_peaks(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	const struct torch_memory_sums *memory = &all->torch_memory;
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < memory->holders.count; i++)
		holder_draft(&drafts, i)->cost[0] += (double)memory->holders.items[i].at_peak;
	take_rows(rows, &drafts, true);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/* The stack, outermost first; without line numbers, so that an edit does not make another stack. */
static char *stack_text(struct lines *lines, const struct model *model, uint32_t place)
{
	size_t size;
	char *text = NULL;
	FILE *out;

	if (place >= CALLER_NO_FRAME)
		return line_place(lines, line_of(lines, place));
	out = open_memstream(&text, &size);
	if (!out)
		return xstrdup("?");
	for (uint32_t i = model->stacks[place].depth; i-- > 0;) {
		const struct model_frame *frame = &model->frames[model->stack_frames[model->stacks[place].first + i]];
		const struct model_code *code = &model->codes[frame->code];

		fprintf(out, "%s (%s)%s", code->name, path_base(code->file), i ? "\n" : "");
	}
	fclose(out);
	return text ? text : xstrdup("?");
}

static void make_stacks(struct per_step_rows *rows, struct analyses *all, const struct step_blocks *blocks)
{
	struct drafts drafts = {.all = all, .blocks = blocks};

	for (size_t i = 0; i < all->per_step.gpu.timed.count; i++) {
		const struct tally_entry *sum = &all->per_step.gpu.timed.entries[i];
		struct draft *draft;
		bool is_new;

		draft = draft_at(&drafts, (struct tally_key){{sum->key.part[0], sum->key.part[1]}}, &is_new);
		if (is_new) {
			AUTO_FREE char *stack = stack_text(&all->lines, all->model, sum->key.part[0]);

			draft->place = operation_family(all->model, sum->key.part[1]);
			draft->key = xasprintf("%s\n%s", stack, draft->place);
			draft->name = xstrdup("");
		}
		draft->cost[sum->key.part[2]] += (double)sum->ns;
	}
	take_rows(rows, &drafts, false);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

void per_step_rows_make_of(struct per_step_tables *tables, struct analyses *all, const struct step_blocks *blocks,
			   uint32_t device)
{
	make_computation(&tables->computation, all, blocks, device);
	if (tables->has_layers)
		make_layers(&tables->layer_computation, all, blocks, true, device);
	if (device != NONE)
		return;
	make_losses(&tables->losses, all, blocks);
	make_waits(&tables->waits, all, blocks);
}

void per_step_rows_make(struct per_step_tables *tables, struct analyses *all, const struct step_blocks *blocks)
{
	make_lines(&tables->lines, all, blocks);
	if (tables->has_layers) {
		make_layers(&tables->layers, all, blocks, false, NONE);
		make_layer_kernels(&tables->layer_kernels, all, blocks);
	}
	make_rows(&tables->kernels, all, blocks, &all->per_step.gpu.timed, 2, kernel_draft);
	make_rows(&tables->ops, all, blocks, &all->per_step.ops, 2, op_draft);
	make_stacks(&tables->stacks, all, blocks);
	make_losses(&tables->losses, all, blocks);
	make_waits(&tables->waits, all, blocks);
	make_memory(&tables->memory, all, blocks);
	make_peaks(&tables->peaks, all, blocks);
}
