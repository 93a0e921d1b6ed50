/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: hostile activity buffers through the agent's record reader.  Whatever CUPTI (or a
 * replacement) puts into a buffer, the agent sends whole records of agent.h in batches of the right size.
 * Only pointers are made valid first: CUPTI's are trusted, as they point to its memory in the same process.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/send/batch_send.h"
#include "agent/send/points.h"
#include "cupti/records.h"

unsigned short gputrace_agent_semaphore = 1, gputrace_agent_batch_semaphore = 1;
const volatile struct gpt_share_control *volatile share_control;
void share_batch(const void *data, uint64_t bytes)
{
	abort(); /* no shared ring here */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TYPES (GPT_AGENT_TYPES_END - GPT_AGENT_HELLO)

static uint64_t seen[TYPES]; /* sent records, by type */

void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread)
{
	const uint8_t *at = data, *end = at + bytes;
	struct gpt_record record;

	if (!bytes || bytes > GPT_AGENT_BATCH_MAX)
		abort();
	for (; at < end; at += record.size) {
		if (end - at < (ptrdiff_t)sizeof(record))
			abort();
		memcpy(&record, at, sizeof(record));
		if (record.size < sizeof(record) || record.size % 8 || record.size > (uint64_t)(end - at) ||
		    record.type < GPT_AGENT_HELLO || record.type >= GPT_AGENT_TYPES_END)
			abort();
		seen[record.type - GPT_AGENT_HELLO]++;
	}
}

void gputrace_agent_call(uint32_t corr, uint32_t api, const void *params)
{
	abort();
}

void gputrace_agent_state(uint32_t state, uint32_t abi)
{
	abort();
}

/* Record sizes of two CUPTI versions; the first byte of the input chooses. */
static const uint16_t sizes[2][CUPTI_KIND_COUNT] = {
	{[1] = 88,
	 [2] = 88,
	 [8] = 176,
	 [9] = 16,
	 [10] = 200,
	 [17] = 40,
	 [22] = 96,
	 [36] = 24,
	 [38] = 40,
	 [49] = 120,
	 [52] = 64,
	 [37] = 24,
	 [4] = 40,
	 [5] = 40},
	{[1] = 112,
	 [2] = 104,
	 [8] = 192,
	 [9] = 40,
	 [10] = 248,
	 [17] = 56,
	 [22] = 96,
	 [36] = 56,
	 [38] = 56,
	 [49] = 128,
	 [52] = 72,
	 [37] = 24,
	 [4] = 40,
	 [5] = 40},
};
static unsigned version;

/* Steps like CUPTI, but does not check that a record ends within the buffer. */
static uint32_t step_record(uint8_t *buffer, size_t valid, uint8_t **record)
{
	uint32_t kind;
	size_t left = *record ? (size_t)(buffer + valid - *record) : valid;

	if (!*record) {
		*record = buffer;
		return valid ? CUPTI_OK : CUPTI_MAX_LIMIT_REACHED;
	}
	if (left < sizeof(kind))
		return CUPTI_INVALID_KIND;
	memcpy(&kind, *record, sizeof(kind));
	if (kind >= CUPTI_KIND_COUNT)
		return CUPTI_INVALID_KIND;
	*record += sizes[version][kind]; /* size 0: the same record again */
	return *record == buffer + valid ? CUPTI_MAX_LIMIT_REACHED : CUPTI_OK;
}

static void set_pointer(uint8_t *record, size_t offset, const void *value)
{
	memcpy(record + offset, &value, sizeof(value));
}

/* Sets the pointers in records that will be read. Names are one of a few, so that some repeat. */
static void make_pointers_good(uint8_t *buffer, size_t size)
{
	static char names[8][40];
	static char longest[NAMES_TEXT_MAX + 100];
	uint8_t *record = NULL, *before;
	uint32_t kind;

	memset(longest, 'x', sizeof(longest) - 1);
	for (;;) {
		before = record;
		if (step_record(buffer, size, &record) != CUPTI_OK || (before && record <= before) ||
		    record >= buffer + size || (size_t)(buffer + size - record) < sizeof(kind))
			return;
		memcpy(&kind, record, sizeof(kind));
		if (kind >= CUPTI_KIND_COUNT || (size_t)(buffer + size - record) < sizes[version][kind])
			continue;
		if (kind == CUPTI_KIND_CONCURRENT_KERNEL) {
			memcpy(names[record[60] % 8], record + 20, 39);
			set_pointer(record, CUPTI_KERNEL_NAME,
				    record[61] < 8    ? longest
				    : record[61] < 16 ? NULL
						      : names[record[60] % 8]);
		}
		if (kind == CUPTI_KIND_DEVICE)
			set_pointer(record, CUPTI_DEVICE_NAME, record[61] < 128 ? names[record[60] % 8] : NULL);
		if (kind == CUPTI_KIND_OVERHEAD && sizes[version][kind] >= CUPTI_OVERHEAD_DATA + 8)
			set_pointer(record, CUPTI_OVERHEAD_DATA, record[16] < 128 ? malloc(8) : NULL);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct cupti cupti = {.next_record = step_record};
	static struct batch batch = {.send = batch_to_collector};
	static struct names names;
	struct records records = {.cupti = &cupti, .batch = &batch, .names = &names};
	uint64_t before = 0, after = 0;
	uint8_t *buffer;
	unsigned i;

	if (size < 2 || !names_open(&names))
		return 0;
	version = data[0] & 1;
	records.limited = data[0] & 2;
	records.last_corr = data[1];
	records.call_classes = data[0] & 4 ? ~0u : 0;
	memcpy(records.sizes, sizes[version], sizeof(records.sizes));
	buffer = malloc(size - 2 ? size - 2 : 1);
	memcpy(buffer, data + 2, size - 2);
	make_pointers_good(buffer, size - 2);
	for (i = 0; i < TYPES; i++)
		before += i == GPT_AGENT_NAME - GPT_AGENT_HELLO ? 0 : seen[i];
	records_buffer(&records, buffer, size - 2);
	batch_flush(&batch);
	for (i = 0; i < TYPES; i++)
		after += i == GPT_AGENT_NAME - GPT_AGENT_HELLO ? 0 : seen[i];
	/* each converted record is sent exactly once */
	if (after - before !=
	    records.stats.kernels + records.stats.memcpys + records.stats.memsets + records.stats.others)
		abort();
	if (names.count > NAMES_MAX / 2)
		names_clear(&names);
	free(buffer);
	return 0;
}
