/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Line tables: the decoder against the interpreters themselves, and against tables no interpreter makes. */
#include "model_of.h"

#include <glob.h>

#include "base/linetable.h"
#include "sanitizers.h"

static uint32_t line_at(enum gpt_linetable kind, const void *table, size_t bytes, bool whole, uint32_t first_line,
			uint32_t offset)
{
	line_ranges ranges = {0};
	uint32_t line;

	linetable_decode(kind, table, bytes, whole, first_line, &ranges);
	line = linetable_find(ranges.items, ranges.count, offset);
	array_free(&ranges);
	return line;
}

static size_t read_hex(const char *hex, uint8_t *bytes)
{
	size_t count = 0;
	unsigned byte;

	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		bytes[count++] = byte;
	return count;
}

/* Checks one line of linetables.py; returns the number of offsets compared. */
static size_t check_code(char *text)
{
	char *kind = strtok(text, " "), *first_line = strtok(NULL, " "), *hex = strtok(NULL, " ");
	uint8_t *table = xmalloc(strlen(hex) / 2 + 1);
	size_t bytes = read_hex(hex, table), checked = 0;
	line_ranges ranges = {0};

	linetable_decode(strtoul(kind, NULL, 10), table, bytes, true, strtoul(first_line, NULL, 10), &ranges);
	for (char *line = strtok(NULL, ",\n"); line; line = strtok(NULL, ",\n"), checked++)
		assert_int_equal(linetable_find(ranges.items, ranges.count, checked * 2), strtoul(line, NULL, 10));
	array_free(&ranges);
	free(table);
	return checked;
}

/* Checks the output of linetables.py for `modules` modules; returns the number of code objects compared. */
static size_t check_modules(const char *python, const char *option, int modules)
{
	char command[4400], *line = NULL;
	size_t size = 0, codes = 0, offsets = 0;
	FILE *out;

	snprintf(command, sizeof(command), "%s -W ignore %s %.*s/../linetables.py %d", python, option,
		 (int)(strrchr(__FILE__, '/') - __FILE__), __FILE__, modules);
	out = popen(command, "r");
	assert_non_null(out);
	while (getline(&line, &size, out) > 0) {
		offsets += check_code(line);
		codes++;
	}
	free(line);
	assert_int_equal(pclose(out), 0);
	print_message("%s %s: %zu code objects, %zu offsets\n", python, option, codes, offsets);
	return codes;
}

/* Returns the number of code objects compared; 0: not a CPython of 3.6 or later. */
static size_t check_interpreter(const char *python)
{
	char command[4400];
	size_t codes;

	snprintf(command, sizeof(command),
		 "%s -c 'import sys; sys.exit(sys.version_info < (3, 6) or sys.implementation.name != \"cpython\")' "
		 "2>/dev/null",
		 python);
	if (system(command))
		return 0;
	codes = check_modules(python, "", SOME_OF(60));
	assert_true(codes > SOME_OF(3000));
	/* entries without columns, from 3.11 on; before that the option means nothing */
	assert_true(check_modules(python, "-X no_debug_ranges", 5) > 200);
	return codes;
}

static void every_offset_has_the_line_that_the_interpreter_says(void **state)
{
	char pattern[4096];
	glob_t found = {0};
	size_t codes;

	codes = check_interpreter("python3");
	snprintf(pattern, sizeof(pattern), "%s/.pyenv/versions/*/bin/python", getenv("HOME") ? getenv("HOME") : "");
	if (!glob(pattern, 0, NULL, &found))
		for (size_t i = 0; i < found.gl_pathc; i++)
			codes += check_interpreter(found.gl_pathv[i]);
	globfree(&found);
	assert_true(codes > 0);
}

static void an_empty_lnotab_puts_everything_on_the_first_line(void **state)
{
	assert_int_equal(line_at(GPT_LINES_LNOTAB, "", 0, true, 12, 0), 12);
	assert_int_equal(line_at(GPT_LINES_LNOTAB, "", 0, true, 12, 4000), 12);
}

static void a_truncated_table_knows_no_line_beyond_its_end(void **state)
{
	const uint8_t lnotab[] = {4, 1, 6, 1};
	const uint8_t entry[] = {0x80 | 10 << 3 | 3, 0};

	assert_int_equal(line_at(GPT_LINES_LNOTAB, lnotab, sizeof(lnotab), false, 12, 9), 13);
	assert_int_equal(line_at(GPT_LINES_LNOTAB, lnotab, sizeof(lnotab), false, 12, 10), 0);
	assert_int_equal(line_at(GPT_LINES_LNOTAB, lnotab, sizeof(lnotab), true, 12, 10), 14);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, entry, sizeof(entry), false, 12, 7), 12);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, entry, sizeof(entry), false, 12, 8), 0);
}

static void entries_without_a_line_have_none(void **state)
{
	const uint8_t table_310[] = {2, 0, 4, 0x80, 2, 1};
	const uint8_t locations[] = {0x80 | 13 << 3, 0, 0x80 | 15 << 3 | 1, 0x80 | 13 << 3, 2};

	assert_int_equal(line_at(GPT_LINES_310, table_310, sizeof(table_310), true, 5, 0), 5);
	assert_int_equal(line_at(GPT_LINES_310, table_310, sizeof(table_310), true, 5, 4), 0);
	assert_int_equal(line_at(GPT_LINES_310, table_310, sizeof(table_310), true, 5, 6), 6);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, locations, sizeof(locations), true, 5, 0), 5);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, locations, sizeof(locations), true, 5, 4), 0);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, locations, sizeof(locations), true, 5, 6), 6);
}

static void lines_that_cannot_be_are_unknown(void **state)
{
	const uint8_t down[] = {2, 0x81, 2, 0x81};
	const uint8_t far[] = {0x80 | 13 << 3, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x3f};

	assert_int_equal(line_at(GPT_LINES_310, down, sizeof(down), true, 5, 0), 0);
	assert_int_equal(line_at(GPT_LINES_LOCATIONS, far, sizeof(far), true, UINT32_MAX, 0), 0);
	assert_int_equal(line_at(0, down, sizeof(down), true, 5, 0), 0);
	assert_int_equal(line_at(77, down, sizeof(down), true, 5, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_offset_has_the_line_that_the_interpreter_says),
		cmocka_unit_test(an_empty_lnotab_puts_everything_on_the_first_line),
		cmocka_unit_test(a_truncated_table_knows_no_line_beyond_its_end),
		cmocka_unit_test(entries_without_a_line_have_none),
		cmocka_unit_test(lines_that_cannot_be_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
