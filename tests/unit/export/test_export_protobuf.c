/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Protocol Buffers: lengths and numbers on both sides of the values where their encoding grows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "export/file/protobuf.h"

static void assert_bytes(struct sink *memory, const char *bytes, size_t count)
{
	assert_int_equal(memory->used, count);
	assert_memory_equal(memory->buffer, bytes, count);
	memory->used = 0;
}

static void numbers_have_as_many_bytes_as_they_need(void **state)
{
	struct sink memory;

	sink_open_memory(&memory);
	proto_number(&memory, 1, 127);
	assert_bytes(&memory, "\x08\x7f", 2);
	proto_number(&memory, 16, 128);
	assert_bytes(&memory, "\x80\x01\x80\x01", 4);
	proto_number(&memory, 1, UINT64_MAX);
	assert_bytes(&memory, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
	proto_fixed64(&memory, 2, 0x0102030405060708);
	assert_bytes(&memory, "\x11\x08\x07\x06\x05\x04\x03\x02\x01", 9);
	sink_close(&memory);
}

static void a_message_follows_its_length_also_where_that_is_long(void **state)
{
	static const struct {
		size_t size;
		const char *length;
	} cases[] = {{0, "\x00"}, {127, "\x7f"}, {128, "\x80\x01"}, {16383, "\xff\x7f"}, {16384, "\x80\x80\x01"}};
	struct sink memory;

	sink_open_memory(&memory);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t outer, length_bytes = cases[i].size ? strlen(cases[i].length) : 1;

		sink_text(&memory, "before");
		outer = proto_begin(&memory, 3);
		for (size_t k = 0; k < cases[i].size; k++)
			sink_char(&memory, (char)('a' + k % 26));
		proto_end(&memory, outer);
		assert_int_equal(memory.used, strlen("before") + 1 + length_bytes + cases[i].size);
		assert_memory_equal(memory.buffer, "before\x1a", 7);
		assert_memory_equal(memory.buffer + 7, cases[i].length, length_bytes);
		for (size_t k = 0; k < cases[i].size; k++)
			assert_int_equal(memory.buffer[7 + length_bytes + k], 'a' + k % 26);
		memory.used = 0;
	}
	sink_close(&memory);
}

static void text_is_utf8(void **state)
{
	struct sink memory;

	sink_open_memory(&memory);
	proto_text(&memory, 1, "0123456789abcde");
	assert_bytes(&memory,
		     "\x0a\x0f"
		     "0123456789abcde",
		     17);
	proto_text(&memory, 1, "01234567\xff");
	assert_bytes(&memory,
		     "\x0a\x0b"
		     "01234567\xef\xbf\xbd",
		     13);
	proto_text(&memory, 1,
		   "012\xff"
		   "4567");
	assert_bytes(&memory,
		     "\x0a\x0a"
		     "012\xef\xbf\xbd"
		     "4567",
		     12);
	sink_close(&memory);
	sink_open_memory(&memory);
	proto_text(&memory, 1,
		   "\xc3\xa4\x01\xff"
		   "b\xed\xa0\x80\xf0\x9f\x98\x80\xf0\x9f");
	assert_bytes(&memory,
		     "\x0a\x1a\xc3\xa4\x01\xef\xbf\xbd"
		     "b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd",
		     28);
	sink_close(&memory);
}

static void what_is_written_where_there_is_room_is_the_same(void **state)
{
	struct sink memory;
	char *begin, *at;

	sink_open_memory(&memory);
	at = proto_begin_at(sink_room(&memory, 64), 3, &begin);
	at = proto_number_at(at, 16, 300);
	at = proto_double_at(at, 1, 1.0);
	proto_end_at(at, begin);
	proto_wrote(&memory, at);
	assert_bytes(&memory, "\x1a\x0d\x80\x01\xac\x02\x09\x00\x00\x00\x00\x00\x00\xf0\x3f", 15);
	sink_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_as_many_bytes_as_they_need),
		cmocka_unit_test(a_message_follows_its_length_also_where_that_is_long),
		cmocka_unit_test(text_is_utf8),
		cmocka_unit_test(what_is_written_where_there_is_room_is_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
