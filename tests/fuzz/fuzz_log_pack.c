/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * libFuzzer target: any records survive pack() and unpack() byte for byte, and the schema and packed bytes of a hostile
 * log are unpacked within bounds, also into the layout of gputrace's structs.  The first byte chooses; needs no corpus.
 *
 *	even: records follow	odd: the length of a schema's text follows (u16), that text, then packed bytes
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/record.h>
#include <gputrace/walk.h>

#include "log/packing/pack.h"
#include "log/packing/reshape.h"
#include "log/packing/unpack.h"
#include "log/packing/varint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

#define RECORD_BYTES 16384u /* limit for the unpacked bytes of a hostile log */

/* A copy in an allocation of its own, whose bounds ASan checks. */
static uint8_t *copy_data(const uint8_t *data, size_t size)
{
	uint8_t *made = malloc(size + 1);

	if (!made)
		abort();
	made = realloc(made, size ? size : 1);
	if (size)
		memcpy(made, data, size);
	return made;
}

/* A schema with its packer and unpacker. Those of gputrace's structs are kept, with their state, for later runs. */
struct sides {
	struct schema *schema;
	struct reshaper *reshaper; /* to gputrace's structs */
	struct packer *packer;
	struct unpacker *unpacker;
};

static struct sides sides_of(struct schema *schema)
{
	return (struct sides){schema, reshaper_new(schema, schema_own()), packer_new(schema), unpacker_new(schema)};
}

static void sides_free(struct sides *sides)
{
	reshaper_free(sides->reshaper);
	packer_free(sides->packer);
	unpacker_free(sides->unpacker);
	schema_free(sides->schema);
}

static void round_trip(const struct sides *sides, const uint8_t *data, size_t size)
{
	uint8_t *records, *packed, *back;
	struct pack_out out;
	size_t at = 0;

	while (record_at(data, size, &at)) /* up to the last whole record */
		continue;
	records = copy_data(data, at);
	if (pack(sides->packer, records, at, size % 4, &out))
		abort();
	packed = copy_data(out.packed, out.packed_bytes);
	back = copy_data(records, at);
	memset(back, 0xff, at);
	if (unpack(sides->unpacker, packed, out.packed_bytes, back, at) || memcmp(back, records, at)) {
		fprintf(stderr, "broken promise: records do not come back\n");
		abort();
	}
	free(records);
	free(packed);
	free(back);
}

static void check_whole(const uint8_t *records, size_t bytes)
{
	size_t at = 0;

	while (record_at(records, bytes, &at))
		continue;
	if (at != bytes) {
		fprintf(stderr, "broken promise: records are not whole\n");
		abort();
	}
}

/* The unpacked bytes must be whole records, which can be packed again and converted to another layout. */
static void unpack_any(const struct sides *sides, const uint8_t *data, size_t size)
{
	static const uint32_t sizes[] = {8, 64, 512, RECORD_BYTES};
	uint8_t *packed = copy_data(data, size), *records = malloc(RECORD_BYTES);
	const uint8_t *ours;
	size_t our_bytes;

	if (!records)
		abort();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (unpack(sides->unpacker, packed, size, records, sizes[i]))
			continue;
		check_whole(records, sizes[i]);
		round_trip(sides, records, sizes[i]);
		if (sides->reshaper && !reshape(sides->reshaper, records, sizes[i], &ours, &our_bytes))
			check_whole(ours, our_bytes);
	}
	free(packed);
	free(records);
}

static void hostile_log(const uint8_t *data, size_t size)
{
	size_t text = data[0] | (size_t)data[1] << 8;
	struct schema *schema;
	struct sides sides;

	text = text > size - 2 ? size - 2 : text;
	if (schema_parse((const char *)data + 2, text, &schema))
		return;
	sides = sides_of(schema);
	unpack_any(&sides, data + 2 + text, size - 2 - text);
	sides_free(&sides);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct sides own;

	if (!own.schema)
		own = sides_of(schema_own());
	if (size < 3)
		return 0;
	if (data[0] % 2) {
		hostile_log(data + 1, size - 1);
	} else {
		uint8_t *records = copy_data(data + 1, size - 1); /* aligned */

		round_trip(&own, records, size - 1);
		free(records);
	}
	return 0;
}

/* ---- seeds -------------------------------------------------------------------------------------------------- */

static size_t add_record(uint8_t *to, uint16_t type, uint32_t size)
{
	struct gpt_record record = {.size = size, .type = type};

	memset(to, 0, size);
	memcpy(to, &record, sizeof(record));
	return size;
}

/* Records of a schema's types; a type that holds records gets two of them. */
static size_t make_records(const struct schema *schema, uint8_t *to, size_t room, unsigned seed)
{
	size_t at = 0;

	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_type *type = &schema->types[i];
		uint32_t size = (type->fixed.bytes + 7u) & ~7u;

		if (type->tail == SCHEMA_BYTES)
			size += seed % 3 * 8;
		if (type->tail == SCHEMA_ARRAY)
			size = (size + 3 * type->element.bytes + 7u) & ~7u;
		if (type->tail == SCHEMA_RECORDS)
			size += 80;
		if ((i + seed) % 4 == 0 && room - at >= size) {
			size_t begin = at;

			at += add_record(to + at, type->type, size);
			if (type->tail == SCHEMA_RECORDS) {
				add_record(to + begin + type->fixed.bytes, schema->types[i / 2].type, 48);
				add_record(to + begin + type->fixed.bytes + 48, 66, 24);
			}
		}
	}
	return at;
}

static const char *const texts[] = {
	"1 call 48 time_ns:64:time pid:32:pid tid:32:id stack_id:64:id native_id:64:id corr:32:delta api:16:id "
	"origin:8:raw state:8:raw\n3 stack 24 id:64:raw depth:64:id array:12 lasti:32:delta code:64:id\n"
	"13 batch 16 bytes:64:id records\n66 api 24 a:64:wall b:64:+a\n",
	"1 a 8 array:3 x:8:delta y:16:+x\n2 b 9 x:8:raw array:9 x:64:delta y:8:+x\n3 c 8 records\n4 d 16 a:64:raw\n",
};

static size_t make_seed(uint8_t *data, size_t max_size, unsigned seed)
{
	uint8_t records[2048] = {0};
	struct schema *schema;
	struct packer *packer;
	struct pack_out out;
	const char *text = texts[seed / 2 % 2];
	size_t bytes;

	if (max_size < 2048 + 3)
		return 0;
	data[0] = (uint8_t)(seed % 2);
	if (seed % 2 == 0) {
		schema = schema_own();
		bytes = make_records(schema, records, sizeof(records), seed / 2);
		schema_free(schema);
		memcpy(data + 1, records, bytes);
		return bytes + 1;
	}
	data[1] = (uint8_t)strlen(text);
	data[2] = (uint8_t)(strlen(text) >> 8);
	memcpy(data + 3, text, strlen(text));
	if (schema_parse(text, strlen(text), &schema))
		abort();
	packer = packer_new(schema);
	/* 512 bytes: one of the lengths that unpack_any tries */
	bytes = make_records(schema, records, 512, seed / 2);
	bytes += add_record(records + bytes, 9, (uint32_t)(512 - bytes ? 512 - bytes : 8));
	if (pack(packer, records, bytes, 0, &out))
		abort();
	memcpy(data + 3 + strlen(text), out.packed, out.packed_bytes);
	bytes = 3 + strlen(text) + out.packed_bytes;
	packer_free(packer);
	schema_free(schema);
	return bytes;
}

/* Changes one column of packed records and corrects its length, so that the other columns stay intact. */
static size_t mutate_column(uint8_t *packed, size_t size, size_t max_size, unsigned seed)
{
	const uint8_t *at = packed, *end = packed + size, *begin;
	uint8_t column[512], *to;
	size_t following, starts[512], count = 0, changed;
	uint64_t number, bytes;

	if (!varint_get(&at, end, &number))
		return LLVMFuzzerMutate(packed, size, max_size);
	while (count < 512 && at < end) {
		begin = at;
		if (!varint_get(&at, end, &bytes) || bytes > (size_t)(end - at))
			break;
		starts[count++] = (size_t)(begin - packed);
		at += bytes;
	}
	if (!count)
		return LLVMFuzzerMutate(packed, size, max_size);
	begin = at = packed + starts[seed % count];
	varint_get(&at, end, &bytes);
	if (bytes > sizeof(column) / 2)
		return LLVMFuzzerMutate(packed, size, max_size);
	memcpy(column, at, bytes);
	/* half of the changes keep the column's length */
	changed = LLVMFuzzerMutate(column, bytes, seed / 1024 % 2 && bytes ? bytes : bytes + 8);
	following = (size_t)(end - at) - bytes;
	if ((size_t)(begin - packed) + VARINT_MAX + changed + following > max_size)
		return LLVMFuzzerMutate(packed, size, max_size);
	to = packed + (begin - packed);
	memmove(to + VARINT_MAX + changed, at + bytes, following);
	at = to + VARINT_MAX + changed;
	to = varint_put(to, changed);
	memcpy(to, column, changed);
	memmove(to + changed, at, following);
	return (size_t)(to - packed) + changed + following;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	size_t starts[256], count = 0, at = 1;
	struct gpt_record record;

	if (size < 3 || seed % 64 == 0)
		return make_seed(data, max_size, seed / 64);
	if (data[0] % 2) {
		size_t packed = 3 + (data[1] | (size_t)data[2] << 8);

		return seed % 8 == 3 || packed >= size
			       ? LLVMFuzzerMutate(data, size, max_size)
			       : packed + mutate_column(data + packed, size - packed, max_size - packed, seed / 8);
	}
	if (seed % 16 == 1)
		return LLVMFuzzerMutate(data, size, max_size);
	/* mutate a record's body, so that the chain of sizes holds; step into batches */
	for (; at + sizeof(record) <= size && count < 256; starts[count++] = at) {
		memcpy(&record, data + at, sizeof(record));
		if (record.size < sizeof(record) || record.size > size - at)
			break;
		at += record.type == GPT_AGENT_BATCH && record.size > sizeof(struct gpt_agent_batch) && seed % 2
			      ? sizeof(struct gpt_agent_batch)
			      : record.size;
		starts[count] = at;
	}
	if (!count)
		return LLVMFuzzerMutate(data, size, max_size);
	at = starts[seed / 64 % count];
	if (at + sizeof(record) > size)
		return LLVMFuzzerMutate(data, size, max_size);
	memcpy(&record, data + at, sizeof(record));
	if (record.size <= sizeof(record) || record.size > size - at)
		return LLVMFuzzerMutate(data, size, max_size);
	LLVMFuzzerMutate(data + at + sizeof(record), record.size - sizeof(record), record.size - sizeof(record));
	return size;
}
