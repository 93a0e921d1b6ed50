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

/* What programs make all the time while they live. */
static bool is_code(const struct gpt_record *record)
{
	return record->type == GPT_GENERATED || record->type == GPT_PYTHON_SOURCE;
}

/* Drops the oldest records that take so many bytes; any: not only those of code. */
static void drop_oldest(struct lasting *lasting, size_t bytes, bool any)
{
	size_t kept = 0, dropped = 0;
	uint32_t size;

	for (size_t at = 0; at < lasting->count; at += size) {
		const struct gpt_record *record = (const struct gpt_record *)(lasting->bytes + at);

		size = record->size;
		if (dropped < bytes && (any || is_code(record))) {
			dropped += size;
			lasting->left_out++;
			continue;
		}
		memmove(lasting->bytes + kept, record, size);
		kept += size;
	}
	lasting->count = kept;
}

/* Of a recording of days the latest are worth most; more than is needed goes, as all that stays is moved. */
static void make_room(struct lasting *lasting, size_t bytes)
{
	for (int any = 0; any < 2 && bytes > LASTING_MAX - lasting->count; any++)
		drop_oldest(lasting, bytes + LASTING_MAX / 16, any);
}

static void add_record(struct lasting *lasting, const struct gpt_record *record)
{
	if (record->size > LASTING_MAX) {
		lasting->left_out++;
		return;
	}
	make_room(lasting, record->size);
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
