/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Widths, cuts, line breaks and numbers of the report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "report/table/text.h"

static char shown[512];

/* The output of text_put. */
static const char *truncate_text(const char *text, unsigned columns, enum text_truncate how)
{
	FILE *out = fmemopen(shown, sizeof(shown), "w");
	unsigned width;

	shown[0] = '\0';
	text_begin();
	width = text_put(out, text, columns, how);
	fclose(out);
	assert_int_equal(width, text_width(shown));
	assert_true(how == TEXT_WHOLE || width <= columns);
	text_end();
	return shown;
}

static void names_are_truncated_where_they_say_least(void **state)
{
	assert_string_equal(truncate_text("abcdefghij", 10, TEXT_TRUNCATE_END), "abcdefghij");
	assert_string_equal(truncate_text("abcdefghij", 7, TEXT_TRUNCATE_END), "abcd...");
	assert_string_equal(truncate_text("abcdefghij", 7, TEXT_TRUNCATE_START), "...ghij");
	assert_string_equal(truncate_text("abcdefghij", 8, TEXT_TRUNCATE_MIDDLE), "abc...ij");
	assert_string_equal(truncate_text("abcdefghij", 2, TEXT_TRUNCATE_MIDDLE), "ab");
	assert_string_equal(truncate_text("abc", 0, TEXT_TRUNCATE_END), "");
	assert_string_equal(truncate_text("kernel<of_something>", 12, TEXT_TRUNCATE_THIRD), "ker...thing>");
}

static void of_a_place_the_line_number_stays(void **state)
{
	assert_string_equal(truncate_text("model.py:42 Block.forward", 20, TEXT_TRUNCATE_PLACE),
			    "model.py:42 ...rward");
	assert_string_equal(truncate_text("model.py:42 Block.forward", 15, TEXT_TRUNCATE_PLACE), "model.py:42");
	assert_string_equal(truncate_text("model.py:42 Block.forward", 10, TEXT_TRUNCATE_PLACE), "...l.py:42");
	assert_string_equal(truncate_text("model.py:42 Block.forward", 6, TEXT_TRUNCATE_PLACE), "...:42");
	assert_string_equal(truncate_text("model.py:42 Block.forward", 4, TEXT_TRUNCATE_PLACE), ":42");
	assert_string_equal(truncate_text("modules/linear.py:12345", 9, TEXT_TRUNCATE_PLACE), "...:12345");
	assert_string_equal(truncate_text("<- model.py:42 forward (and 3 more)", 20, TEXT_TRUNCATE_PLACE),
			    "<- model.py:42 ...e)");
	assert_string_equal(truncate_text("(thread x: no Python)", 12, TEXT_TRUNCATE_PLACE), "(thread x...");
	assert_string_equal(truncate_text("Function.apply", 9, TEXT_TRUNCATE_PLACE), "Fun...ply");
	for (unsigned columns = 3; columns < 30; columns++)
		if (!strstr(truncate_text("a_long_name.py:42 f", columns, TEXT_TRUNCATE_PLACE), ":42"))
			fail_msg("%u columns: %s", columns, shown);
}

static void of_a_sentence_each_line_number_stays(void **state)
{
	static const char loss[] = "1. 5.0 ms, data: before the launch at a_block_of_a_model.py:118 forward";
	static const char owners[] =
		"Most: 41.5 % (thread 3: no Python), 27.7 % a_block_of_a_model.py:118, 25.2 % train.py:31";

	assert_string_equal(truncate_text(loss, 68, TEXT_TRUNCATE_FILES),
			    "1. 5.0 ms, data: before the launch at a_block_of_a_model.py:118 f...");
	assert_string_equal(truncate_text(loss, 60, TEXT_TRUNCATE_FILES),
			    "1. 5.0 ms, data: before the launch at ...f_a_model.py:118...");
	assert_string_equal(truncate_text(loss, 53, TEXT_TRUNCATE_FILES),
			    "1. 5.0 ms, data: before the launch at ...el.py:118...");
	assert_string_equal(truncate_text(owners, 80, TEXT_TRUNCATE_FILES),
			    "Most: 41.5 % (thread 3: no Python), 27.7 % ...a_model.py:118, 25.2 % train.py:31");
	assert_string_equal(truncate_text("busy for 9.5 % of the 12.0 ms", 12, TEXT_TRUNCATE_FILES), "busy for ...");
	assert_string_equal(
		truncate_text("in \xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87.py:1181 f", 18, TEXT_TRUNCATE_FILES),
		"in ....py:1181 f");
}

static void messages_are_whole(void **state)
{
	assert_string_equal(truncate_text("a message", 3, TEXT_WHOLE), "a message");
}

static void width_is_that_of_the_terminal(void **state)
{
	text_begin();
	assert_int_equal(text_width("abc"), 3);
	assert_int_equal(text_width("\xc3\xa4"), 1);		     /* one letter, two bytes */
	assert_int_equal(text_width("\xe4\xb8\xad\xe6\x96\x87"), 4); /* two wide letters */
	assert_int_equal(text_width("e\xcc\x81"), 1);		     /* with a combining accent */
	assert_int_equal(text_width("\033[1m"), 4);		     /* shown as ?[1m */
	assert_int_equal(text_width("\xff\xfe"), 2);		     /* shown as ?? */
	text_end();
	assert_string_equal(truncate_text("\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87", 6, TEXT_TRUNCATE_END),
			    "\xe4\xb8\xad...");
}

static void text_breaks_at_blanks(void **state)
{
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	text_begin();
	text_wrap(out, "one two three four", 0, 2, 9, TEXT_TRUNCATE_MIDDLE);
	text_end();
	fclose(out);
	assert_string_equal(shown, "one two\n  three\n  four\n");
}

static void a_number_stays_with_its_unit(void **state)
{
	FILE *out = fmemopen(shown, sizeof(shown), "w");

	text_begin();
	text_wrap(out, "waits 3.3 ms, or 12 % of 4 slots", 0, 2, 9, TEXT_TRUNCATE_MIDDLE);
	text_end();
	fclose(out);
	assert_string_equal(shown, "waits\n  3.3 ms,\n  or 12 %\n  of 4\n  slots\n");
}

static void numbers_are_written_for_people(void **state)
{
	assert_string_equal(number_count(0).text, "0");
	assert_string_equal(number_count(999).text, "999");
	assert_string_equal(number_count(51204).text, "51,204");
	assert_string_equal(number_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(number_tenths(4310.84).text, "4,310.8");
	assert_string_equal(number_tenths(0.0 / 1).text, "0.0");
	assert_string_equal(number_tenths(-1).text, "-");
	assert_string_equal(number_percent(1, 0).text, "-");
	assert_string_equal(number_percent(1, 3).text, "33.3");
	assert_string_equal(number_time(812).text, "812 ns");
	assert_string_equal(number_time(2400).text, "2.4 us");
	assert_string_equal(number_time(10000000000).text, "10.0 s");
	assert_string_equal(number_time(UINT64_MAX).text, "18,446,744,073.7 s");
	assert_string_equal(number_bytes(512).text, "512 B");
	assert_string_equal(number_bytes(1200000000).text, "1.2 GB");
	assert_string_equal(number_bytes(999999).text, "1.0 MB");
	assert_string_equal(number_memory(1023).text, "1,023 B");
	assert_string_equal(number_memory(20 << 20).text, "20.0 MiB");
	assert_string_equal(number_memory((1 << 20) - 1).text, "1.0 MiB");
	assert_string_equal(number_memory(UINT64_MAX).text, "16.0 EiB");
	assert_string_equal(number_bytes(UINT64_MAX).text, "18.4 EB");
}

static void a_column_has_one_unit(void **state)
{
	struct time_unit unit = time_unit_for(6000000000);

	assert_string_equal(unit.name, "ms");
	assert_string_equal(number_in(812400000, unit).text, "812.4");
	assert_string_equal(time_unit_for(0).name, "ns");
	assert_string_equal(number_in(17, time_unit_for(17)).text, "17");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_truncated_where_they_say_least),
		cmocka_unit_test(of_a_place_the_line_number_stays),
		cmocka_unit_test(of_a_sentence_each_line_number_stays),
		cmocka_unit_test(messages_are_whole),
		cmocka_unit_test(width_is_that_of_the_terminal),
		cmocka_unit_test(text_breaks_at_blanks),
		cmocka_unit_test(a_number_stays_with_its_unit),
		cmocka_unit_test(numbers_are_written_for_people),
		cmocka_unit_test(a_column_has_one_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
