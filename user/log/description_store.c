/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Descriptions with references between them, and which ones are forgotten. */
#include "log/description_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

void description_store_init(struct description_store *store, size_t bytes_max, size_t needed_bytes_max)
{
	memset(store, 0, sizeof(*store));
	store->bytes_max = bytes_max;
	store->needed_bytes_max = needed_bytes_max;
}

static size_t cost_of(const struct description *description)
{
	return sizeof(*description) + description->capacity + description->refers_count * sizeof(struct description *);
}

/* ---- forgetting ------------------------------------------------------------------------------------------------ */

static void release_description(struct description_store *store, struct description *description)
{
	if (--description->holders)
		return;
	store->bytes -= cost_of(description);
	array_push(&store->gone, description);
	for (uint32_t i = 0; i < description->refers_count; i++)
		if (description->refers_to[i])
			release_description(store, description->refers_to[i]);
}

static void destroy_description(struct description *description)
{
	free(description->data);
	free(description->refers_to);
	free(description);
}

static void free_gone(struct description_store *store)
{
	for (size_t i = 0; i < store->gone.count; i++)
		destroy_description(store->gone.items[i]);
	store->gone.count = 0;
}

/* Spaces are numbered from 0 on; kinds fit into the lower bits. */
static uint32_t place_of(uint32_t space, enum description_kind kind)
{
	return (space << DESCRIPTION_KIND_BITS | (uint32_t)kind) + 1;
}

static uint32_t *index_of(const struct description_store *store, const struct description *description)
{
	return lookup_get(&store->by_name, place_of(description->space, description->kind), description->id);
}

/* Removes all.items[index]; the last one takes its place. */
static void unlink_at(struct description_store *store, size_t index)
{
	struct description *description = store->all.items[index], *last = store->all.items[--store->all.count];

	store->all.items[index] = last;
	*index_of(store, last) = (uint32_t)index;
	lookup_drop(&store->by_name, place_of(description->space, description->kind), description->id);
	release_description(store, description);
}

void description_store_free(struct description_store *store)
{
	while (store->all.count)
		unlink_at(store, store->all.count - 1);
	free_gone(store);
	lookup_free(&store->by_name);
	array_free(&store->all);
	array_free(&store->needed);
	array_free(&store->gone);
}

/* Forgets what was last used before `chunk`; returns the oldest chunk in which something that stays was last used. */
static uint32_t forget_older(struct description_store *store, uint32_t chunk)
{
	uint32_t oldest = store->chunk;

	for (size_t i = store->all.count; i-- > 0;) {
		const struct description *description = store->all.items[i];

		if (description->used < chunk) {
			store->forgotten += description->bytes != 0;
			unlink_at(store, i);
		} else if (description->used < oldest) {
			oldest = description->used;
		}
	}
	return oldest;
}

/* Frees down to seven eighths of the bound, so that this is rare. False: only what the present chunk uses is left. */
static bool forget_oldest(struct description_store *store)
{
	uint32_t oldest;

	if (store->crowded == store->chunk)
		return false;
	oldest = forget_older(store, 0);
	while (store->bytes > store->bytes_max - store->bytes_max / 8 && oldest < store->chunk)
		oldest = forget_older(store, oldest + (store->chunk - oldest + 3) / 4);
	if (store->bytes > store->bytes_max - store->bytes_max / 8)
		store->crowded = store->chunk;
	return store->bytes <= store->bytes_max;
}

void description_store_remove(struct description_store *store, description_is_over *is_over, const void *context)
{
	for (size_t i = store->all.count; i-- > 0;)
		if (is_over(store->all.items[i], context))
			unlink_at(store, i);
}

void description_store_begin(struct description_store *store)
{
	free_gone(store);
	store->chunk++;
	store->needed.count = 0;
	store->needed_bytes = 0;
	store->left_out = false;
}

/* ---- finding and making ---------------------------------------------------------------------------------------- */

struct description *description_find(const struct description_store *store, uint32_t space, enum description_kind kind,
				     uint64_t id)
{
	const uint32_t *index = lookup_get(&store->by_name, place_of(space, kind), id);

	/* spaces that are 2^27 apart have the same place_of() */
	return index && *index != UINT32_MAX && store->all.items[*index]->space == space ? store->all.items[*index]
											 : NULL;
}

struct description *description_make(struct description_store *store, uint32_t space, enum description_kind kind,
				     uint64_t id, const void *data, size_t bytes)
{
	const uint32_t *index = lookup_get(&store->by_name, place_of(space, kind), id);
	struct description *made;

	if (index && *index != UINT32_MAX)
		unlink_at(store, *index);
	if (store->bytes + sizeof(*made) + bytes > store->bytes_max && !forget_oldest(store)) {
		store->forgotten++;
		return NULL;
	}
	made = xcalloc(1, sizeof(*made));
	made->id = id;
	made->space = space;
	made->kind = (uint16_t)kind;
	made->position = ++store->position;
	made->used = made->made = store->chunk;
	made->bytes = made->capacity = (uint32_t)bytes;
	made->data = bytes ? xmalloc(bytes) : NULL;
	if (bytes)
		memcpy(made->data, data, bytes);
	made->holders = 1;
	*lookup_put(&store->by_name, place_of(space, kind), id, 0) = (uint32_t)store->all.count;
	array_push(&store->all, made);
	store->bytes += cost_of(made);
	return made;
}

void description_refer(struct description_store *store, struct description *description, uint32_t count)
{
	description->refers_to = count ? xcalloc(count, sizeof(struct description *)) : NULL;
	description->refers_count = count;
	store->bytes += count * sizeof(struct description *);
}

void description_set_reference(struct description *description, uint32_t index, struct description *to)
{
	description->refers_to[index] = to;
	if (to)
		to->holders++;
}

void description_grow(struct description_store *store, struct description *description, const void *data, size_t bytes)
{
	if (description->grown != store->chunk) {
		description->grown = store->chunk;
		description->grown_from = description->bytes;
	}
	store->bytes -= cost_of(description);
	description->data = array_reserve(description->data, 1, description->bytes, bytes, &(size_t){0});
	description->capacity = description->bytes + (uint32_t)bytes;
	memcpy(description->data + description->bytes, data, bytes);
	description->bytes += (uint32_t)bytes;
	store->bytes += cost_of(description);
}

/* ---- what the chunk needs -------------------------------------------------------------------------------------- */

bool description_need(struct description_store *store, struct description *description)
{
	size_t bytes;

	if (!description)
		return false;
	description->used = store->chunk;
	if (description->made == store->chunk || description->needed == store->chunk)
		return false;
	bytes = description_needed_bytes(store, description);
	if (bytes > store->needed_bytes_max - store->needed_bytes) {
		store->left_out = true;
		return false;
	}
	store->needed_bytes += bytes;
	description->needed = store->chunk;
	if (bytes)
		array_push(&store->needed, description);
	for (uint32_t i = 0; i < description->refers_count; i++)
		description_need(store, description->refers_to[i]);
	return true;
}

DEFINE_ORDER(by_position, struct description *const, least_first((*a)->position, (*b)->position))

void description_store_sort(struct description_store *store)
{
	array_sort(&store->needed, by_position);
}
