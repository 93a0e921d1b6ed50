/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: any records, in chunks, through the search for descriptions and references (log/descriptions.h).
 * A chunk must get whole records of describing types, as many as reported, within the bounds.
 *
 * The last byte of each step says what it is: a record with one of a few pids and ids, so that references match
 * descriptions, or a new chunk.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

#include "log/descriptions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BYTES_MAX 20000u
#define REPEATED_MAX 3000u
#define CHUNK_MAX 65536u
#define STEP 24u

struct chunk {
	_Alignas(8) uint8_t records[CHUNK_MAX];
	size_t bytes;
};

static void check_chunk(struct descriptions *descriptions, struct chunk *chunk)
{
	struct descriptions_repeated repeated;
	const struct gpt_record *record;
	uint32_t count = 0;
	size_t at = 0;
	uint8_t *front;

	descriptions_look(descriptions, chunk->records, chunk->bytes, &repeated);
	if (repeated.bytes > REPEATED_MAX)
		abort();
	front = malloc(repeated.bytes + 1);
	descriptions_write(descriptions, front);
	while (at < repeated.bytes && (record = record_at(front, repeated.bytes, &at))) {
		if (record->type == GPT_CALL || record->type == GPT_END || record->type > 64)
			abort();
		count++;
	}
	if (at != repeated.bytes || count != repeated.records)
		abort();
	free(front);
	chunk->bytes = 0;
}

/* Adds a record of the type; its 32-bit words are mostly small numbers made of the step's bytes. */
static void put_record(struct chunk *chunk, uint8_t type, const uint8_t *step)
{
	struct gpt_record header = {.size = 8 + 8u * (step[0] % 20), .type = type};
	uint8_t *at = chunk->records + chunk->bytes;

	if (header.size > CHUNK_MAX - chunk->bytes)
		return;
	memcpy(at, &header, sizeof(header));
	for (uint32_t i = sizeof(header); i < header.size; i += 4) {
		uint8_t number = step[i / 4 % STEP];
		uint32_t word = number & 0x80 ? number * 0x01010101u : number % 5;

		memcpy(at + i, &word, sizeof(word));
	}
	chunk->bytes += header.size;
}

/* Puts the last record into a batch. */
static void enclose_last(struct chunk *chunk, size_t from, uint8_t type)
{
	struct gpt_agent_batch batch = {.hdr = {.type = GPT_AGENT_BATCH}, .pid = type % 3};
	uint32_t inner = (uint32_t)(chunk->bytes - from);

	if (!inner || sizeof(batch) > CHUNK_MAX - chunk->bytes)
		return;
	memmove(chunk->records + from + sizeof(batch), chunk->records + from, inner);
	batch.bytes = inner;
	batch.hdr.size = (uint32_t)sizeof(batch) + inner;
	memcpy(chunk->records + from, &batch, sizeof(batch));
	chunk->bytes += sizeof(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct descriptions *descriptions = descriptions_new(BYTES_MAX, REPEATED_MAX);
	static struct chunk chunk;

	chunk.bytes = 0;
	for (; size >= STEP; data += STEP, size -= STEP) {
		uint8_t type = data[STEP - 1];
		size_t from = chunk.bytes;

		if (type >= 0xf0)
			check_chunk(descriptions, &chunk);
		else
			put_record(&chunk, type % GPT_AGENT_TYPES_END, data);
		if (type < 0xf0 && type % GPT_AGENT_TYPES_END >= GPT_AGENT_HELLO)
			enclose_last(&chunk, from, type);
	}
	check_chunk(descriptions, &chunk);
	descriptions_free(descriptions);
	return 0;
}
