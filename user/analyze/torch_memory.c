/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peak is that of a space; what a holder held then is noted when its part changes for the first time behind it. */
#include "analyze/torch_memory.h"

#include <stdlib.h>

void torch_memory_sums_free(struct torch_memory_sums *all)
{
	for (size_t i = 0; i < all->outs.count; i++) {
		tally_free(&all->outs.items[i].held);
		free(all->outs.items[i].rows);
	}
	tally_free(&all->by_space);
	tally_free(&all->by_holder);
	array_free(&all->spaces);
	array_free(&all->holders);
	array_free(&all->outs);
	free(all->rows);
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

	index = (size_t)(tally_at(&all->by_holder, (struct tally_key){{event->caller, event->op_name, space}}) -
			 all->by_holder.entries);
	if (index == known)
		array_push(&all->holders, ((struct torch_holder){0}));
	return &all->holders.items[index];
}

/* Before what it holds changes at that time. */
static void note_peak(const struct torch_space *space, struct torch_holder *holder, uint64_t time_ns)
{
	if (holder->changed_ns <= space->time_ns && space->time_ns < time_ns)
		holder->at_peak = holder->now;
	holder->changed_ns = time_ns;
}

/* The CPU's allocators say it of themselves only: what is held of all of them is known to us. */
static uint64_t allocated_of(const struct torch_space *space, const struct model_torch_memory *memory)
{
	return space->device_type == GPT_TORCH_CPU || memory->allocated < space->held ? space->held : memory->allocated;
}

static void allocate(struct torch_memory_sums *all, const struct torch_memory_event *event)
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
	allocated = allocated_of(space, memory);
	if (allocated <= space->most)
		return;
	space->most = allocated;
	space->most_known = space->held;
	space->reserved = memory->reserved;
	space->time_ns = memory->time_ns;
}

/* Of what was handed out before the trace, or the slice of it, nothing is in the sums. */
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
}

static void run_out(struct torch_memory_sums *all, const struct torch_memory_event *event)
{
	const struct model_torch_memory *memory = event->memory;
	struct torch_memory_out out = {.time_ns = memory->time_ns,
				       .asked = (uint64_t)memory->bytes,
				       .allocated = memory->allocated,
				       .reserved = memory->reserved,
				       .caller = event->caller,
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
		allocate(all, event);
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

static uint32_t line_of_caller(struct lines *lines, uint32_t caller)
{
	return caller == CALLER_UNSEEN ? NONE : line_of(lines, caller);
}

static int by_held(const void *left, const void *right)
{
	const struct torch_memory_row *a = left, *b = right;

	if (a->at_peak != b->at_peak)
		return a->at_peak > b->at_peak ? -1 : 1;
	if (a->held != b->held)
		return a->held > b->held ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->op_name > b->op_name) - (a->op_name < b->op_name);
}

/* The holders in some of them: in order of the tally's entries; each row as many as are of one line, op and space. */
static struct torch_memory_row *row_of(struct tally *rows, struct torch_memory_row *all, size_t *count,
				       struct lines *lines, const struct tally_key *holder)
{
	struct tally_key key = {{line_of_caller(lines, holder->part[0]), holder->part[1], holder->part[2]}};
	size_t known = rows->count, index = (size_t)(tally_at(rows, key) - rows->entries);

	if (index == known) {
		all[index] =
			(struct torch_memory_row){.line = key.part[0], .op_name = key.part[1], .space = key.part[2]};
		*count = known + 1;
	}
	return &all[index];
}

static void finish_out(const struct torch_memory_sums *all, struct torch_memory_out *out, struct lines *lines)
{
	struct tally known = {0};

	out->line = line_of_caller(lines, out->caller);
	out->rows = xcalloc(out->held.count, sizeof(*out->rows));
	for (size_t i = 0; i < out->held.count; i++) {
		uint32_t holder = out->held.entries[i].key.part[0];
		struct torch_memory_row *row =
			row_of(&known, out->rows, &out->count, lines, &all->by_holder.entries[holder].key);

		row->held += out->held.entries[i].ns;
	}
	qsort(out->rows, out->count, sizeof(*out->rows), by_held);
	tally_free(&known);
}

void torch_memory_sums_finish(struct torch_memory_sums *all, struct lines *lines)
{
	struct tally known = {0};

	all->rows = xcalloc(all->holders.count, sizeof(*all->rows));
	for (size_t i = 0; i < all->holders.count; i++) {
		const struct tally_key *key = &all->by_holder.entries[i].key;
		struct torch_memory_row *row = row_of(&known, all->rows, &all->count, lines, key);
		struct torch_holder *holder = &all->holders.items[i];

		note_peak(&all->spaces.items[key->part[2]], holder, UINT64_MAX);
		row->at_peak += holder->at_peak;
		row->held += holder->now;
		row->blocks += holder->blocks;
	}
	qsort(all->rows, all->count, sizeof(*all->rows), by_held);
	tally_free(&known);
	for (size_t i = 0; i < all->outs.count; i++)
		finish_out(all, &all->outs.items[i], lines);
}
