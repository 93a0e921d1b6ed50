/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* How long the records of each kind are; see records.h. */
#include "cupti/records.h"

#include <string.h>

#include "cupti/kinds.h"

/* The distance between the first two records of a buffer that holds nothing but kind numbers. */
static size_t probe_kind(const struct cupti *cupti, uint8_t *scratch, uint32_t kind)
{
	uint8_t *first = NULL, *second;
	size_t size = 0, i;

	for (i = 0; i < RECORDS_PROBE_BYTES; i += 8)
		memcpy(scratch + i, &kind, sizeof(kind));
	if (cupti->next_record(scratch, RECORDS_PROBE_BYTES, &first) == CUPTI_OK && first == scratch) {
		second = first;
		if (cupti->next_record(scratch, RECORDS_PROBE_BYTES, &second) == CUPTI_OK && second > first &&
		    second < scratch + RECORDS_PROBE_BYTES)
			size = (size_t)(second - first);
	}
	memset(scratch, 0, RECORDS_PROBE_BYTES);
	return size;
}

/* A size that is no multiple of a word, or less than in 11.8, means that the record is not the known one. */
static uint16_t good_size(uint32_t number, size_t size)
{
	const struct kind *kind = kind_find(number);

	if (size % 8 || size >= RECORDS_PROBE_BYTES / 2 || (kind && size < kind->min))
		return 0;
	return (uint16_t)size;
}

unsigned records_probe(struct records *records, uint8_t *scratch)
{
	unsigned good = 0;
	uint32_t number;

	for (number = 1; number < CUPTI_KIND_COUNT; number++) {
		records->sizes[number] = good_size(number, probe_kind(records->cupti, scratch, number));
		good += kind_find(number) && records->sizes[number];
	}
	return good;
}

void records_set_sizes(struct records *records, const uint16_t sizes[CUPTI_KIND_COUNT])
{
	uint32_t number;

	for (number = 1; number < CUPTI_KIND_COUNT; number++)
		records->sizes[number] = good_size(number, sizes[number]);
}
