/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The sink: number and string forms, large writes, gzip, errors that stick; and the choice of a format by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "export/export.h"
#include "export/file/sink.h"

static struct sink sink;

static int begin_test(void **state)
{
	sink_open_memory(&sink);
	return 0;
}

static int end_test(void **state)
{
	sink_close(&sink);
	return 0;
}

/* The content of the sink, which is emptied. */
static const char *take_content(void)
{
	sink_char(&sink, '\0');
	sink.used = 0;
	return sink.buffer;
}

static void integers_are_written_in_full(void **state)
{
	sink_u64(&sink, 0);
	assert_string_equal(take_content(), "0");
	sink_u64(&sink, UINT64_MAX);
	assert_string_equal(take_content(), "18446744073709551615");
	sink_u64(&sink, 1203);
	assert_string_equal(take_content(), "1203");
	sink_i64(&sink, INT64_MIN);
	assert_string_equal(take_content(), "-9223372036854775808");
}

static void times_are_microseconds_with_three_decimals(void **state)
{
	sink_us(&sink, 0);
	assert_string_equal(take_content(), "0.000");
	sink_us(&sink, 1);
	assert_string_equal(take_content(), "0.001");
	sink_us(&sink, 1234567);
	assert_string_equal(take_content(), "1234.567");
}

static void fractions_are_always_json_numbers(void **state)
{
	sink_fraction(&sink, 2);
	assert_string_equal(take_content(), "2.0");
	sink_fraction(&sink, 0.181818181);
	assert_string_equal(take_content(), "0.181818");
	sink_fraction(&sink, 1.9999999);
	assert_string_equal(take_content(), "2.0");
	sink_fraction(&sink, NAN);
	assert_string_equal(take_content(), "0.0");
	sink_fraction(&sink, INFINITY);
	assert_string_equal(take_content(), "1000000000000.0");
	sink_fraction(&sink, -1);
	assert_string_equal(take_content(), "0.0");
}

static void strings_are_escaped_as_json_wants(void **state)
{
	sink_json(&sink, "a\"b\\c\nd\x01\x7f;");
	assert_string_equal(take_content(), "\"a\\\"b\\\\c\\u000ad\\u0001\\u007f;\"");
	sink_json_part(&sink, "a;b", true);
	assert_string_equal(take_content(), "a_b");
	sink_json(&sink, "\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x98\x80");
	assert_string_equal(take_content(), "\"\xc3\xa4 \xe4\xb8\xad \xf0\x9f\x98\x80\"");
}

static void bytes_that_are_not_utf8_are_replaced(void **state)
{
#define REPLACED "\xef\xbf\xbd"
	sink_json_part(&sink,
		       "a\xff"
		       "b",
		       false);
	assert_string_equal(take_content(), "a" REPLACED "b");
	sink_json_part(&sink, "\xc0\xaf", false); /* overlong */
	assert_string_equal(take_content(), REPLACED REPLACED);
	sink_json_part(&sink, "\xed\xa0\x80", false); /* surrogate */
	assert_string_equal(take_content(), REPLACED REPLACED REPLACED);
	sink_json_part(&sink, "\xf4\x90\x80\x80", false); /* beyond U+10FFFF */
	assert_string_equal(take_content(), REPLACED REPLACED REPLACED REPLACED);
	sink_json_part(&sink, "cut \xe4\xb8", false);
	assert_string_equal(take_content(), "cut " REPLACED REPLACED);
}

/* A text larger than any buffer. */
#define LARGE (5u << 20)

static char *large_text(void)
{
	char *text = malloc(LARGE + 1);

	for (size_t i = 0; i < LARGE; i++)
		text[i] = (char)('a' + i % 23);
	text[LARGE] = '\0';
	return text;
}

static void a_large_file_arrives_whole(void **state)
{
	char *text = large_text(), *read_back = malloc(LARGE);
	int fd = memfd_create("sink", MFD_CLOEXEC);
	struct sink file;

	sink_open(&file, fd, false);
	sink_text(&file, text);
	assert_int_equal(sink_close(&file), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), LARGE);
	assert_int_equal(pread(fd, read_back, LARGE, 0), LARGE);
	assert_memory_equal(text, read_back, LARGE);
	close(fd);
	free(text);
	free(read_back);
}

static void gzip_gives_back_what_was_put(void **state)
{
	char *text = large_text(), *read_back = malloc(LARGE + 1);
	int fd = memfd_create("sink", MFD_CLOEXEC);
	struct sink file;
	gzFile reader;

	sink_open(&file, fd, true);
	sink_text(&file, text);
	assert_int_equal(sink_close(&file), 0);
	assert_true(lseek(fd, 0, SEEK_END) < LARGE / 4);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	reader = gzdopen(fd, "rb");
	assert_int_equal(gzread(reader, read_back, LARGE + 1), LARGE);
	assert_memory_equal(text, read_back, LARGE);
	assert_int_equal(gzclose(reader), Z_OK);
	free(text);
	free(read_back);
}

static void a_full_disk_is_reported_once_at_the_end(void **state)
{
	for (int gzip = 0; gzip < 2; gzip++) {
		char *text = large_text();
		int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
		struct sink file;

		assert_true(fd >= 0);
		sink_open(&file, fd, gzip);
		sink_text(&file, text);
		sink_text(&file, text);
		assert_int_equal(sink_close(&file), -ENOSPC);
		close(fd);
		free(text);
	}
}

static void an_export_can_be_abandoned(void **state)
{
	atomic_int cancel = 0;
	char *text = large_text();
	int fd = memfd_create("sink", MFD_CLOEXEC);
	struct sink file;

	sink_open(&file, fd, false);
	file.cancel = &(struct cancel){.flag = &cancel, .fd = -1};
	sink_text(&file, "begun");
	cancel = 1;
	sink_text(&file, text);
	assert_int_equal(sink_close(&file), -ECANCELED);
	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	close(fd);
	free(text);
}

static void the_suffix_picks_the_format(void **state)
{
	assert_string_equal(export_format_by_suffix("trace.json")->name, "json");
	assert_string_equal(export_format_by_suffix("a/b.gz/trace.json.gz")->name, "json.gz");
	assert_string_equal(export_format_by_suffix("GPU.FOLDED")->name, "folded");
	assert_string_equal(export_format_by_suffix("trace.speedscope.json")->name, "speedscope");
	assert_string_equal(export_format_by_suffix("trace.pb.gz")->name, "pprof");
	assert_string_equal(export_format_by_suffix("trace.prof")->name, "pstats");
	assert_null(export_format_by_suffix("trace.txt"));
	assert_null(export_format_by_suffix("json"));
	assert_null(export_format_by_suffix(".json"));
	assert_string_equal(export_format_by_name("json.gz")->name, "json.gz");
	assert_null(export_format_by_name("gpt"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(integers_are_written_in_full, begin_test, end_test),
		cmocka_unit_test_setup_teardown(times_are_microseconds_with_three_decimals, begin_test, end_test),
		cmocka_unit_test_setup_teardown(fractions_are_always_json_numbers, begin_test, end_test),
		cmocka_unit_test_setup_teardown(strings_are_escaped_as_json_wants, begin_test, end_test),
		cmocka_unit_test_setup_teardown(bytes_that_are_not_utf8_are_replaced, begin_test, end_test),
		cmocka_unit_test(a_large_file_arrives_whole),
		cmocka_unit_test(gzip_gives_back_what_was_put),
		cmocka_unit_test(a_full_disk_is_reported_once_at_the_end),
		cmocka_unit_test(an_export_can_be_abandoned),
		cmocka_unit_test(the_suffix_picks_the_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
