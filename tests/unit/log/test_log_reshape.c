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

#include <gputrace/record.h>

#include "log/packing/reshape.h"
#include "log/reader.h"
#include "log_file.h"

#define OWN                                                                                                            \
	"1 call 24 time:64:time pid:32:pid api:32:id\n"                                                                \
	"2 text 16 pid:32:pid bytes:32:delta\n"                                                                        \
	"3 stack 16 id:64:raw array:16 code:64:id lasti:32:delta pad:32:raw\n"                                         \
	"13 batch 24 time:64:time bytes:32:delta pad:32:raw records\n"                                                 \
	"66 kernel 16 corr:32:delta name:32:id\n"

struct fixture {
	struct schema *from;
	struct reshaper *reshaper;
	uint8_t in[1024];
	size_t in_bytes;
	const uint8_t *out;
	size_t out_bytes;
};

static struct schema *parse_schema(const char *text)
{
	struct schema *schema;

	assert_int_equal(schema_parse(text, strlen(text), &schema), 0);
	return schema;
}

/* The log's schema is that of the structs with one line replaced. */
static void begin_fixture(struct fixture *fixture, const char *old, const char *new)
{
	char text[2048], *found;

	strcpy(text, OWN);
	found = strstr(text, old);
	assert_non_null(found);
	*found = 0;
	strcat(text, new);
	strcat(text, strstr(OWN, old) + strlen(old));
	memset(fixture, 0, sizeof(*fixture));
	fixture->from = parse_schema(text);
	fixture->reshaper = reshaper_new(fixture->from, parse_schema(OWN));
	assert_non_null(fixture->reshaper);
}

static void end_fixture(struct fixture *fixture)
{
	reshaper_free(fixture->reshaper);
	schema_free(fixture->from);
}

/* Appends a record with these 32-bit words after its header. */
static void add_record(struct fixture *fixture, uint16_t type, const uint32_t *words, size_t count)
{
	struct gpt_record record = {.size = (uint32_t)(8 + 4 * count), .type = type, .flags = 5};

	memcpy(fixture->in + fixture->in_bytes, &record, 8);
	memcpy(fixture->in + fixture->in_bytes + 8, words, 4 * count);
	fixture->in_bytes += record.size;
}

#define ADD(fixture, type, ...)                                                                                        \
	add_record(fixture, type, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static void check_record(struct fixture *fixture, uint16_t type, const uint32_t *words, size_t count)
{
	struct gpt_record record;

	assert_int_equal(reshape(fixture->reshaper, fixture->in, fixture->in_bytes, &fixture->out, &fixture->out_bytes),
			 0);
	assert_int_equal(fixture->out_bytes, 8 + 4 * count);
	memcpy(&record, fixture->out, 8);
	assert_int_equal(record.size, 8 + 4 * count);
	assert_int_equal(record.type, type);
	assert_int_equal(record.flags, 5);
	assert_memory_equal(fixture->out + 8, words, 4 * count);
}

#define CHECK(fixture, type, ...)                                                                                      \
	check_record(fixture, type, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

static void records_of_the_same_schema_stay(void **state)
{
	struct schema *own = schema_own(), *one = parse_schema("1 call 16 a:64:raw\n"),
		      *coded = parse_schema("1 call 16 a:64:id\n");

	assert_null(reshaper_new(own, schema_own()));
	assert_null(reshaper_new(one, coded));
	assert_null(reshaper_new(one, parse_schema("2 other 8\n")));
	schema_free(own);
	schema_free(one);
}

static void a_field_that_was_added_is_left_out(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "1 call 24 time:64:time pid:32:pid", "1 call 28 time:64:time op:32:id pid:32:pid");
	ADD(&fixture, 1, 10, 11, 99, 7, 8, 0); /* 4 bytes of padding, as records are multiples of 8 */
	CHECK(&fixture, 1, 10, 11, 7, 8, 0, 0);
	end_fixture(&fixture);
}

static void text_stays_after_a_record_that_grew(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "2 text 16 pid:32:pid bytes:32:delta",
		      "2 text 24 pid:32:pid bytes:32:delta more:64:id");
	ADD(&fixture, 2, 7, 8, 99, 99, 0x61626364, 0x65666768);
	CHECK(&fixture, 2, 7, 8, 0x61626364, 0x65666768);
	end_fixture(&fixture);
}

static void a_field_that_the_log_has_not_is_0_before_text(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "2 text 16 pid:32:pid bytes:32:delta", "2 text 12 bytes:32:delta");
	ADD(&fixture, 2, 4, 0x61626364);
	CHECK(&fixture, 2, 0, 4, 0x61626364, 0);
	end_fixture(&fixture);
}

/* The record's size says whether its last field is there. */
static void a_last_field_that_the_log_has_not_is_not_there(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "1 call 24 time:64:time pid:32:pid api:32:id", "1 call 16 time:64:time");
	ADD(&fixture, 1, 10, 11);
	CHECK(&fixture, 1, 10, 11);
	end_fixture(&fixture);
}

static void elements_that_grew_are_as_wide_as_ours(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "array:16 code:64:id lasti:32:delta pad:32:raw",
		      "array:24 code:64:id line:64:delta lasti:32:delta pad:32:raw");
	ADD(&fixture, 3, 1, 0, /**/ 10, 0, 99, 0, 11, 1, /**/ 20, 0, 99, 0, 21, 1);
	CHECK(&fixture, 3, 1, 0, /**/ 10, 0, 11, 1, /**/ 20, 0, 21, 1);
	end_fixture(&fixture);
}

static void a_batch_is_as_long_as_what_its_records_become(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "66 kernel 16 corr:32:delta name:32:id",
		      "66 kernel 24 corr:32:delta queued:32:delta name:32:id pad:32:raw");
	ADD(&fixture, 13, 1, 0, 56, 0, /**/ 24, 66, 10, 99, 11, 0, /**/ 24, 66, 20, 99, 21, 0, /**/ 8, 500);
	CHECK(&fixture, 13, 1, 0, 40, 0, /**/ 16, 66, 10, 11, /**/ 16, 66, 20, 21, /**/ 8, 500);
	end_fixture(&fixture);
}

static void what_a_batch_does_not_count_is_left_out(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "66 kernel 16 corr:32:delta name:32:id",
		      "66 kernel 24 corr:32:delta queued:32:delta name:32:id pad:32:raw");
	ADD(&fixture, 13, 1, 0, 28, 0, /**/ 24, 66, 10, 99, 11, 0, /**/ 24, 66, 20, 99, 21, 0);
	CHECK(&fixture, 13, 1, 0, 20, 0, /**/ 16, 66, 10, 11, /**/ 24, 0);
	end_fixture(&fixture);
}

static void records_that_are_short_or_unknown_stay(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "1 call 24 time:64:time pid:32:pid api:32:id",
		      "1 call 32 op:64:id time:64:time pid:32:pid api:32:id");
	ADD(&fixture, 1, 10, 11);
	CHECK(&fixture, 1, 10, 11);
	fixture.in_bytes = 0;
	ADD(&fixture, 900, 10, 11, 12, 13);
	CHECK(&fixture, 900, 10, 11, 12, 13);
	end_fixture(&fixture);
}

static void records_that_are_not_whole_are_refused(void **state)
{
	struct fixture fixture;

	begin_fixture(&fixture, "1 call 24 time:64:time pid:32:pid api:32:id",
		      "1 call 32 op:64:id time:64:time pid:32:pid api:32:id");
	ADD(&fixture, 1, 10, 11);
	assert_int_equal(reshape(fixture.reshaper, fixture.in, 12, &fixture.out, &fixture.out_bytes), -EPROTO);
	end_fixture(&fixture);
}

static void records_that_would_become_too_much_are_refused(void **state)
{
	struct gpt_record record = {.size = 8u << 20, .type = 3};
	uint8_t *bytes = calloc(1, record.size);
	struct fixture fixture;

	begin_fixture(&fixture, "array:16 code:64:id lasti:32:delta pad:32:raw", "array:1 x:8:raw");
	memcpy(bytes, &record, sizeof(record));
	assert_int_equal(reshape(fixture.reshaper, bytes, record.size, &fixture.out, &fixture.out_bytes), -EPROTO);
	free(bytes);
	end_fixture(&fixture);
}

/* gputrace's schema text with one piece replaced; free it. */
static char *later_schema(const char *old, const char *new)
{
	size_t bytes;
	char *text = schema_text(&bytes), *found, *later;

	text = realloc(text, bytes + 1);
	assert_non_null(text);
	text[bytes] = 0;
	found = strstr(text, old);
	assert_non_null(found);
	*found = 0;
	assert_true(asprintf(&later, "%s%s%s", text, new, found + strlen(old)) > 0);
	free(text);
	return later;
}

static void a_log_of_a_later_gputrace_is_read(void **state)
{
	char *text = later_schema("array:16 code:64:id lasti:32:delta pad:32:raw",
				  "array:24 code:64:id line:64:delta lasti:32:delta pad:32:raw");
	const uint64_t stack[] = {(uint64_t)GPT_PYSTACK << 32 | 72, 0x51, 2ull << 32 | 7, 0xa0, 99, 4, 0xb0, 99, 6};
	const struct gpt_pystack *read;
	struct log_reader reader;
	struct log_file file;
	const char *why;
	int fd;

	log_file_begin_by(&file, text, strlen(text), 1000, 0);
	log_file_segment(&file, (const uint8_t *)stack, sizeof(stack), 0);
	log_file_finish(&file);
	fd = log_file_fd(&file);
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	read = (const struct gpt_pystack *)log_reader_next(&reader);
	assert_non_null(read);
	assert_int_equal(read->hdr.size, sizeof(*read) + 2 * sizeof(struct gpt_pyframe));
	assert_int_equal(read->id, 0x51);
	assert_int_equal(read->depth, 2);
	assert_int_equal(read->frames[0].code, 0xa0);
	assert_int_equal(read->frames[0].lasti, 4);
	assert_int_equal(read->frames[1].code, 0xb0);
	assert_int_equal(read->frames[1].lasti, 6);
	assert_null(log_reader_next(&reader));
	assert_false(reader.torn);
	log_reader_close(&reader);
	close(fd);
	log_file_free(&file);
	free(text);
}

/* Each segment becomes longer than it was in the file. */
static void a_log_of_an_earlier_gputrace_is_read_to_its_end(void **state)
{
	char *text = later_schema("array:16 code:64:id lasti:32:delta pad:32:raw", "array:8 code:64:id");
	const uint64_t stack[] = {(uint64_t)GPT_PYSTACK << 32 | 40, 0x51, 2ull << 32 | 7, 0xa0, 0xb0};
	struct log_reader reader;
	struct log_file file;
	const char *why;
	int fd;

	log_file_begin_by(&file, text, strlen(text), 1000, 0);
	for (uint32_t i = 0; i < 20; i++)
		log_file_segment(&file, (const uint8_t *)stack, sizeof(stack), 0);
	log_file_finish(&file);
	fd = log_file_fd(&file);
	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	for (uint32_t i = 0; i < 20; i++)
		assert_non_null(log_reader_next(&reader));
	assert_null(log_reader_next(&reader));
	assert_int_equal(reader.read, 20);
	assert_false(reader.torn);
	log_reader_close(&reader);
	close(fd);
	log_file_free(&file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_the_same_schema_stay),
		cmocka_unit_test(a_field_that_was_added_is_left_out),
		cmocka_unit_test(text_stays_after_a_record_that_grew),
		cmocka_unit_test(a_field_that_the_log_has_not_is_0_before_text),
		cmocka_unit_test(a_last_field_that_the_log_has_not_is_not_there),
		cmocka_unit_test(elements_that_grew_are_as_wide_as_ours),
		cmocka_unit_test(a_batch_is_as_long_as_what_its_records_become),
		cmocka_unit_test(what_a_batch_does_not_count_is_left_out),
		cmocka_unit_test(records_that_are_short_or_unknown_stay),
		cmocka_unit_test(records_that_are_not_whole_are_refused),
		cmocka_unit_test(records_that_would_become_too_much_are_refused),
		cmocka_unit_test(a_log_of_a_later_gputrace_is_read),
		cmocka_unit_test(a_log_of_an_earlier_gputrace_is_read_to_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
