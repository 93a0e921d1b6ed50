/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/agent.h>
#include <gputrace/record.h>

#include "log/packing/pack.h"
#include "log/packing/unpack.h"

/* Records one after the other. */
struct records {
	uint8_t *bytes;
	size_t count, capacity;
};

static uint8_t *add_record(struct records *records, uint16_t type, uint32_t size)
{
	struct gpt_record header = {.size = size, .type = type};
	uint8_t *at;

	if (records->count + size > records->capacity) {
		records->capacity = (records->count + size) * 2;
		records->bytes = realloc(records->bytes, records->capacity);
		assert_non_null(records->bytes);
	}
	at = records->bytes + records->count;
	memset(at, 0, size);
	memcpy(at, &header, sizeof(header));
	records->count += size;
	return at;
}

/* Adds a struct as a record; fills in hdr. */
#define ADD(records, type_, value)                                                                                     \
	memcpy(add_record(records, type_, sizeof(value)) + 8, (const uint8_t *)&(value) + 8, sizeof(value) - 8)

static uint64_t random_next(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

static void fill_record(uint8_t *record, uint64_t *seed)
{
	struct gpt_record header;

	memcpy(&header, record, sizeof(header));
	for (uint32_t i = sizeof(header); i < header.size; i++)
		record[i] = (uint8_t)random_next(seed);
}

/* Appends a batch with these records, and `rest` bytes that are no record. */
static struct gpt_agent_batch *add_batch(struct records *records, const struct records *inside, uint32_t rest)
{
	uint8_t *batch = add_record(records, GPT_AGENT_BATCH, sizeof(struct gpt_agent_batch) + inside->count + rest);

	((struct gpt_agent_batch *)batch)->bytes = inside->count;
	if (inside->count)
		memcpy(batch + sizeof(struct gpt_agent_batch), inside->bytes, inside->count);
	return (struct gpt_agent_batch *)batch;
}

static void check_by(struct packer *packer, struct unpacker *unpacker, const struct records *records, uint32_t repeated,
		     struct pack_out *out)
{
	uint8_t *back = malloc(records->count + 1);

	assert_int_equal(pack(packer, records->bytes, records->count, repeated, out), 0);
	memset(back, 0x5a, records->count + 1);
	assert_int_equal(unpack(unpacker, out->packed, out->packed_bytes, back, records->count), 0);
	if (records->count)
		assert_memory_equal(back, records->bytes, records->count);
	assert_int_equal(back[records->count], 0x5a);
	free(back);
}

/* Packs and unpacks twice, as leftovers of the first time must not matter; returns the packed bytes. */
static size_t check_schema(const struct schema *schema, const struct records *records)
{
	struct packer *packer = packer_new(schema);
	struct unpacker *unpacker = unpacker_new(schema);
	struct pack_out out;

	check_by(packer, unpacker, records, 0, &out);
	check_by(packer, unpacker, records, 0, &out);
	packer_free(packer);
	unpacker_free(unpacker);
	return out.packed_bytes;
}

static size_t check_records(const struct records *records)
{
	struct schema *schema = schema_own();
	size_t bytes = check_schema(schema, records);

	schema_free(schema);
	return bytes;
}

/* ---- round trips -------------------------------------------------------------------------------------------- */

static void no_record_round_trips(void **state)
{
	assert_in_range(check_records(&(struct records){0}), 1, 8);
}

static void every_type_round_trips(void **state)
{
	struct schema *schema = schema_own();
	struct records records = {0};
	uint64_t seed = 1;

	for (int turn = 0; turn < 20; turn++)
		for (size_t i = 0; i < schema->count; i++)
			if (schema->types[i].tail != SCHEMA_RECORDS)
				fill_record(add_record(&records, schema->types[i].type, schema->types[i].fixed.bytes),
					    &seed);
	check_schema(schema, &records);
	free(records.bytes);
	schema_free(schema);
}

static void records_longer_and_shorter_than_their_struct_round_trip(void **state)
{
	struct schema *schema = schema_own();
	struct records records = {0};
	uint64_t seed = 2;

	for (size_t i = 0; i < schema->count; i++)
		for (uint32_t size = 8; size < schema->types[i].fixed.bytes + 64; size += 8)
			fill_record(add_record(&records, schema->types[i].type, size), &seed);
	check_schema(schema, &records);
	free(records.bytes);
	schema_free(schema);
}

static void types_that_the_schema_has_not_round_trip(void **state)
{
	struct records records = {0};
	uint64_t seed = 3;

	for (unsigned type = 0; type <= UINT16_MAX; type += 13)
		fill_record(add_record(&records, (uint16_t)type, 8 + 8 * (type % 5)), &seed);
	check_records(&records);
	free(records.bytes);
}

static void extreme_values_round_trip(void **state)
{
	static const uint64_t values[] = {0, UINT64_MAX, 1, 1ull << 63, (1ull << 63) - 1, UINT32_MAX, 0, 127, 128, 129};
	struct records records = {0};

	for (size_t i = 0; i < 10; i++)
		for (size_t j = 0; j < 10; j++) {
			struct gpt_call call = {.time_ns = values[i],
						.pid = (uint32_t)values[j],
						.stack_id = values[j],
						.corr = (uint32_t)values[i],
						.api = (uint16_t)values[j],
						.origin = (uint8_t)values[i]};
			struct gpt_agent_api api = {
				.start_ns = values[i], .end_ns = values[j], .flags = (uint16_t)values[j]};

			ADD(&records, GPT_CALL, call);
			ADD(&records, GPT_AGENT_API, api);
		}
	check_records(&records);
	free(records.bytes);
}

static void more_values_than_a_list_remembers_round_trip(void **state)
{
	struct records records = {0};
	uint64_t seed = 4;

	for (unsigned turn = 0; turn < 2; turn++)
		for (uint64_t i = 0; i < 90000; i++) {
			/* values repeat; some share a slot of a hash table */
			struct gpt_call call = {.stack_id = i % 3 ? random_next(&seed) % 1000 : i << 32 | i};

			ADD(&records, GPT_CALL, call);
		}
	check_records(&records);
	free(records.bytes);
}

/* 8 MB, which is one segment. */
static void values_of_a_list_repeat_and_change(void **state)
{
	struct records records = {0};
	struct gpt_call call = {.tid = 0};

	/* values 1 to 400, each followed by some that repeat */
	for (uint32_t value = 1; value <= 400; value++) {
		call.tid = value;
		ADD(&records, GPT_CALL, call);
		for (uint32_t i = 0; i < 20; i++) {
			call.tid = value % 3 ? i > 0 : value;
			ADD(&records, GPT_CALL, call);
		}
	}
	check_records(&records);
	free(records.bytes);
}

static void random_records_round_trip(void **state)
{
	struct schema *schema = schema_own();
	struct records records = {0}, inside = {0};
	uint64_t seed = 5;

	while (records.count < 8u << 20) {
		uint64_t choice = random_next(&seed);
		const struct schema_type *type = &schema->types[choice / 64 % schema->count];
		uint32_t size = type->fixed.bytes + (choice % 8 ? 0 : (uint32_t)random_next(&seed) % 32 * 8);

		if (choice % 16 == 1) {
			add_batch(&records, &inside, (uint32_t)(choice / 8192 % 3) * 8);
			inside.count = 0;
		} else {
			fill_record(add_record(choice % 16 < 9 ? &records : &inside,
					       choice % 32 == 2 ? 999 : type->type, size & ~7u),
				    &seed);
		}
	}
	check_schema(schema, &records);
	free(records.bytes);
	free(inside.bytes);
	schema_free(schema);
}

static void arrays_longer_than_a_window_round_trip(void **state)
{
	struct records records = {0};
	uint64_t seed = 6;

	fill_record(add_record(&records, GPT_PYSTACK, sizeof(struct gpt_pystack) + 8), &seed); /* half an element */
	fill_record(add_record(&records, GPT_PYSTACK, sizeof(struct gpt_pystack) + 9001 * sizeof(struct gpt_pyframe)),
		    &seed);
	fill_record(add_record(&records, GPT_PYSTACK, sizeof(struct gpt_pystack) + 3 * sizeof(struct gpt_pyframe) + 8),
		    &seed);
	fill_record(add_record(&records, GPT_NATIVE_STACK, sizeof(struct gpt_native_stack) + 8 * 12288), &seed);
	check_records(&records);
	free(records.bytes);
}

static void batches_round_trip_whatever_is_in_them(void **state)
{
	struct records records = {0}, inside = {0}, deeper = {0};
	struct gpt_agent_batch *batch;
	uint64_t seed = 7;

	add_batch(&records, &inside, 0);
	add_batch(&records, &inside, 8);
	fill_record(add_record(&inside, GPT_AGENT_KERNEL, sizeof(struct gpt_agent_kernel)), &seed);
	fill_record(add_record(&inside, GPT_AGENT_STATS, GPT_AGENT_STATS_FIRST), &seed); /* of an older agent */
	fill_record(add_record(&inside, 9999, 24), &seed);
	add_batch(&records, &inside, 0);
	batch = add_batch(&records, &inside, 16); /* two headers that say size 0 */
	batch->bytes = UINT32_MAX;
	batch = add_batch(&records, &inside, 0);
	batch->bytes = 3;
	add_batch(&deeper, &inside, 0); /* a batch in a batch in a batch */
	add_batch(&inside, &deeper, 0);
	fill_record(add_record(&inside, GPT_AGENT_KERNEL, sizeof(struct gpt_agent_kernel)), &seed);
	add_batch(&records, &inside, 0);
	memcpy(add_record(&records, GPT_AGENT_BATCH, 48) + 32, &(struct gpt_record){.size = 24, .type = GPT_CALL}, 8);
	memcpy(add_record(&records, GPT_AGENT_BATCH, 48) + 32, &(struct gpt_record){.size = 12, .type = GPT_CALL}, 8);
	add_record(&records, GPT_AGENT_BATCH, 24); /* shorter than a batch */
	fill_record(add_record(&records, GPT_AGENT_KERNEL, sizeof(struct gpt_agent_kernel)), &seed); /* in no batch */
	check_records(&records);
	free(records.bytes);
	free(inside.bytes);
	free(deeper.bytes);
}

static void a_batch_longer_than_a_window_round_trips(void **state)
{
	struct records records = {0}, inside = {0};
	struct gpt_call call = {.pid = 7};
	uint64_t seed = 8;

	for (unsigned i = 0; i < 9000; i++)
		fill_record(add_record(&inside, i % 2 ? GPT_AGENT_API : 777, 40), &seed);
	ADD(&records, GPT_CALL, call);
	add_batch(&records, &inside, 8);
	ADD(&records, GPT_CALL, call);
	check_records(&records);
	free(records.bytes);
	free(inside.bytes);
}

/* ---- records that grew -------------------------------------------------------------------------------------- */

/* gputrace's schema with one piece of its text replaced. */
static struct schema *changed_schema(const char *old, const char *new)
{
	struct schema *schema;
	char *text, *found, *changed;
	size_t bytes;

	text = schema_text(&bytes);
	text = realloc(text, bytes + 1);
	text[bytes] = 0;
	found = strstr(text, old);
	assert_non_null(found);
	*found = 0;
	assert_true(asprintf(&changed, "%s%s%s", text, new, found + strlen(old)) > 0);
	assert_int_equal(schema_parse(changed, strlen(changed), &schema), 0);
	free(text);
	free(changed);
	return schema;
}

static void a_record_that_grew_round_trips(void **state)
{
	struct schema *schema = changed_schema("1 call 48 time_ns:64:time", "1 call 56 op:64:id time_ns:64:time");
	struct records records = {0};
	uint64_t seed = 9;

	for (unsigned i = 0; i < 100; i++)
		fill_record(add_record(&records, GPT_CALL, i % 10 ? 56 : 48), &seed);
	check_schema(schema, &records);
	free(records.bytes);
	schema_free(schema);
}

static void a_record_that_grew_in_a_batch_round_trips(void **state)
{
	struct schema *schema = changed_schema("69 agent_memset 72 start_wall_ns:64:wall end_wall_ns:64:+start_wall_ns",
					       "69 agent_memset 88 start_wall_ns:64:wall end_wall_ns:64:+start_wall_ns "
					       "queued_wall_ns:64:wall more:64:+queued_wall_ns");
	struct records records = {0}, inside = {0};
	uint64_t seed = 10;

	for (unsigned i = 0; i < 100; i++)
		fill_record(add_record(&inside, GPT_AGENT_MEMSET, i % 10 ? 88 : 72), &seed);
	add_batch(&records, &inside, 0);
	check_schema(schema, &records);
	free(records.bytes);
	free(inside.bytes);
	schema_free(schema);
}

static void an_element_of_an_array_that_grew_round_trips(void **state)
{
	struct schema *schema = changed_schema("array:16 code:64:id lasti:32:delta pad:32:raw",
					       "array:19 code:64:id lasti:32:delta pad:32:raw a:8:raw b:16:delta");
	struct records records = {0};
	uint64_t seed = 11;

	for (unsigned i = 0; i < 100; i++)
		fill_record(add_record(&records, GPT_PYSTACK, (24 + 19 * i + 7) & ~7u), &seed);
	check_schema(schema, &records);
	free(records.bytes);
	schema_free(schema);
}

/* ---- what a segment's header has ---------------------------------------------------------------------------- */

static uint32_t kind_count(const struct pack_out *out, uint16_t type)
{
	for (uint32_t i = 0; i < out->kind_count; i++)
		if (out->kinds[i].type == type)
			return out->kinds[i].count;
	return 0;
}

static void add_session(struct records *records)
{
	struct records inside = {0};
	struct gpt_thread thread = {.time_ns = 5, .pid = 99};
	struct gpt_call call = {.time_ns = 100, .pid = 7}, later = {.time_ns = 300, .pid = 9};
	struct gpt_agent_kernel kernel = {.start_wall_ns = 1000, .end_wall_ns = 2000}, untimed = {0};
	struct gpt_agent_name name = {.id = 1};
	struct gpt_agent_api api = {.start_ns = 200, .end_ns = 400};

	/* two repeated records */
	ADD(records, GPT_THREAD, thread);
	ADD(&inside, GPT_AGENT_NAME, name);
	add_batch(records, &inside, 0)->time_ns = 6;
	inside.count = 0;
	ADD(records, GPT_CALL, later);
	ADD(&inside, GPT_AGENT_KERNEL, kernel);
	ADD(&inside, GPT_AGENT_KERNEL, untimed);
	ADD(&inside, GPT_AGENT_API, api);
	*add_batch(records, &inside, 0) = (struct gpt_agent_batch){
		.hdr = {.size = 32 + inside.count, .type = GPT_AGENT_BATCH}, .time_ns = 350, .pid = 8};
	ADD(records, GPT_CALL, call);
	add_record(records, GPT_CALL, 16);
	add_record(records, 999, 16);
	free(inside.bytes);
}

static void the_header_counts_what_is_not_repeated(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct unpacker *unpacker = unpacker_new(schema);
	struct records records = {0};
	struct pack_out out;

	add_session(&records);
	check_by(packer, unpacker, &records, 2, &out);
	assert_int_equal(out.records, 7);
	assert_int_equal(out.kind_count, 5);
	assert_int_equal(kind_count(&out, 0), 1);
	assert_int_equal(kind_count(&out, GPT_CALL), 3);
	assert_int_equal(kind_count(&out, GPT_AGENT_KERNEL), 2);
	assert_int_equal(kind_count(&out, GPT_AGENT_NAME), 0);
	assert_int_equal(out.kinds[4].type, GPT_AGENT_KERNEL);
	assert_int_equal(out.first_ns, 100);
	assert_int_equal(out.last_ns, 400);
	assert_int_equal(out.first_wall_ns, 1000);
	assert_int_equal(out.last_wall_ns, 2000);
	assert_int_equal(out.pid_count, 3);
	assert_int_equal(out.pids[0], 7);
	assert_int_equal(out.pids[1], 8);
	assert_int_equal(out.pids[2], 9);
	check_by(packer, unpacker, &records, 0, &out);
	assert_int_equal(out.first_ns, 5);
	assert_int_equal(out.pid_count, 5);
	assert_int_equal(kind_count(&out, GPT_AGENT_NAME), 1);
	check_by(packer, unpacker, &(struct records){0}, 0, &out);
	assert_int_equal(out.first_ns | out.last_ns | out.first_wall_ns | out.last_wall_ns, 0);
	assert_int_equal(out.records + out.kind_count + out.pid_count, 0);
	packer_free(packer);
	unpacker_free(unpacker);
	schema_free(schema);
	free(records.bytes);
}

/* The names of a process may exceed a window. */
static void a_long_batch_that_is_repeated_is_not_counted(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct records records = {0}, inside = {0};
	struct gpt_agent_name name = {.id = 1};
	struct gpt_call call = {.time_ns = 7};
	struct pack_out out;

	for (unsigned i = 0; i < 9000; i++)
		ADD(&inside, GPT_AGENT_NAME, name);
	add_batch(&records, &inside, 0)->time_ns = 6;
	ADD(&records, GPT_CALL, call);
	assert_int_equal(pack(packer, records.bytes, records.count, 1, &out), 0);
	assert_int_equal(out.kind_count, 1);
	assert_int_equal(out.first_ns, 7);
	packer_free(packer);
	schema_free(schema);
	free(records.bytes);
	free(inside.bytes);
}

static void wall_clock_of_a_foreign_batch_is_the_monotonic_clock(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct records records = {0}, inside = {0};
	struct gpt_agent_kernel kernel = {.start_wall_ns = 1000, .end_wall_ns = 2000};
	struct pack_out out;

	ADD(&inside, GPT_AGENT_KERNEL, kernel);
	for (unsigned i = 0; i < 3; i++) { /* the foreign batch is the middle one */
		struct gpt_agent_batch *batch = add_batch(&records, &inside, 0);
		struct gpt_agent_kernel *last = (struct gpt_agent_kernel *)(batch + 1);

		batch->hdr.flags = i == 1 ? GPT_BATCH_MONOTONIC : 0;
		last->end_wall_ns += i == 1 ? 7 : 0;
	}
	assert_int_equal(pack(packer, records.bytes, records.count, 0, &out), 0);
	assert_int_equal(out.first_ns, 1000);
	assert_int_equal(out.last_ns, 2007);
	assert_int_equal(out.first_wall_ns, 1000);
	assert_int_equal(out.last_wall_ns, 2000);
	packer_free(packer);
	schema_free(schema);
	free(records.bytes);
	free(inside.bytes);
}

static void too_many_processes_are_not_listed(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct records records = {0};
	struct pack_out out;

	for (unsigned i = 0; i < PACK_PROCESSES_MAX; i++) {
		struct gpt_call call = {.pid = 5000 - i};

		ADD(&records, GPT_CALL, call);
	}
	assert_int_equal(pack(packer, records.bytes, records.count, 0, &out), 0);
	assert_int_equal(out.pid_count, PACK_PROCESSES_MAX);
	for (unsigned i = 1; i < PACK_PROCESSES_MAX; i++)
		assert_true(out.pids[i - 1] < out.pids[i]);
	ADD(&records, GPT_CALL, (struct gpt_call){.pid = 1});
	assert_int_equal(pack(packer, records.bytes, records.count, 0, &out), 0);
	assert_int_equal(out.pid_count, GPT_LOG_ANY_PROCESS);
	packer_free(packer);
	schema_free(schema);
	free(records.bytes);
}

/* ---- invalid input ------------------------------------------------------------------------------------------ */

static void records_that_are_not_whole_are_not_packed(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct records records = {0};
	struct pack_out out;

	add_record(&records, GPT_CALL, 48);
	add_record(&records, GPT_CALL, 48);
	assert_int_equal(pack(packer, records.bytes, 95, 0, &out), -EINVAL);
	assert_int_equal(pack(packer, records.bytes, 52, 0, &out), -EINVAL);
	assert_int_equal(pack(packer, records.bytes, 4, 0, &out), -EINVAL);
	records.bytes[0] = 0;
	assert_int_equal(pack(packer, records.bytes, 96, 0, &out), -EINVAL);
	assert_int_equal(pack(packer, records.bytes, (64u << 20) + 8, 0, &out), -E2BIG);
	packer_free(packer);
	schema_free(schema);
	free(records.bytes);
}

/* Uses blocks of exact size, so that a sanitizer sees any access beyond them. */
static int unpack_tight(struct unpacker *unpacker, const uint8_t *packed, size_t size, size_t record_bytes)
{
	uint8_t *in = malloc(size), *out = malloc(record_bytes);
	int error;

	if (size)
		memcpy(in, packed, size);
	error = unpack(unpacker, in, size, out, record_bytes);
	free(in);
	free(out);
	return error;
}

static void what_was_cut_or_lengthened_is_refused(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct unpacker *unpacker = unpacker_new(schema);
	struct records records = {0};
	struct pack_out out;
	uint8_t *longer;

	add_session(&records);
	assert_int_equal(pack(packer, records.bytes, records.count, 0, &out), 0);
	for (size_t size = 0; size < out.packed_bytes; size++)
		assert_int_equal(unpack_tight(unpacker, out.packed, size, records.count), -EPROTO);
	assert_int_equal(unpack_tight(unpacker, out.packed, out.packed_bytes, records.count - 8), -EPROTO);
	assert_int_equal(unpack_tight(unpacker, out.packed, out.packed_bytes, records.count + 8), -EPROTO);
	assert_int_equal(unpack_tight(unpacker, out.packed, out.packed_bytes, 0), -EPROTO);
	longer = calloc(1, out.packed_bytes + 1);
	memcpy(longer, out.packed, out.packed_bytes);
	assert_int_equal(unpack_tight(unpacker, longer, out.packed_bytes + 1, records.count), -EPROTO);
	assert_int_equal(unpack_tight(unpacker, longer, out.packed_bytes, records.count), 0);
	free(longer);
	packer_free(packer);
	unpacker_free(unpacker);
	schema_free(schema);
	free(records.bytes);
}

static void damage_stays_within_bounds(void **state)
{
	struct schema *schema = schema_own();
	struct packer *packer = packer_new(schema);
	struct unpacker *unpacker = unpacker_new(schema);
	struct records records = {0};
	struct pack_out out;
	uint8_t *damaged;
	unsigned refused = 0;

	add_session(&records);
	assert_int_equal(pack(packer, records.bytes, records.count, 0, &out), 0);
	damaged = malloc(out.packed_bytes);
	for (size_t at = 0; at < out.packed_bytes; at++)
		for (unsigned value = 0; value < 256; value++) {
			memcpy(damaged, out.packed, out.packed_bytes);
			damaged[at] = (uint8_t)value;
			refused += unpack_tight(unpacker, damaged, out.packed_bytes, records.count) != 0;
		}
	assert_true(refused > out.packed_bytes);
	free(damaged);
	packer_free(packer);
	unpacker_free(unpacker);
	schema_free(schema);
	free(records.bytes);
}

static void what_lies_is_refused(void **state)
{
	static const struct {
		const char *what;
		uint8_t bytes[24];
		size_t size, record_bytes;
	} lies[] = {
		{"more records than there is room for", {2, 0, 0}, 3, 8},
		{"a type that the schema has not", {1, 1, 200}, 3, 8},
		{"a type beyond 16 bits", {1, 3, 0x80, 0x80, 0x04}, 5, 8},
		{"a number without an end",
		 {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80},
		 12,
		 8},
		{"a number of more than 64 bits", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 10, 8},
		{"a column longer than what is there",
		 {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1},
		 11,
		 8},
		{"a raw record of no size", {1, 0, 0}, 3, 8},
		{"a raw record that is too long", {1, 0, 8, 16, 0, 0, 0, 9, 9, 0, 0}, 11, 8},
		{"a raw record of 12 bytes", {1, 0, 12, 12, 0, 0, 0, 9, 9, 0, 0, 1, 2, 3, 4}, 15, 16},
	};
	struct schema *schema = schema_own();
	struct unpacker *unpacker = unpacker_new(schema);

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (unpack_tight(unpacker, lies[i].bytes, lies[i].size, lies[i].record_bytes) != -EPROTO)
			fail_msg("taken: %s", lies[i].what);
	assert_int_equal(unpack_tight(unpacker, (const uint8_t[]){1, 0, 8, 8, 0, 0, 0, 9, 9, 0, 0}, 11, 8), 0);
	unpacker_free(unpacker);
	schema_free(schema);
}

static void hostile_batches_are_refused(void **state)
{
	/*
	 * count, order, then columns, each after its length: of `small` size, flags, tail; of `batch` size, flags,
	 * number of bytes that are no records, those bytes. A size is stored as twice its difference to 8.
	 */
	static const struct {
		const char *what;
		uint8_t bytes[40];
		size_t size, record_bytes;
	} lies[] = {
		{"more bytes at the end than the batch has", {1, 1, 13, 1, 32, 0, 1, 17, 0}, 9, 24},
		{"more of them than fit, so that they would stand in front of it",
		 {1, 1, 13, 1, 32, 0, 1, 25, 25, 1, 1, 1, 1, 1, 1, 1, 1,
		  1, 1, 1,  1, 1,  1, 1, 1,  1,	 1, 1, 1, 1, 1, 1, 1, 1},
		 34,
		 24},
		{"more than there is at all", {1, 1, 13, 1, 32, 0, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}, 14, 24},
		{"a record that goes on after its batch", {2, 2, 13, 3, 1, 16, 0, 0, 1, 16, 0, 0, 0}, 13, 24},
		{"a batch in a batch", {2, 2, 13, 13, 2, 32, 15, 0, 2, 0, 8, 0}, 12, 24},
		{"a batch that does not end", {1, 1, 13, 1, 32, 0, 0, 0}, 8, 24},
		{"a batch shorter than its struct", {1, 1, 14, 1, 15, 0, 0, 0, 0}, 9, 8},
	};
	static const char text[] = "3 small 8\n13 batch 8 records\n14 later 16 a:64:raw records\n";
	struct unpacker *unpacker;
	struct schema *schema;

	assert_int_equal(schema_parse(text, sizeof(text) - 1, &schema), 0);
	unpacker = unpacker_new(schema);
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
		if (unpack_tight(unpacker, lies[i].bytes, lies[i].size, lies[i].record_bytes) != -EPROTO)
			fail_msg("taken: %s", lies[i].what);
	/* a valid one: a batch of 24 bytes with a record of 16 */
	assert_int_equal(unpack_tight(unpacker, (const uint8_t[]){2, 2, 13, 3, 1, 16, 0, 0, 1, 32, 0, 0, 0}, 13, 24),
			 0);
	unpacker_free(unpacker);
	schema_free(schema);
}

/* ---- size of the result ------------------------------------------------------------------------------------- */

static void a_launch_is_some_bytes(void **state)
{
	struct records records = {0};
	uint64_t seed = 12, time = 1000000000;

	for (unsigned i = 0; i < 100000; i++) {
		struct gpt_call call = {.time_ns = time += 1000 + random_next(&seed) % 500,
					.pid = 7,
					.tid = 7 + i % 2,
					.stack_id = 0x9e3779b97f4a7c15u * (i % 17),
					.corr = i,
					.api = GPT_CALL,
					.origin = GPT_ORIGIN_AGENT};

		ADD(&records, GPT_CALL, call);
	}
	/* type, time 2, process, thread, stack, correlation, call, origin */
	assert_in_range(check_records(&records), 100000 * 8, 100000 * 9 + 500);
	free(records.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_record_round_trips),
		cmocka_unit_test(every_type_round_trips),
		cmocka_unit_test(records_longer_and_shorter_than_their_struct_round_trip),
		cmocka_unit_test(types_that_the_schema_has_not_round_trip),
		cmocka_unit_test(extreme_values_round_trip),
		cmocka_unit_test(more_values_than_a_list_remembers_round_trip),
		cmocka_unit_test(values_of_a_list_repeat_and_change),
		cmocka_unit_test(random_records_round_trip),
		cmocka_unit_test(arrays_longer_than_a_window_round_trip),
		cmocka_unit_test(batches_round_trip_whatever_is_in_them),
		cmocka_unit_test(a_batch_longer_than_a_window_round_trips),
		cmocka_unit_test(a_record_that_grew_round_trips),
		cmocka_unit_test(a_record_that_grew_in_a_batch_round_trips),
		cmocka_unit_test(an_element_of_an_array_that_grew_round_trips),
		cmocka_unit_test(the_header_counts_what_is_not_repeated),
		cmocka_unit_test(a_long_batch_that_is_repeated_is_not_counted),
		cmocka_unit_test(wall_clock_of_a_foreign_batch_is_the_monotonic_clock),
		cmocka_unit_test(too_many_processes_are_not_listed),
		cmocka_unit_test(records_that_are_not_whole_are_not_packed),
		cmocka_unit_test(what_was_cut_or_lengthened_is_refused),
		cmocka_unit_test(damage_stays_within_bounds),
		cmocka_unit_test(what_lies_is_refused),
		cmocka_unit_test(hostile_batches_are_refused),
		cmocka_unit_test(a_launch_is_some_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
