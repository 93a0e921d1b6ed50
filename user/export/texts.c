/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/texts.h"

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
	tally_free(&texts->ids);
}

static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

static uint32_t find_or_add(struct texts *texts, const char *before, const char *text)
{
	size_t at = texts->characters.used;
	uint32_t hash;

	sink_utf8(&texts->characters, before);
	sink_utf8(&texts->characters, text);
	sink_char(&texts->characters, '\0');
	hash = hash_of(texts->characters.buffer + at);
	for (uint32_t attempt = 0;; attempt++) {
		struct tally_entry *entry = tally_at(&texts->ids, (struct tally_key){{hash, attempt}});

		if (!entry->more) {
			array_push(&texts->at, at);
			entry->more = texts->at.count;
			return (uint32_t)texts->at.count - 1;
		}
		if (!strcmp(texts->characters.buffer + at, texts_at(texts, (uint32_t)entry->more - 1))) {
			texts->characters.used = at;
			return (uint32_t)entry->more - 1;
		}
	}
}

/* Whether whole is the two parts, as they are. */
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

	/* what is at that place may be another text by now */
	if (recent->text == text && is_of_parts(texts_at(texts, recent->id), before, text))
		return recent->id;
	*recent = (struct texts_recent){.text = text, .id = find_or_add(texts, before, text)};
	return recent->id;
}
