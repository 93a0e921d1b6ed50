/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The texts of rows (rows.h), in blocks that stay where they are. */
#include <string.h>

#include "input/rows/rows.h"

#define TEXT_BLOCK (1u << 20)
#define TEXT_BYTES_MAX (256u << 20)
#define TEXT_MAX (16u << 10)

static const char *keep_text(struct rows *rows, const char *bytes, size_t size)
{
	char *kept;

	if (!rows->text_blocks.count || rows->text_used + size > TEXT_BLOCK) {
		array_push(&rows->text_blocks, xmalloc(TEXT_BLOCK));
		rows->text_used = 0;
	}
	kept = rows->text_blocks.items[rows->text_blocks.count - 1] + rows->text_used;
	memcpy(kept, bytes, size);
	rows->text_used += size;
	return kept;
}

uint32_t rows_new_text(struct rows *rows, const char *bytes, size_t size)
{
	if (size > TEXT_MAX)
		size = TEXT_MAX;
	if (rows->text_bytes + size > TEXT_BYTES_MAX || rows->texts.count >= ROW_NO_TEXT >> 2)
		return ROW_NO_TEXT;
	rows->text_bytes += size + sizeof(struct text) + sizeof(struct lookup_entry);
	array_push(&rows->texts, ((struct text){.bytes = keep_text(rows, bytes, size), .size = size}));
	return (uint32_t)rows->texts.count - 1;
}

uint32_t rows_text(struct rows *rows, const char *bytes, size_t size)
{
	uint64_t hash;
	uint32_t *found;

	if (!size)
		bytes = "";
	if (size > TEXT_MAX)
		size = TEXT_MAX;
	hash = hash_bytes(hash_seed(), bytes, size);
	found = lookup_put(&rows->text_lookup, 1, hash, ROW_NO_TEXT);
	if (*found != ROW_NO_TEXT && rows->texts.items[*found].size == size &&
	    !memcmp(rows->texts.items[*found].bytes, bytes, size))
		return *found;
	/* two texts share a hash: both are kept, the latest one is found */
	return *found = rows_new_text(rows, bytes, size);
}
