/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_texts.h"

#include <stdlib.h>
#include <string.h>

#include "model/collectives.h"

#define NAMES_SEARCHED 256u

uint32_t rank_texts_keep(struct rank_texts *texts, char *text)
{
	array_push(&texts->kept->list, text);
	return (uint32_t)texts->kept->list.count - 1;
}

/* The innermost line of the user's own code, where there is one. */
static uint32_t line_of_place(struct rank_texts *texts, const struct tally_key *place)
{
	const struct model *model = texts->model;

	if (stack_has_frames(model, place->part[0])) {
		const struct model_stack *stack = &model->stacks[place->part[0]];

		for (uint32_t i = 0; i < stack->depth; i++) {
			uint32_t line = line_of(texts->lines, model->stack_frames[stack->first + i]);

			if (!line_is_library(texts->lines, line))
				return line;
		}
	}
	return line_of(texts->lines, place->part[1]);
}

uint32_t rank_texts_keep_of_line(struct rank_texts *texts, uint32_t line)
{
	struct tally_entry *kept = tally_at(&texts->lines_kept, (struct tally_key){{line}});

	if (!kept->more)
		kept->more = rank_texts_keep(texts, line_label(texts->lines, line)) + 1ull;
	return (uint32_t)(kept->more - 1);
}

uint32_t rank_texts_keep_line(struct rank_texts *texts, uint32_t place)
{
	return place == NONE ? NONE
			     : rank_texts_keep_of_line(texts, line_of_place(texts, &texts->places->entries[place].key));
}

/* Many collectives differ only in size and share a text: looks for it among the latest texts. */
static uint32_t keep_equal_text(struct rank_texts *texts, char *text)
{
	size_t count = texts->kept->list.count;

	for (size_t i = count; i-- > 0 && count - i <= NAMES_SEARCHED;)
		if (!strcmp(texts->kept->list.items[i], text)) {
			free(text);
			return (uint32_t)i;
		}
	return rank_texts_keep(texts, text);
}

uint32_t rank_texts_keep_collective(struct rank_texts *texts, uint32_t params)
{
	struct tally_entry *kept = tally_at(&texts->names_kept, (struct tally_key){{params}});
	struct collective collective;
	const char *about;

	if (!kept->more) {
		if (!collective_read(&collective, texts->model->strings[params]))
			return NONE;
		about = collective.fields[GPT_COLLECTIVE_DESCRIPTION];
		kept->more =
			keep_equal_text(texts, xasprintf("%s (%s%s)", collective.fields[GPT_COLLECTIVE_NAME],
							 *about ? "" : "group ",
							 *about ? about : collective.fields[GPT_COLLECTIVE_GROUP])) +
			1ull;
	}
	return (uint32_t)(kept->more - 1);
}

void rank_texts_free(struct rank_texts *texts)
{
	tally_free(&texts->lines_kept);
	tally_free(&texts->names_kept);
}

void kept_texts_free(struct kept_texts *texts)
{
	for (size_t i = 0; i < texts->list.count; i++)
		free(texts->list.items[i]);
	array_free(&texts->list);
}
