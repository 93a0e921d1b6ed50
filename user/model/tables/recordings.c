/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUPTI 12.8 and later number the recordings of events; for earlier versions their order in time decides. */
#include "model/tables/recordings.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "model/model.h"

void recordings_free(struct recordings *recordings)
{
	array_free(&recordings->list);
	array_free(&recordings->by_event);
	lookup_free(&recordings->numbered);
}

/* False for the values of cudaEventSyncId that mean "none": 0, CUPTI_SYNCHRONIZATION_INVALID_VALUE in 32 or 64 bits. */
bool recording_is_numbered(uint64_t number)
{
	return number && number != UINT32_MAX && number != UINT64_MAX;
}

static void index_one(struct recordings *recordings, uint32_t index)
{
	const struct recording *recording = &recordings->list.items[index];

	if (recording_is_numbered(recording->number))
		*lookup_put(&recordings->numbered, recording->epoch, recording->number, 0) = index;
	if (recording->call != NONE) /* its time is the call's */
		array_push(&recordings->by_event, index);
}

void recordings_add(struct recordings *recordings, const struct recording *recording)
{
	array_push(&recordings->list, *recording);
	index_one(recordings, (uint32_t)recordings->list.count - 1);
}

static int compare_recordings(const struct recording *a, const struct recording *b)
{
	return least_first(a->process, b->process) ?:
	       least_first(a->context, b->context) ?:
	       least_first(a->event, b->event) ?:
	       least_first(a->time_ns, b->time_ns);
}

static int compare_indices(const void *left, const void *right, void *list)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return compare_recordings((struct recording *)list + a, (struct recording *)list + b) ?: least_first(a, b);
}

void recordings_order(struct recordings *recordings)
{
	if (recordings->by_event.count)
		qsort_r(recordings->by_event.items, recordings->by_event.count, sizeof(uint32_t), compare_indices,
			recordings->list.items);
}

const struct recording *recordings_numbered(const struct recordings *recordings, uint32_t epoch, uint64_t number)
{
	const uint32_t *index = recording_is_numbered(number) ? lookup_get(&recordings->numbered, epoch, number) : NULL;

	return index ? &recordings->list.items[*index] : NULL;
}

const struct recording *recordings_latest(const struct recordings *recordings, const struct recording *wanted)
{
	const uint32_t *order = recordings->by_event.items;
	size_t low = count_while(recordings->by_event.count, i,
				 compare_recordings(&recordings->list.items[order[i]], wanted) <= 0);
	const struct recording *found;

	if (!low)
		return NULL;
	found = &recordings->list.items[order[low - 1]];
	return found->process == wanted->process && found->context == wanted->context && found->event == wanted->event
		       ? found
		       : NULL;
}

void recordings_trim(struct recordings *recordings)
{
	size_t count = recordings->list.count;

	if (count <= 2 * RECORDINGS_MAX)
		return;
	memmove(recordings->list.items, recordings->list.items + count - RECORDINGS_MAX,
		RECORDINGS_MAX * sizeof(recordings->list.items[0]));
	recordings->list.count = RECORDINGS_MAX;
	recordings->by_event.count = 0;
	lookup_free(&recordings->numbered);
	for (uint32_t i = 0; i < RECORDINGS_MAX; i++)
		index_one(recordings, i);
}

void recordings_move(struct recordings *recordings, const uint32_t *places)
{
	for (size_t i = 0; i < recordings->list.count; i++)
		if (recordings->list.items[i].call != NONE)
			recordings->list.items[i].call = places[recordings->list.items[i].call];
}
