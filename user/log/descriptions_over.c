/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds descriptions to which no record refers any more, so that memory depends on what there is at a time: of a
 * process that has ended; of a stack from before the death of a code object, as all of a process's stacks get other ids
 * then (docs/design/bpf.md); that an address had a code object.  A thread's end is not in the log: of many threads,
 * those that were not needed for long are forgotten.
 */
#include "log/descriptions_state.h"

/* Records that refer to something come within this many chunks after its end: a thread that was woken may have to wait
 * for a CPU. */
#define LATE_CHUNKS 10u

/* A look at all is worth it when this many have come, and a quarter of what the last look left. */
#define NEW_LEAST 4096u

/* Threads and their other numbers that are kept without asking when they were needed; and how long others are. */
#define THREADS_KEPT 16384u
#define THREADS_CHUNKS 60u

struct over {
	const struct description_store *store;
	struct lookup ended;  /* by space */
	struct lookup deaths; /* by space: an index of positions */
	ARRAY(uint64_t) positions;
	size_t threads;
};

void descriptions_end_space(struct descriptions *descriptions, uint32_t space)
{
	array_push(&descriptions->ended, ((struct ended_space){.space = space, .chunk = descriptions->store.chunk}));
}

static bool is_late(const struct description_store *store, uint32_t chunk, uint32_t chunks)
{
	return store->chunk - chunk > chunks;
}

static bool is_thread(const struct description *description)
{
	return description->kind >= DESCRIPTION_THREAD && description->kind <= DESCRIPTION_POINTER;
}

static void find_ended(struct over *over, struct descriptions *descriptions)
{
	size_t kept = 0;

	for (size_t i = 0; i < descriptions->ended.count; i++) {
		struct ended_space ended = descriptions->ended.items[i];

		if (is_late(over->store, ended.chunk, LATE_CHUNKS))
			lookup_put(&over->ended, ended.space, 0, 0);
		else
			descriptions->ended.items[kept++] = ended;
	}
	descriptions->ended.count = kept;
}

static void find_deaths(struct over *over)
{
	for (size_t i = 0; i < over->store->all.count; i++) {
		const struct description *description = over->store->all.items[i];
		const struct process_numbers *process = (const struct process_numbers *)description->data;

		over->threads += is_thread(description);
		if (description->kind != DESCRIPTION_STATE || !process->death)
			continue;
		lookup_put(&over->deaths, process->space, 0, (uint32_t)over->positions.count);
		array_push(&over->positions, process->death);
	}
}

static bool has_ended(const struct over *over, uint32_t space)
{
	return lookup_get(&over->ended, space, 0);
}

static bool is_over(const struct description *description, const void *context)
{
	const struct over *over = context;
	const uint32_t *death;

	if (description->kind == DESCRIPTION_STATE)
		return has_ended(over, ((const struct process_numbers *)description->data)->space);
	if (!description->space) /* of the machine */
		return false;
	if (has_ended(over, description->space))
		return true;
	if (!is_late(over->store, description->used, LATE_CHUNKS))
		return false;
	death = lookup_get(&over->deaths, description->space, 0);
	if (description->kind == DESCRIPTION_PYSTACK)
		return death && description->position < over->positions.items[*death];
	return description->kind == DESCRIPTION_CODE &&
	       ((const struct gpt_record *)description->data)->type == GPT_CODE_DEAD;
}

static bool is_old_thread(const struct description *description, const void *context)
{
	const struct over *over = context;

	return is_thread(description) && is_late(over->store, description->used, THREADS_CHUNKS);
}

void descriptions_remove_over(struct descriptions *descriptions)
{
	struct description_store *store = &descriptions->store;
	struct over over = {.store = store};

	if (store->all.count < descriptions->kept + descriptions->kept / 4 + NEW_LEAST)
		return;
	find_ended(&over, descriptions);
	find_deaths(&over);
	description_store_remove(store, is_over, &over);
	if (over.threads > THREADS_KEPT) {
		size_t before = store->all.count;

		description_store_remove(store, is_old_thread, &over);
		store->forgotten += before - store->all.count;
	}
	descriptions->kept = store->all.count;
	lookup_free(&over.ended);
	lookup_free(&over.deaths);
	array_free(&over.positions);
}
