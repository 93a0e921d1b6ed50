/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A peak is that of a space.  What a caller held then is noted when its amount first changes after the peak. */
#include "analyze/memory/memory_peaks.h"

#include <stdlib.h>

/* CUpti_ActivityMemoryKind (cupti_activity.h) */
#define MEMORY_PINNED 2
#define MEMORY_MANAGED 5
#define MEMORY_MANAGED_STATIC 7

void memory_peaks_init(struct memory_peaks *all, const struct model *model)
{
	*all = (struct memory_peaks){0};
	all->exit_ns = xmalloc(model->process_count * sizeof(*all->exit_ns));
	all->first = xmalloc(model->process_count * sizeof(*all->first));
	for (uint32_t i = 0; i < model->process_count; i++) {
		all->exit_ns[i] = UINT64_MAX;
		all->first[i] = NONE;
	}
}

void memory_peaks_free(struct memory_peaks *all)
{
	tally_free(&all->spaces);
	tally_free(&all->callers);
	array_free(&all->holders);
	array_free(&all->peaks);
	free(all->exit_ns);
	free(all->first);
	free(all->rows);
}

static enum memory_space space_of(const struct model_memory *memory)
{
	if (memory->kind && memory->kind <= MEMORY_PINNED)
		return MEMORY_SPACE_HOST;
	return memory->kind == MEMORY_MANAGED || memory->kind == MEMORY_MANAGED_STATIC ? MEMORY_SPACE_MANAGED
										       : MEMORY_SPACE_DEVICE;
}

/* Returns an index in peaks. */
static uint32_t peak_of(struct memory_peaks *all, uint32_t space, uint32_t device)
{
	size_t known = all->spaces.count;
	struct tally_entry *entry = tally_at(&all->spaces, (struct tally_key){{space, device}});

	if (all->spaces.count != known) {
		entry->more = all->peaks.count;
		array_push(&all->peaks, ((struct memory_peak){.space = space, .device = device}));
	}
	return (uint32_t)entry->more;
}

static struct memory_holder *holder_of(struct memory_peaks *all, const struct model_memory *allocation, uint32_t place)
{
	uint32_t space = space_of(allocation), device = space == MEMORY_SPACE_DEVICE ? allocation->device : 0;
	struct tally_key key = {{place, space, device, allocation->process}};
	size_t known = all->callers.count, index;

	index = tally_number(&all->callers, key);
	if (index == known) {
		array_push(&all->holders, ((struct memory_holder){.peak = peak_of(all, space, device),
								  .next = all->first[allocation->process]}));
		all->first[allocation->process] = (uint32_t)index;
	}
	return &all->holders.items[index];
}

/* To be called before what a holder holds changes at that time. */
static void note_peak(const struct memory_peaks *all, struct memory_holder *holder, uint64_t time_ns)
{
	uint64_t peak_ns = all->peaks.items[holder->peak].time_ns;

	if (holder->changed_ns <= peak_ns && peak_ns < time_ns)
		holder->at_peak = holder->now;
	holder->changed_ns = time_ns;
}

static void allocate_block(struct memory_peaks *all, const struct memory_event *event)
{
	const struct model_memory *memory = event->memory;
	struct memory_holder *holder = holder_of(all, memory, event->place);
	struct memory_peak *peak = &all->peaks.items[holder->peak];

	note_peak(all, holder, memory->time_ns);
	peak->now += memory->bytes;
	if (peak->now > peak->most) {
		peak->most = peak->now;
		peak->time_ns = memory->time_ns;
	}
	holder->blocks++;
	holder->unreleased += memory->bytes;
	holder->now += memory->bytes;
}

/* If the process of the block has ended, its end has already released what was held. */
static void release_block(struct memory_peaks *all, const struct memory_event *event)
{
	const struct model_memory *memory = event->memory, *allocation = event->allocation;
	uint64_t exit_ns = all->exit_ns[allocation->process];
	struct memory_holder *holder = holder_of(all, allocation, event->place);

	holder->unreleased -= allocation->bytes;
	if (exit_ns <= memory->time_ns && allocation->time_ns < exit_ns)
		return;
	note_peak(all, holder, memory->time_ns);
	all->peaks.items[holder->peak].now -= allocation->bytes;
	holder->now -= allocation->bytes;
}

void memory_peaks_add_memory(struct memory_peaks *all, const struct memory_event *event)
{
	if (!event->memory->released)
		allocate_block(all, event);
	else if (event->allocation)
		release_block(all, event);
}

void memory_peaks_add_exit(struct memory_peaks *all, const struct exit_event *event)
{
	all->exit_ns[event->process] = event->time_ns;
	for (uint32_t i = all->first[event->process]; i != NONE; i = all->holders.items[i].next) {
		struct memory_holder *holder = &all->holders.items[i];

		if (!holder->now)
			continue;
		note_peak(all, holder, event->time_ns);
		all->peaks.items[holder->peak].now -= holder->now;
		holder->now = 0;
	}
}

/*
 * Key: line, space, device; ns: bytes at the peak, count: blocks, more: bytes not released.  users: the same key and
 * the line of the user's own code; ns: blocks.  owners: line, space, device; more: process_note_in_sum.
 */
static struct tally holders_by_line(struct memory_peaks *all, struct lines *lines, struct tally *users,
				    struct tally *owners)
{
	struct tally by_line = {0};

	for (size_t i = 0; i < all->holders.count; i++) {
		const uint32_t *part = all->callers.entries[i].key.part;
		struct place_lines at = lines_of_place(lines, part[0]);
		struct tally_key key = {{at.line, part[1], part[2]}};
		struct memory_holder *holder = &all->holders.items[i];
		struct tally_entry *entry = tally_at(&by_line, key);

		note_peak(all, holder, UINT64_MAX);
		entry->ns += holder->at_peak;
		entry->count += holder->blocks;
		entry->more += holder->unreleased;
		process_note_in_sum(&tally_at(owners, key)->more, part[3]);
		key.part[3] = at.user_line;
		if (at.user_line != NONE)
			tally_at(users, key)->ns += holder->blocks;
	}
	return by_line;
}

/* users: sorted by blocks, most first. */
static void name_users(struct memory_row *row, const struct tally_entry *users, size_t count)
{
	row->user_line = NONE;
	for (size_t i = 0; i < count; i++) {
		const uint32_t *part = users[i].key.part;

		if (part[0] == row->line && part[1] == row->space && part[2] == row->device && !row->user_lines++)
			row->user_line = part[3];
	}
}

void memory_peaks_finish(struct memory_peaks *all, struct lines *lines)
{
	struct tally users = {0}, owners = {0}, by_line = holders_by_line(all, lines, &users, &owners);
	AUTO_FREE struct tally_entry *sorted = tally_sorted(&by_line, false),
				     *users_sorted = tally_sorted(&users, false);

	all->count = by_line.count;
	all->rows = xcalloc(all->count, sizeof(*all->rows));
	for (size_t i = 0; i < all->count; i++) {
		all->rows[i] = (struct memory_row){.line = sorted[i].key.part[0],
						   .space = sorted[i].key.part[1],
						   .device = sorted[i].key.part[2],
						   .process = process_of_sum(tally_at(&owners, sorted[i].key)->more),
						   .at_peak = sorted[i].ns,
						   .unreleased = sorted[i].more,
						   .blocks = sorted[i].count};
		name_users(&all->rows[i], users_sorted, users.count);
	}
	tally_free(&users);
	tally_free(&owners);
	tally_free(&by_line);
}
