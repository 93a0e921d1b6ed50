/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peak is that of a space.  What a holder held then is noted when its amount first changes after the peak. */
#include "analyze/memory/torch_memory.h"

#include <math.h>
#include <stdlib.h>

#include "base/order.h"

void torch_memory_sums_free(struct torch_memory_sums *all)
{
	for (size_t i = 0; i < all->outs.count; i++) {
		tally_free(&all->outs.items[i].held);
		free(all->outs.items[i].rows);
	}
	tally_free(&all->by_space);
	tally_free(&all->by_holder);
	tally_free(&all->changes);
	array_free(&all->spaces);
	array_free(&all->holders);
	array_free(&all->outs);
	free(all->rows);
	free(all->growing);
}

static uint32_t space_of(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	struct tally_key key = {{event->process, (uint32_t)memory->device_type, (uint32_t)memory->device}};
	size_t known = all->by_space.count;
	struct tally_entry *entry = tally_at(&all->by_space, key);

	if (all->by_space.count != known) {
		entry->more = all->spaces.count;
		array_push(&all->spaces, ((struct torch_space){.process = event->process,
							       .device = memory->device,
							       .device_type = memory->device_type}));
	}
	return (uint32_t)entry->more;
}

static struct torch_holder *holder_of(struct torch_memory_sums *all, uint32_t space,
				      const struct torch_memory_event *event)
{
	size_t known = all->by_holder.count, index;

	index = (size_t)(tally_at(&all->by_holder,
				  (struct tally_key){{event->place, event->op_name, space, event->pass}}) -
			 all->by_holder.entries);
	if (index == known)
		array_push(&all->holders, ((struct torch_holder){0}));
	return &all->holders.items[index];
}

/* To be called before what a holder holds changes at that time. */
static void note_peak(const struct torch_space *space, struct torch_holder *holder, uint64_t time_ns)
{
	if (holder->changed_ns <= space->time_ns && space->time_ns < time_ns)
		holder->at_peak = holder->now;
	holder->changed_ns = time_ns;
}

/* Adds to the block of steps in which it happens, if any. */
static void note_change(struct torch_memory_sums *all, const struct torch_holder *holder,
			const struct torch_memory_event *event)
{
	uint32_t block = step_blocks_since(all->blocks, event->process, event->memory->time_ns);
	uint32_t index = (uint32_t)(holder - all->holders.items);
	int64_t bytes = event->memory->bytes;
	struct tally_entry *change;

	if (block == STEP_BLOCK_NONE || !step_blocks_has_steps(all->blocks))
		return;
	change = tally_at(&all->changes, (struct tally_key){{index, block}});
	*(bytes < 0 ? &change->more : &change->ns) += (uint64_t)(bytes < 0 ? -bytes : bytes);
}

/* Each CPU allocator reports only its own memory; the sum over all of them is known here. */
static uint64_t allocated_of(const struct torch_space *space, const struct model_torch_memory *memory)
{
	return space->device_type == GPT_TORCH_CPU || memory->allocated < space->held ? space->held : memory->allocated;
}

static void allocate_block(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	uint32_t index = space_of(all, event);
	struct torch_holder *holder = holder_of(all, index, event);
	struct torch_space *space = &all->spaces.items[index];
	uint64_t allocated;

	note_peak(space, holder, memory->time_ns);
	space->held += (uint64_t)memory->bytes;
	holder->now += (uint64_t)memory->bytes;
	holder->blocks++;
	note_change(all, holder, event);
	allocated = allocated_of(space, memory);
	if (allocated <= space->most)
		return;
	space->most = allocated;
	space->most_known = space->held;
	space->reserved = memory->reserved;
	space->time_ns = memory->time_ns;
}

/* Memory that was handed out before the trace, or before its slice, is in no sum. */
static void take_back(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	uint32_t index = space_of(all, event);
	struct torch_space *space = &all->spaces.items[index];
	uint64_t bytes = (uint64_t)-memory->bytes;
	struct torch_holder *holder;

	if (!event->was_seen)
		return;
	holder = holder_of(all, index, event);
	note_peak(space, holder, memory->time_ns);
	space->held -= bytes < space->held ? bytes : space->held;
	holder->now -= bytes < holder->now ? bytes : holder->now;
	note_change(all, holder, event);
}

static void run_out(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	struct torch_memory_out out = {.time_ns = memory->time_ns,
				       .asked = (uint64_t)memory->bytes,
				       .allocated = memory->allocated,
				       .reserved = memory->reserved,
				       .place = event->place,
				       .op_name = event->op_name,
				       .space = space_of(all, event)};

	if (all->out_count++ >= TORCH_MEMORY_OUTS_MAX)
		return;
	for (uint32_t i = 0; i < all->holders.count; i++)
		if (all->by_holder.entries[i].key.part[2] == out.space && all->holders.items[i].now)
			tally_at(&out.held, (struct tally_key){{i}})->ns = all->holders.items[i].now;
	array_push(&all->outs, out);
}

void torch_memory_sums_add(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	switch (event->memory->kind) {
	case GPT_AGENT_TORCH_MEMORY_ALLOCATED:
		allocate_block(all, event);
		break;
	case GPT_AGENT_TORCH_MEMORY_FREED:
		take_back(all, event);
		break;
	default:
		run_out(all, event);
		break;
	}
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static struct place_lines lines_of(struct lines *lines, uint32_t place)
{
	return place == CALLER_UNSEEN ? (struct place_lines){NONE, NONE, NONE} : lines_of_place(lines, place);
}

DEFINE_ORDER(by_held, struct torch_memory_row,
	     most_first(a->at_peak, b->at_peak) ?: most_first(a->held, b->held) ?: least_first(a->space, b->space) ?:
	     least_first(a->line, b->line) ?: least_first(a->op_name, b->op_name))

/* Makes rows of holders: those with the same line, op and space share a row; in the order of the tally's entries. */
struct maker {
	struct lines *lines;
	struct tally known; /* key: line, op name, space */
	struct tally users; /* key: row, user line; ns: blocks */
	struct tally grows; /* the same of rows that grow; ns: bytes that it grows by in a step */
	struct torch_memory_row *rows;
};

static struct torch_memory_row *row_of(struct maker *maker, const struct tally_key *holder, uint64_t blocks)
{
	struct place_lines at = lines_of(maker->lines, holder->part[0]);
	struct tally_key key = {{at.line, holder->part[1], holder->part[2]}};
	size_t known = maker->known.count;
	size_t index = tally_number(&maker->known, key);

	if (index == known)
		maker->rows[index] = (struct torch_memory_row){.line = at.line,
							       .user_line = NONE,
							       .op_name = key.part[1],
							       .space = key.part[2],
							       .per_step = NAN};
	if (at.user_line != NONE)
		tally_at(&maker->users, (struct tally_key){{(uint32_t)index, at.user_line}})->ns += blocks;
	return &maker->rows[index];
}

/* What grows is named by the line that makes it grow, not by the one that asked for most blocks. */
static void name_growing(struct maker *maker)
{
	AUTO_FREE struct tally_entry *grows = tally_sorted(&maker->grows, false);

	for (size_t i = maker->grows.count; i-- > 0;)
		maker->rows[grows[i].key.part[0]].user_line = grows[i].key.part[1];
}

/* Sorts the rows; returns their number. */
static size_t finish_rows(struct maker *maker)
{
	AUTO_FREE struct tally_entry *users = tally_sorted(&maker->users, false);
	size_t count = maker->known.count;

	for (size_t i = 0; i < maker->users.count; i++) {
		struct torch_memory_row *row = &maker->rows[users[i].key.part[0]];

		if (!row->user_lines++)
			row->user_line = users[i].key.part[1];
	}
	name_growing(maker);
	sort_items(maker->rows, count, sizeof(*maker->rows), by_held);
	tally_free(&maker->known);
	tally_free(&maker->users);
	tally_free(&maker->grows);
	return count;
}

static void finish_out(const struct torch_memory_sums *all, struct torch_memory_out *out, struct lines *lines)
{
	struct maker maker = {.lines = lines, .rows = xcalloc(out->held.count, sizeof(*out->rows))};

	out->line = lines_of(lines, out->place).line;
	for (size_t i = 0; i < out->held.count; i++) {
		uint32_t holder = out->held.entries[i].key.part[0];

		row_of(&maker, &all->by_holder.entries[holder].key, all->holders.items[holder].blocks)->held +=
			out->held.entries[i].ns;
	}
	out->rows = maker.rows;
	out->count = finish_rows(&maker);
}

/* Finds how much the memory of each row changes per step; rows: the row of each holder. */
static void find_growth(const struct torch_memory_sums *all, const uint32_t *rows, size_t count)
{
	size_t blocks = all->blocks->count;
	AUTO_FREE double *by_block = xcalloc(count * blocks, sizeof(*by_block));

	for (size_t i = 0; i < all->changes.count; i++) {
		const struct tally_entry *change = &all->changes.entries[i];

		by_block[rows[change->key.part[0]] * blocks + change->key.part[1]] +=
			(double)change->ns - (double)change->more;
	}
	for (size_t i = 0; i < count; i++) {
		struct torch_memory_row *row = &all->rows[i];
		uint32_t process = all->spaces.items[row->space].process;
		struct estimate found = step_blocks_estimate_of(all->blocks, process, by_block + i * blocks);

		row->per_step = found.mean;
		row->grows = found.mean > estimate_noise(found.variance, found.weight);
	}
}

static int by_growth(const void *left, const void *right, void *context)
{
	const struct torch_memory_row *rows = context, *a = &rows[*(const uint32_t *)left],
				      *b = &rows[*(const uint32_t *)right];

	if (a->per_step != b->per_step)
		return a->per_step > b->per_step ? -1 : 1;
	return a < b ? -1 : 1;
}

/* Whether a row grows by enough to be named. */
static bool grows_enough(const struct torch_memory_sums *all, const struct torch_memory_row *row)
{
	const struct torch_space *space = &all->spaces.items[row->space];
	double steps = (double)step_blocks_steps_of(all->blocks, space->process);

	return row->grows && row->per_step * steps * TORCH_MEMORY_GROWTH_LEAST >= (double)space->most;
}

/* Divides the growth of rows among holders, before the rows are sorted; rows: the row of each holder. */
static void share_growth(struct torch_memory_sums *all, struct maker *maker, const uint32_t *rows)
{
	size_t blocks = all->blocks->count;
	AUTO_FREE double *by_block = xcalloc(all->holders.count * blocks, sizeof(*by_block));

	for (size_t i = 0; i < all->changes.count; i++) {
		const struct tally_entry *change = &all->changes.entries[i];

		by_block[change->key.part[0] * blocks + change->key.part[1]] +=
			(double)change->ns - (double)change->more;
	}
	for (size_t i = 0; i < all->holders.count; i++) {
		const struct torch_memory_row *row = &all->rows[rows[i]];
		uint32_t process = all->spaces.items[row->space].process;
		uint32_t user_line = lines_of(maker->lines, all->by_holder.entries[i].key.part[0]).user_line;
		double growth;

		if (!grows_enough(all, row))
			continue;
		growth = step_blocks_estimate_of(all->blocks, process, by_block + i * blocks).mean;
		all->holders.items[i].growth = growth;
		if (user_line != NONE && growth >= 1)
			tally_at(&maker->grows, (struct tally_key){{rows[i], user_line}})->ns += (uint64_t)growth;
	}
}

static void find_growing(struct torch_memory_sums *all)
{
	all->growing = xcalloc(all->count, sizeof(*all->growing));
	for (size_t i = 0; i < all->count; i++)
		if (grows_enough(all, &all->rows[i]))
			all->growing[all->growing_count++] = (uint32_t)i;
	if (all->growing_count)
		qsort_r(all->growing, all->growing_count, sizeof(*all->growing), by_growth, all->rows);
}

void torch_memory_sums_finish(struct torch_memory_sums *all, struct lines *lines)
{
	struct maker maker = {.lines = lines, .rows = xcalloc(all->holders.count, sizeof(*all->rows))};
	AUTO_FREE uint32_t *rows = xcalloc(all->holders.count, sizeof(*rows));

	all->rows = maker.rows;
	for (size_t i = 0; i < all->holders.count; i++) {
		const struct tally_key *key = &all->by_holder.entries[i].key;
		struct torch_holder *holder = &all->holders.items[i];
		struct torch_memory_row *row = row_of(&maker, key, holder->blocks);

		note_peak(&all->spaces.items[key->part[2]], holder, UINT64_MAX);
		row->at_peak += holder->at_peak;
		row->held += holder->now;
		row->blocks += holder->blocks;
		rows[i] = (uint32_t)(row - maker.rows);
	}
	all->has_steps = step_blocks_has_steps(all->blocks);
	if (all->has_steps) {
		find_growth(all, rows, maker.known.count);
		share_growth(all, &maker, rows);
	}
	all->count = finish_rows(&maker);
	find_growing(all);
	for (size_t i = 0; i < all->outs.count; i++)
		finish_out(all, &all->outs.items[i], lines);
}
