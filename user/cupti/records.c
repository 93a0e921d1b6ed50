/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Converts one record after the other by the table of kinds; see records.h. */
#include "cupti/records.h"

#include <string.h>

#include "cupti/kinds.h"

static void count_record(struct records *records, const struct kind *kind)
{
	++*(__u64 *)((char *)&records->stats + kind->counter);
}

/*
 * A forced flush returns records without an end; CUPTI returns records without times when it runs out of timestamp
 * memory.
 */
static void check_times(struct records *records, const struct kind *kind, uint8_t *ours)
{
	uint64_t times[2];

	memcpy(times, ours + kind->start, sizeof(times));
	if (times[0] && times[1] >= times[0] && times[0] >= records->oldest_wall_ns)
		return;
	memset(ours + kind->start, 0, sizeof(times));
	records->stats.untimed++;
}

/* CUPTI's own times of a record, if it has any. */
static void raw_times(const struct kind *kind, const uint8_t *record, uint64_t times[2])
{
	const struct field *field;

	for (field = kind->fields; field->bytes; field++)
		if (field->to == kind_start(kind))
			times[0] = kind_load(record, field->from, field->bytes);
		else if (kind_times(kind) > 1 && field->to == kind_start(kind) + sizeof(times[0]))
			times[1] = kind_load(record, field->from, field->bytes);
}

/* Whether to take a record of another process; sets its times as they go into the batch. */
static bool is_taken(const struct records *records, const struct kind *kind, const uint8_t *record, uint64_t times[2])
{
	const struct records_source *source = records->source;

	if (source->unwanted >> kind->kind & 1)
		return false;
	if (!kind_times(kind))
		return true;
	raw_times(kind, record, times);
	/* a record that CUPTI could not time is taken as it is */
	return !times[0] || (kind_times(kind) > 1 && times[1] < times[0]) ||
	       source->times(source->context, times, kind_times(kind));
}

/*
 * Whether CUPTI wrote another client's record into a gputrace buffer: it is later than that client's registration, or
 * uses that client's clock, which can show before the registration is reported.
 */
static bool is_misdirected(const struct records *records, const struct kind *kind, const uint8_t *record)
{
	uint64_t times[2] = {0};

	if (!kind || !kind_times(kind))
		return !kind && records->strays_since_ns;
	raw_times(kind, record, times);
	return (times[0] && times[0] < records->oldest_wall_ns) ||
	       (records->strays_since_ns && (!times[0] || times[0] >= records->strays_since_ns));
}

/* Ids rise with the calls, and wrap. */
static void note_kernel(struct records *records, uint32_t corr)
{
	if (!records->kernel_corr || (int32_t)(corr - records->kernel_corr) > 0)
		records->kernel_corr = corr;
}

/* Converts one record of at most `bytes` bytes; false: it is truncated, or of a kind that was not asked for. */
static bool records_convert(struct records *records, uint8_t *record, size_t bytes)
{
	const struct kind *kind = bytes >= 4 ? kind_find((uint32_t)kind_load(record, 0, 4)) : NULL;
	size_t size = kind ? records->sizes[kind->kind] : 0;
	const struct field *field;
	uint64_t times[2] = {0};
	uint32_t carried = 0;
	size_t extra = 0;
	uint8_t *ours;

	/* of a kind that gputrace never asks for */
	if (!kind && is_misdirected(records, kind, record)) {
		records->stats.misdirected++;
		return true;
	}
	if (!size || size > bytes) {
		records->stats.malformed++;
		return false;
	}
	records->stats.misdirected += is_misdirected(records, kind, record);
	if (records->limited && kind->corr &&
	    (int32_t)((uint32_t)kind_load(record, kind->corr, 4) - records->last_corr) > 0)
		return true;
	if ((records->source && !is_taken(records, kind, record, times)) ||
	    (kind->wants && !kind->wants(records, record)))
		return true;
	if (kind->before)
		carried = kind->before(records, record, &extra);
	ours = batch_add(records->batch, kind->type, kind->ours + extra);
	for (field = kind->fields; field->bytes; field++)
		if ((size_t)field->from + field->bytes <= size)
			memcpy(ours + field->to, record + field->from, field->bytes);
	if (records->source)
		memcpy(ours + kind_start(kind), times, kind_times(kind) * sizeof(times[0]));
	if (kind->after)
		kind->after(records, record, size, ours, carried);
	if (kind_times(kind) > 1)
		check_times(records, kind, ours);
	count_record(records, kind);
	if (kind->kind == CUPTI_KIND_CONCURRENT_KERNEL)
		note_kernel(records, (uint32_t)kind_load(record, kind->corr, 4));
	return true;
}

void records_abandoned(struct records *records, uint8_t *buffer, size_t bytes, const uint64_t between_wall_ns[2])
{
	const struct kind *kind;
	uint64_t times[2] = {0};
	size_t at = 0, size;
	uint32_t number;

	while (bytes - at >= sizeof(number)) {
		number = (uint32_t)kind_load(buffer + at, 0, sizeof(number));
		size = number < CUPTI_KIND_COUNT ? records->sizes[number] : 0;
		if (!size || size > bytes - at)
			return;
		kind = kind_find(number);
		if (is_misdirected(records, kind, buffer + at)) {
			records->stats.misdirected++;
		} else if (kind && kind->corr && kind_times(kind) > 1) {
			raw_times(kind, buffer + at, times);
			if (times[0] >= between_wall_ns[0] && times[0] <= times[1] && times[1] <= between_wall_ns[1])
				records_convert(records, buffer + at, size);
		}
		at += size;
	}
}

void records_buffer(struct records *records, uint8_t *buffer, size_t valid)
{
	uint8_t *record = NULL, *before;
	uint32_t result;

	for (;;) {
		before = record;
		result = records->cupti->next_record(buffer, valid, &record);
		if (result == CUPTI_MAX_LIMIT_REACHED)
			return;
		/*
		 * If CUPTI cannot step over a kind (21), it hides what follows; all of it counts as one malformed
		 * record.
		 */
		if (result != CUPTI_OK || record < buffer || record >= buffer + valid || (before && record <= before)) {
			records->stats.malformed++;
			return;
		}
		records_convert(records, record, (size_t)(buffer + valid - record));
	}
}

size_t records_foreign(struct records *records, uint8_t *buffer, size_t bytes)
{
	size_t at = 0, size;
	uint32_t number;

	while (bytes - at >= sizeof(number)) {
		number = (uint32_t)kind_load(buffer + at, 0, sizeof(number));
		size = number < CUPTI_KIND_COUNT ? records->sizes[number] : 0;
		if (!size || size > bytes - at)
			break;
		if (kind_find(number))
			records_convert(records, buffer + at, size);
		at += size;
	}
	return at;
}
