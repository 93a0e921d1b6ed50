/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/memory/torch_held.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"

void torch_held_free(struct torch_held *all)
{
	lookup_free(&all->by_address);
	array_free(&all->blocks);
	array_free(&all->unused);
	free(all->rows);
	free(all->holders);
}

/* The sums have had the event, so they have the space. */
static uint32_t space_of(const struct torch_held *all, const struct torch_memory_event *event)
{
	const struct torch_memory_sums *memory = all->memory;

	for (uint32_t i = 0; i < memory->spaces.count; i++) {
		const struct torch_space *space = &memory->spaces.items[i];

		if (space->process == event->process && space->device_type == event->memory->device_type &&
		    space->device == event->memory->device)
			return i;
	}
	return NONE;
}

static void drop_block(struct torch_held *all, uint32_t process, uint64_t address)
{
	const uint32_t *index = lookup_get(&all->by_address, process + 1, address);

	if (!index || *index == NONE)
		return;
	all->blocks.items[*index].bytes = 0;
	array_push(&all->unused, *index);
	lookup_drop(&all->by_address, process + 1, address);
}

void torch_held_add(struct torch_held *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	struct torch_block block = {.address = memory->address,
				    .bytes = (uint64_t)memory->bytes,
				    .time_ns = memory->time_ns,
				    .place = event->place,
				    .op_name = event->op_name,
				    .process = event->process};
	uint32_t index;

	if (memory->kind != GPT_AGENT_TORCH_MEMORY_ALLOCATED && memory->kind != GPT_AGENT_TORCH_MEMORY_FREED)
		return;
	drop_block(all, event->process, memory->address);
	block.space = space_of(all, event);
	if (memory->kind == GPT_AGENT_TORCH_MEMORY_FREED || memory->bytes <= 0 || block.space == NONE)
		return;
	if (all->unused.count) {
		index = all->unused.items[--all->unused.count];
		all->blocks.items[index] = block;
	} else {
		index = (uint32_t)all->blocks.count;
		array_push(&all->blocks, block);
	}
	*lookup_put(&all->by_address, event->process + 1, memory->address, index) = index;
}

/* ---- by line ------------------------------------------------------------------------------------------------------
 */

/* Rows by line, user line, caller and space. */
struct line_maker {
	struct torch_held *all;
	struct lines *lines;
	struct tally known; /* numbered like rows */
	ARRAY(struct torch_held_row) rows;
};

static uint32_t row_of(struct line_maker *maker, uint32_t place, uint32_t space)
{
	struct place_lines at = {NONE, NONE, NONE};
	uint32_t caller = NONE, index;
	size_t known = maker->known.count;

	if (place != CALLER_UNSEEN) {
		at = lines_of_place(maker->lines, place);
		caller = lines_caller_of_place(maker->lines, place);
	}
	index = tally_number(&maker->known, (struct tally_key){{at.line, at.user_line, caller, space}});
	if (index == known)
		array_push(&maker->rows, ((struct torch_held_row){.line = at.line,
								  .user_line = at.user_line,
								  .caller = caller,
								  .space = space,
								  .per_step = NAN,
								  .by = TORCH_HELD_UNSEARCHED,
								  .holder = NONE}));
	return index;
}

/* How much each row grows per step: of all memory that its lines hand out and take back, not only of what stays. */
static void find_growth(struct line_maker *maker)
{
	const struct torch_memory_sums *memory = maker->all->memory;
	size_t blocks = memory->blocks->count;
	AUTO_FREE double *by_block = xcalloc(maker->rows.count * blocks, sizeof(*by_block));
	AUTO_FREE uint32_t *rows = xmalloc(memory->holders.count * sizeof(*rows));
	size_t count = maker->rows.count;

	for (size_t i = 0; i < memory->holders.count; i++) {
		const struct tally_key *key = &memory->by_holder.entries[i].key;

		rows[i] = row_of(maker, key->part[0], key->part[2]);
	}
	for (size_t i = 0; i < memory->changes.count; i++) {
		const struct tally_entry *change = &memory->changes.entries[i];
		uint32_t row = rows[change->key.part[0]];

		if (row < count)
			by_block[row * blocks + change->key.part[1]] += (double)change->ns - (double)change->more;
	}
	maker->rows.count = count; /* rows of lines that hold nothing are of no interest */
	for (size_t i = 0; i < count; i++) {
		struct torch_held_row *row = &maker->rows.items[i];
		uint32_t process = memory->spaces.items[row->space].process;
		struct estimate found = step_blocks_estimate_of(memory->blocks, process, by_block + i * blocks);

		row->per_step = found.mean;
		row->grows = found.mean > estimate_noise(found.variance, found.weight);
	}
}

DEFINE_ORDER(by_bytes, struct torch_held_row,
	     most_first(a->bytes, b->bytes) ?: least_first(a->line, b->line) ?:
	     least_first(a->user_line, b->user_line) ?: least_first(a->caller, b->caller) ?:
	     least_first(a->space, b->space))

/* ---- by holder ----------------------------------------------------------------------------------------------------
 */

struct holder_maker {
	struct torch_held *all;
	struct line_maker *lines;
	const struct model *model;
	uint64_t end_ns;
	struct lookup storages; /* model.held_storages, by process and address */
	struct tally rows;	/* key: process, by, holder; ns: bytes, count: blocks */
	struct tally by_line;	/* key: row, row by line; ns: bytes */
	uint32_t *first;	/* by model.holders: the first with its texts */
};

/* Holders of the same texts in one process are one: a record holds only so many storages. */
static void find_first(struct holder_maker *maker)
{
	const struct model *model = maker->model;

	maker->first = xmalloc(model->holder_count * sizeof(*maker->first));
	for (uint32_t i = 0; i < model->holder_count; i++) {
		const struct model_holder *holder = &model->holders[i];
		const struct model_holder *before = i ? &model->holders[i - 1] : NULL;
		bool same = before && before->process == holder->process && !strcmp(before->place, holder->place) &&
			    !strcmp(before->type, holder->type);

		maker->first[i] = same ? maker->first[i - 1] : i;
	}
}

static const struct model_holder_search *search_of(const struct holder_maker *maker, uint32_t process)
{
	const struct model *model = maker->model;

	for (uint32_t i = model->holder_search_count; i-- > 0;)
		if (model->holder_searches[i].process == process &&
		    model->holder_searches[i].time_ns <= maker->end_ns &&
		    model->holder_searches[i].state != GPT_HOLDERS_FAILED)
			return &model->holder_searches[i];
	return NULL;
}

static enum torch_held_by held_by(const struct holder_maker *maker, const struct torch_block *block, uint32_t *holder)
{
	const struct model_holder_search *search = search_of(maker, block->process);
	const uint32_t *storage;

	*holder = NONE;
	if (!search)
		return TORCH_HELD_UNSEARCHED;
	if (block->time_ns >= search->time_ns)
		return TORCH_HELD_LATER;
	storage = lookup_get(&maker->storages, block->process + 1, block->address);
	if (!storage)
		return search->state == GPT_HOLDERS_CUT ? TORCH_HELD_BY_UNREAD : TORCH_HELD_BY_NONE;
	*holder = maker->first[maker->model->held_storages[*storage].holder];
	return TORCH_HELD_BY_OBJECT;
}

static void add_block(struct holder_maker *maker, const struct torch_block *block)
{
	uint32_t holder, row;
	enum torch_held_by by = held_by(maker, block, &holder);
	struct tally_entry *entry = tally_at(&maker->rows, (struct tally_key){{block->process, by, holder}});

	entry->ns += block->bytes;
	entry->count++;
	row = (uint32_t)(entry - maker->rows.entries);
	tally_at(&maker->by_line, (struct tally_key){{row, row_of(maker->lines, block->place, block->space)}})->ns +=
		block->bytes;
}

/* Of this many bytes of a line the holder is known, or why not. */
static void note_holder(struct torch_held_row *line, const struct torch_holder_row *holder, uint64_t bytes)
{
	bool found = holder->by == TORCH_HELD_BY_OBJECT, had = line->by_bytes && line->by == TORCH_HELD_BY_OBJECT;

	if (found != had ? had : bytes <= line->by_bytes)
		return;
	line->by_bytes = bytes;
	line->by = holder->by;
	line->holder = holder->holder;
}

DEFINE_ORDER(by_holder_bytes, struct torch_holder_row,
	     most_first(a->bytes, b->bytes) ?: least_first(a->by, b->by) ?: least_first(a->holder, b->holder) ?:
	     least_first(a->process, b->process))

static void make_holder_rows(struct holder_maker *maker)
{
	struct torch_held *all = maker->all;

	all->holder_count = maker->rows.count;
	all->holders = xcalloc(all->holder_count, sizeof(*all->holders));
	for (size_t i = 0; i < all->holder_count; i++) {
		const struct tally_entry *entry = &maker->rows.entries[i];

		all->holders[i] = (struct torch_holder_row){.process = entry->key.part[0],
							    .by = (enum torch_held_by)entry->key.part[1],
							    .holder = entry->key.part[2],
							    .bytes = entry->ns,
							    .blocks = entry->count,
							    .line = NONE,
							    .user_line = NONE,
							    .caller = NONE};
	}
	for (size_t i = 0; i < maker->by_line.count; i++) {
		const struct tally_entry *entry = &maker->by_line.entries[i];
		struct torch_holder_row *row = &all->holders[entry->key.part[0]];
		struct torch_held_row *line = &maker->lines->rows.items[entry->key.part[1]];

		note_holder(line, row, entry->ns);
		if (entry->ns <= row->line_bytes)
			continue;
		row->line_bytes = entry->ns;
		row->line = line->line;
		row->user_line = line->user_line;
		row->caller = line->caller;
	}
	sort_items(all->holders, all->holder_count, sizeof(*all->holders), by_holder_bytes);
}

static void find_holders(struct line_maker *lines, uint64_t end_ns)
{
	struct torch_held *all = lines->all;
	const struct model *model = lines->lines->callers->model;
	struct holder_maker maker = {.all = all, .lines = lines, .model = model, .end_ns = end_ns};

	for (uint32_t i = 0; i < model->held_storage_count; i++) {
		const struct model_held_storage *storage = &model->held_storages[i];

		lookup_put(&maker.storages, model->holders[storage->holder].process + 1, storage->address, i);
	}
	find_first(&maker);
	for (size_t i = 0; i < all->blocks.count; i++)
		if (all->blocks.items[i].bytes)
			add_block(&maker, &all->blocks.items[i]);
	make_holder_rows(&maker);
	lookup_free(&maker.storages);
	tally_free(&maker.rows);
	tally_free(&maker.by_line);
	free(maker.first);
}

void torch_held_finish(struct torch_held *all, struct lines *lines, uint64_t end_ns)
{
	struct line_maker maker = {.all = all, .lines = lines};

	array_each (block, &all->blocks) {
		uint32_t row;

		if (!block->bytes)
			continue;
		row = row_of(&maker, block->place, block->space);
		maker.rows.items[row].bytes += block->bytes;
		maker.rows.items[row].blocks++;
	}
	if (step_blocks_has_steps(all->memory->blocks))
		find_growth(&maker);
	find_holders(&maker, end_ns);
	all->rows = maker.rows.items;
	all->count = maker.rows.count;
	sort_items(all->rows, all->count, sizeof(*all->rows), by_bytes);
	tally_free(&maker.known);
}

const struct torch_held_row *torch_held_of_growing(const struct torch_held *all, const struct torch_memory_row *row)
{
	const struct torch_held_row *most = NULL;

	for (size_t i = 0; i < all->count; i++) {
		const struct torch_held_row *held = &all->rows[i];

		if (held->grows && held->line == row->line && held->user_line == row->user_line &&
		    held->space == row->space && (!most || held->per_step > most->per_step))
			most = held;
	}
	return most;
}
