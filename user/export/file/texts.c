/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/file/texts.h"

#include <string.h>

void texts_begin(struct texts *texts)
{
	*texts = (struct texts){0};
	sink_open_memory(&texts->characters);
}

void texts_free(struct texts *texts)
{
	sink_close(&texts->characters);
	array_free(&texts->at);
	lookup_free(&texts->ids);
}

static uint32_t find_or_add(struct texts *texts, const char *before, const char *text)
{
	size_t at = texts->characters.used;
	uint32_t *id;
	uint64_t hash;

	sink_utf8(&texts->characters, before);
	sink_utf8(&texts->characters, text);
	hash = hash_bytes(hash_seed(), texts->characters.buffer + at, texts->characters.used - at);
	sink_char(&texts->characters, '\0');
	/* texts with the same hash are kept under the next spaces */
	for (uint32_t space = 1;; space++) {
		id = lookup_put(&texts->ids, space, hash, UINT32_MAX);
		if (*id == UINT32_MAX)
			break;
		if (!strcmp(texts->characters.buffer + at, texts_at(texts, *id))) {
			texts->characters.used = at;
			return *id;
		}
	}
	*id = (uint32_t)texts->at.count;
	array_push(&texts->at, at);
	return *id;
}

/* Whether whole equals the two parts joined. */
static bool is_of_parts(const char *whole, const char *before, const char *text)
{
	while (*before)
		if (*whole++ != *before++)
			return false;
	return !strcmp(whole, text);
}

uint32_t texts_id(struct texts *texts, const char *before, const char *text)
{
	struct texts_recent *recent = &texts->recent[((uintptr_t)text >> 4 ^ (uintptr_t)text >> 12) % TEXTS_RECENT];

	/* another text may be at that address by now */
	if (recent->text == text && is_of_parts(texts_at(texts, recent->id), before, text))
		return recent->id;
	*recent = (struct texts_recent){.text = text, .id = find_or_add(texts, before, text)};
	return recent->id;
}
