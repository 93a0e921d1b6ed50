/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The least of each stretch, and from the end backwards that of all that follow; see survey.h. */
#include "model/tables/survey.h"

#include <stdlib.h>

void survey_free(struct survey *survey)
{
	for (size_t i = 0; i < survey->spaces.count; i++)
		array_free(&survey->spaces.items[i].references);
	for (size_t i = 0; i < survey->clocks.count; i++)
		array_free(&survey->clocks.items[i].begins);
	array_free(&survey->spaces);
	array_free(&survey->clocks);
	array_free(&survey->begins);
}

static struct survey_space *space_of(struct survey *survey, uint32_t space)
{
	while (survey->spaces.count <= space)
		array_push(&survey->spaces, ((struct survey_space){0}));
	return &survey->spaces.items[space];
}

/* So that ids below the first one, of calls before the trace, have room in 64 bits. */
#define FIRST_TURN (1ull << 32)

void survey_begin_space(struct survey *survey, uint32_t number, uint32_t corr)
{
	struct survey_space *space = space_of(survey, number);

	space->first = space->latest = FIRST_TURN + corr;
	space->any = true;
}

/* ---- the first reading ------------------------------------------------------------------------------------------- */

#define NOTE(list, at, least)                                                                                          \
	do {                                                                                                           \
		if (!(list)->count || (list)->items[(list)->count - 1].stretch != (at))                                \
			array_push(list, ((struct survey_least){.value = (least), .stretch = (at)}));                  \
		else if ((least) < (list)->items[(list)->count - 1].value)                                             \
			(list)->items[(list)->count - 1].value = (least);                                              \
	} while (0)

void survey_note_reference(struct survey *survey, uint32_t number, uint32_t corr)
{
	struct survey_space *space = survey_space(survey, number);
	uint64_t id;

	if (!survey_refers(space, corr))
		return;
	id = survey_id(space, corr);
	NOTE(&space->references, survey->stretch, id);
}

void survey_note_begin(struct survey *survey, uint32_t process, uint64_t time_ns)
{
	uint32_t index = process + 1; /* NONE: 0 */
	struct survey_clock *clock;

	while (survey->clocks.count <= index)
		array_push(&survey->clocks, ((struct survey_clock){0}));
	clock = &survey->clocks.items[index];
	NOTE(&clock->begins, survey->stretch, time_ns);
}

/* From here on each stretch has the least of itself and of all that follow. */
#define CARRY_BACK(list)                                                                                               \
	do {                                                                                                           \
		for (size_t k = (list)->count; k-- > 1;)                                                               \
			if ((list)->items[k].value < (list)->items[k - 1].value)                                       \
				(list)->items[k - 1].value = (list)->items[k].value;                                   \
	} while (0)

void survey_finish(struct survey *survey, uint64_t (*to_monotonic)(void *context, uint32_t process, uint64_t wall_ns),
		   void *context)
{
	for (size_t i = 0; i < survey->spaces.count; i++)
		CARRY_BACK(&survey->spaces.items[i].references);
	for (uint32_t i = 0; i <= survey->stretch; i++)
		array_push(&survey->begins, UINT64_MAX);
	for (size_t i = 0; i < survey->clocks.count; i++) {
		const struct survey_clock *clock = &survey->clocks.items[i];

		for (size_t k = 0; k < clock->begins.count; k++) {
			const struct survey_least *least = &clock->begins.items[k];
			uint64_t *begins = &survey->begins.items[least->stretch];
			uint64_t time_ns = i ? to_monotonic(context, (uint32_t)i - 1, least->value) : least->value;

			if (time_ns < *begins)
				*begins = time_ns;
		}
	}
	for (size_t i = survey->begins.count; i-- > 1;)
		if (survey->begins.items[i] < survey->begins.items[i - 1])
			survey->begins.items[i - 1] = survey->begins.items[i];
}

/* ---- what it says ------------------------------------------------------------------------------------------------ */

uint64_t survey_begins(const struct survey *survey, uint32_t stretch)
{
	return stretch < survey->begins.count ? survey->begins.items[stretch] : UINT64_MAX;
}

uint64_t survey_references(const struct survey *survey, uint32_t number, uint32_t stretch)
{
	const struct survey_space *space = survey_space(survey, number);
	size_t low = 0, high = space ? space->references.count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (space->references.items[middle].stretch < stretch)
			low = middle + 1;
		else
			high = middle;
	}
	return space && low < space->references.count ? space->references.items[low].value : UINT64_MAX;
}
