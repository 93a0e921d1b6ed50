/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collects the least value of each chunk, then propagates it from the end backwards; see lateness.h. */
#include "model/lateness.h"

#include "base/order.h"

void lateness_free(struct lateness_index *lateness)
{
	for (size_t i = 0; i < lateness->epochs.count; i++)
		array_free(&lateness->epochs.items[i].references);
	for (size_t i = 0; i < lateness->clocks.count; i++)
		array_free(&lateness->clocks.items[i].begins);
	array_free(&lateness->epochs);
	array_free(&lateness->clocks);
	array_free(&lateness->begins);
}

static struct lateness_epoch *epoch_of(struct lateness_index *lateness, uint32_t epoch)
{
	while (lateness->epochs.count <= epoch)
		array_push(&lateness->epochs, ((struct lateness_epoch){0}));
	return &lateness->epochs.items[epoch];
}

/* Leaves room in 64 bits for ids below the first one, of calls before the trace. */
#define FIRST_TURN (1ull << 32)

void lateness_begin_epoch(struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	struct lateness_epoch *epoch = epoch_of(lateness, number);

	epoch->first = epoch->latest = FIRST_TURN + corr;
	epoch->any = true;
}

/* ---- pass 1 ------------------------------------------------------------------------------------------- */

#define NOTE(list, at, least)                                                                                          \
	do {                                                                                                           \
		if (!(list)->count || (list)->items[(list)->count - 1].chunk != (at))                                  \
			array_push(list, ((struct lateness_least){.value = (least), .chunk = (at)}));                  \
		else if ((least) < (list)->items[(list)->count - 1].value)                                             \
			(list)->items[(list)->count - 1].value = (least);                                              \
	} while (0)

void lateness_note_reference(struct lateness_index *lateness, uint32_t number, uint32_t corr)
{
	struct lateness_epoch *epoch = lateness_epoch(lateness, number);
	uint64_t id;

	if (!lateness_refers(epoch, corr))
		return;
	id = lateness_id(epoch, corr);
	NOTE(&epoch->references, lateness->chunk, id);
}

void lateness_note_begin(struct lateness_index *lateness, uint32_t process, uint64_t time_ns)
{
	uint32_t index = process + 1; /* NONE: 0 */
	struct lateness_clock *clock;

	while (lateness->clocks.count <= index)
		array_push(&lateness->clocks, ((struct lateness_clock){0}));
	clock = &lateness->clocks.items[index];
	NOTE(&clock->begins, lateness->chunk, time_ns);
}

/* Gives each chunk the least value of itself and all later ones. */
#define CARRY_BACK(list)                                                                                               \
	do {                                                                                                           \
		for (size_t k = (list)->count; k-- > 1;)                                                               \
			if ((list)->items[k].value < (list)->items[k - 1].value)                                       \
				(list)->items[k - 1].value = (list)->items[k].value;                                   \
	} while (0)

void lateness_finish(struct lateness_index *lateness,
		     uint64_t (*to_monotonic)(void *context, uint32_t process, uint64_t wall_ns), void *context)
{
	for (size_t i = 0; i < lateness->epochs.count; i++)
		CARRY_BACK(&lateness->epochs.items[i].references);
	for (uint32_t i = 0; i <= lateness->chunk; i++)
		array_push(&lateness->begins, UINT64_MAX);
	for (size_t i = 0; i < lateness->clocks.count; i++) {
		const struct lateness_clock *clock = &lateness->clocks.items[i];

		array_each (least, &clock->begins) {
			uint64_t *begins = &lateness->begins.items[least->chunk];
			uint64_t time_ns = i ? to_monotonic(context, (uint32_t)i - 1, least->value) : least->value;

			if (time_ns < *begins)
				*begins = time_ns;
		}
	}
	for (size_t i = lateness->begins.count; i-- > 1;)
		if (lateness->begins.items[i] < lateness->begins.items[i - 1])
			lateness->begins.items[i - 1] = lateness->begins.items[i];
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

uint64_t lateness_begins(const struct lateness_index *lateness, uint32_t chunk)
{
	return chunk < lateness->begins.count ? lateness->begins.items[chunk] : UINT64_MAX;
}

uint64_t lateness_references(const struct lateness_index *lateness, uint32_t number, uint32_t chunk)
{
	const struct lateness_epoch *epoch = lateness_epoch(lateness, number);
	size_t low = count_while(epoch ? epoch->references.count : 0, i, epoch->references.items[i].chunk < chunk);

	return epoch && low < epoch->references.count ? epoch->references.items[low].value : UINT64_MAX;
}
