/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "log/lasting.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/record.h>

#include "base/array.h"

static bool is_lasting(const struct gpt_record *record)
{
	return record->type == GPT_NOTE || record->type == GPT_PROBES || record->type == GPT_GENERATED ||
	       record->type == GPT_PYTHON_SOURCE || record->type == GPT_NVML || record->type == GPT_DETAIL_CHANGE;
}

static void add_record(struct lasting *lasting, const struct gpt_record *record)
{
	if (record->size > LASTING_MAX - lasting->count) {
		lasting->left_out++;
		return;
	}
	lasting->bytes = array_reserve(lasting->bytes, 1, lasting->count, record->size, &lasting->capacity);
	memcpy(lasting->bytes + lasting->count, record, record->size);
	lasting->count += record->size;
}

void lasting_add(struct lasting *lasting, const uint8_t *records, size_t bytes)
{
	const struct gpt_record *record;

	for (size_t at = 0; at < bytes; at += record->size) {
		record = (const struct gpt_record *)(records + at);
		if (is_lasting(record))
			add_record(lasting, record);
	}
}

struct lasting lasting_copy(const struct lasting *lasting)
{
	struct lasting copy = {.count = lasting->count, .capacity = lasting->count, .left_out = lasting->left_out};

	copy.bytes = lasting->count ? xmalloc(lasting->count) : NULL;
	if (copy.bytes)
		memcpy(copy.bytes, lasting->bytes, lasting->count);
	return copy;
}

void lasting_free(struct lasting *lasting)
{
	free(lasting->bytes);
	*lasting = (struct lasting){0};
}
