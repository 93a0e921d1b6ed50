/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: hostile buffers of another process through the collector's reader.  Whatever they hold, whatever
 * sizes the process reports and wherever names point, the result is whole records of agent.h in batches of the right
 * size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/clients/foreign_records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WALL 1790000000000000000ull
#define OFFSET 1789000000000000000ll
#define TICKS 3000000000000ull
#define MEMORY 0x1000u

static const uint8_t *memory; /* the process's memory from address MEMORY on: the input again */
static size_t memory_bytes;
static uint64_t seen;

static int read_memory(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	if (address < MEMORY || bytes > memory_bytes || address - MEMORY > memory_bytes - bytes)
		return -EFAULT;
	memcpy(buffer, memory + (address - MEMORY), bytes);
	return 0;
}

static void take_record(void *context, const struct gpt_record *record)
{
	const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)record;
	struct gpt_record inner;

	if (record->type != GPT_AGENT_BATCH || record->size != sizeof(*batch) + batch->bytes || !batch->bytes ||
	    batch->bytes > GPT_AGENT_BATCH_MAX || !(record->flags & GPT_BATCH_FOREIGN))
		abort();
	for (size_t at = 0; at < batch->bytes; at += inner.size) {
		memcpy(&inner, batch->data + at, sizeof(inner));
		if (inner.size < sizeof(inner) || inner.size % 8 || inner.size > batch->bytes - at ||
		    inner.type < GPT_AGENT_HELLO || inner.type >= GPT_AGENT_TYPES_END)
			abort();
		seen += inner.type != GPT_AGENT_NAME && inner.type != GPT_AGENT_STATS;
	}
}

static const uint8_t kinds[] = {1, 2, 4, 5, 8, 9, 10, 17, 22, 36, 37, 38, 39, 49};
static const uint16_t right_sizes[GPT_AGENT_KINDS] = {
	[1] = 96,  [2] = 88,  [4] = 40,	 [5] = 40,  [8] = 184, [9] = 32,  [10] = 216,
	[17] = 56, [22] = 96, [36] = 56, [37] = 24, [38] = 56, [39] = 24, [49] = 128};

#define SEED 16u /* bytes of input from which a record is made */
#define BUFFER 16384u

/* Puts a time near WALL or near TICKS. */
static void put_time(uint8_t *at, const uint8_t *seed)
{
	uint64_t time = seed[0] & 1 ? WALL : TICKS;

	time -= (uint64_t)seed[1] << (seed[2] % 33);
	memcpy(at, &time, sizeof(time));
}

/* Makes nearly valid records, so that a few bytes of input have much effect: each repeats its seed and has times and a
 * name at their offsets. */
static size_t make_records(uint8_t *buffer, const uint8_t *data, size_t size)
{
	size_t at = 0;

	for (; size >= SEED; data += SEED, size -= SEED) {
		uint32_t kind = kinds[data[0] % sizeof(kinds)];
		size_t bytes = right_sizes[kind];
		uint64_t name = MEMORY + data[3] * 4u;

		if (bytes > BUFFER - at)
			break;
		for (size_t i = 0; i < bytes; i++)
			buffer[at + i] = data[i % SEED];
		memcpy(buffer + at, &kind, sizeof(kind));
		if (data[4] & 1 && bytes >= 40) {
			put_time(buffer + at + (data[4] & 2 ? 16 : 24), data + 5);
			put_time(buffer + at + (data[4] & 2 ? 24 : 32), data + (data[4] & 4 ? 8 : 5));
		}
		if (data[4] & 8 && bytes >= 144)
			memcpy(buffer + at + (kind == CUPTI_KIND_DEVICE ? CUPTI_DEVICE_NAME : CUPTI_KERNEL_NAME), &name,
			       sizeof(name));
		at += bytes;
	}
	if (size > BUFFER - at)
		size = BUFFER - at;
	memcpy(buffer + at, data, size);
	return at + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct tsc_clock tsc;
	static struct foreign_records *process;
	static uint8_t made[BUFFER];
	uint16_t sizes[GPT_AGENT_KINDS];
	struct foreign_terms terms = {.emit = take_record, .read = read_memory, .clock = &tsc, .since_ns = 1};
	struct foreign_buffer buffer = {.wall_ns = WALL, .wall_offset_ns = OFFSET, .ticks = TICKS};
	struct foreign_result result;
	uint64_t before = seen;

	if (!process)
		process = foreign_records_new();
	if (!process || size < 3)
		return 0;
	for (uint64_t i = 3; i-- > 0 && tsc.pairs.count < 3;)
		tsc_clock_add(&tsc, (struct tsc_pair){TICKS - i * 1500000000, WALL - OFFSET - i * 500000000, 30});
	memcpy(sizes, right_sizes, sizeof(sizes));
	if (data[0] & 1) /* a target may report wrong sizes */
		sizes[data[1] % GPT_AGENT_KINDS] = (uint16_t)(data[2] << 3 | data[0] >> 5);
	terms.unwanted = data[0] & 2 ? 1ull << (data[2] % 64) : 0;
	terms.clock = data[0] & 4 ? NULL : &tsc;
	memory = data;
	memory_bytes = size;
	/* allocated at its exact length, so that ASan catches a read beyond it */
	buffer.bytes = make_records(made, data + 3, size - 3);
	buffer.data = malloc(buffer.bytes ? buffer.bytes : 1);
	memcpy(buffer.data, made, buffer.bytes);
	foreign_records_sizes(process, sizes);
	result = foreign_buffer_convert(process, &terms, &buffer);
	if (result.left > buffer.bytes || result.taken != seen - before)
		abort();
	free(buffer.data);
	return 0;
}
