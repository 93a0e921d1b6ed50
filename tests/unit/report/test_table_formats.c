/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tables as csv, json and md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/table/table_writer.h"

static void add_row(struct table *table, const char *name, uint64_t ns)
{
	table->unit = (struct time_unit){"us", 1e3};
	table_begin_row(table);
	table_add_ns(table, "%s", "gpu_ns", ns);
	table_add_percent(table, "%", "percent", 1, 8);
	table_add_name(table, "name", "name", TEXT_TRUNCATE_END, name);
	table_add_word(table, "file", NULL);
}

static void put_table(struct table_writer *writer, const char *id, const char *name, uint64_t ns)
{
	struct table table = {0};

	table_writer_title(writer, id, "A title", "about it");
	add_row(&table, name, ns);
	if (!name)
		table_drop_rows(&table);
	table_writer_put(writer, &table);
}

/* The output for a table of one row (name NULL: no row); the caller frees it. */
static char *write_table(const struct table_format *format, const char *only, const char *name, uint64_t ns)
{
	struct table_writer writer;
	char *text = NULL, *ids;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_writer_open(&writer, out, format, only);
	put_table(&writer, "kernels", name, ns);
	table_writer_note(&writer, "  and a note");
	table_writer_title(&writer, "losses", "Nothing of these", NULL);
	assert_int_equal(table_writer_close(&writer, &ids), 0);
	assert_null(ids);
	fclose(out);
	return text;
}

static void assert_written(const struct table_format *format, const char *only, const char *name, uint64_t ns,
			   const char *expected)
{
	char *text = write_table(format, only, name, ns);

	assert_string_equal(text, expected);
	free(text);
}

#define JSON_HEAD                                                                                                      \
	"{\"schema\": \"gputrace-tables\", \"version\": 1, \"generator\": \"gputrace " GPUTRACE_VERSION                \
	"\", \"tables\": [\n{\"id\": \"kernels\", \"title\": \"A title\", \"about\": \"about it\",\n \"columns\": ["   \
	"{\"name\": \"gpu_ns\", \"type\": \"integer\", \"unit\": \"ns\"}, "                                            \
	"{\"name\": \"percent\", \"type\": \"number\", \"unit\": \"percent\"}, "                                       \
	"{\"name\": \"name\", \"type\": \"string\", \"unit\": null}, "                                                 \
	"{\"name\": \"file\", \"type\": \"string\", \"unit\": null}],\n \"rows\": ["
#define JSON_TAIL "],\n \"notes\": [\"and a note\"]}\n]}\n"

static void json_has_numbers_in_base_units_and_null_for_what_is_not_known(void **state)
{
	assert_written(&table_format_json, NULL, "k", 2500,
		       JSON_HEAD
		       "\n  {\"gpu_ns\": 2500, \"percent\": 12.5, \"name\": \"k\", \"file\": null}" JSON_TAIL);
}

static void a_cell_of_which_no_value_is_known_has_none_whatever_was_added(void **state)
{
	struct table table = {0};

	table_begin_row(&table);
	table_add_time(&table, "time", "ns", 1500);
	table_unset_unless(&table, true, "-");
	table_add_data(&table, "number", UNIT_COUNT, 3);
	table_unset_unless(&table, false, "-");
	table_add_word(&table, "place", "here");
	table_add_word(&table, "other", NULL);
	assert_int_equal(table.cells.items[0].kind, CELL_INTEGER);
	assert_int_equal(table.cells.items[0].integer, 1500);
	assert_string_equal(table.cells.items[0].text, "1.5 us");
	assert_int_equal(table.cells.items[1].kind, CELL_UNKNOWN);
	assert_string_equal(table.cells.items[1].text, "-");
	assert_int_equal(table.cells.items[2].kind, CELL_TEXT);
	assert_string_equal(table.cells.items[2].text, "here");
	assert_int_equal(table.cells.items[3].kind, CELL_UNKNOWN);
	assert_string_equal(table.cells.items[3].text, "-");
	table_free(&table);
}

static void json_of_no_rows_is_whole(void **state)
{
	assert_written(&table_format_json, NULL, NULL, 0, JSON_HEAD JSON_TAIL);
}

static void whole_numbers_beyond_doubles_are_exact(void **state)
{
	char *text = write_table(&table_format_json, NULL, "k", UINT64_MAX);

	assert_non_null(strstr(text, "\"gpu_ns\": 18446744073709551615,"));
	free(text);
	text = write_table(&table_format_csv, "kernels", "k", ((uint64_t)1 << 53) + 1);
	assert_non_null(strstr(text, "\n9007199254740993,12.5,k,\n"));
	free(text);
}

static void json_names_are_escaped_and_safe(void **state)
{
	char *text = write_table(&table_format_json, NULL, "a\"b\\c\x01\x1b[31m\xff\xe2\x80\xae\nd", 1);

	assert_non_null(
		strstr(text, "\"name\": \"a\\\"b\\\\c\xef\xbf\xbd\xef\xbf\xbd[31m\xef\xbf\xbd\xef\xbf\xbd d\""));
	free(text);
}

static void csv_has_a_title_record_and_notes_as_the_last_table(void **state)
{
	assert_written(&table_format_csv, NULL, "k", 2500,
		       "kernels,A title\ngpu_ns,percent,name,file\n2500,12.5,k,\n\n"
		       "notes,Notes\ntable,note\nkernels,and a note\n");
}

static void a_text_of_csv_that_a_spreadsheet_would_execute_is_quoted_and_marked(void **state)
{
	assert_written(&table_format_csv, "kernels", "=1+1", 1, "gpu_ns,percent,name,file\n1,12.5,\"'=1+1\",\n");
	assert_written(&table_format_csv, "kernels", "+1", 1, "gpu_ns,percent,name,file\n1,12.5,\"'+1\",\n");
	assert_written(&table_format_csv, "kernels", "-1", 1, "gpu_ns,percent,name,file\n1,12.5,\"'-1\",\n");
	assert_written(&table_format_csv, "kernels", "@A(\"b\")", 1,
		       "gpu_ns,percent,name,file\n1,12.5,\"'@A(\"\"b\"\")\",\n");
	assert_written(&table_format_csv, "kernels", "a=1", 1, "gpu_ns,percent,name,file\n1,12.5,a=1,\n");
}

static void csv_of_one_table_is_names_and_rows_alone(void **state)
{
	assert_written(&table_format_csv, "kernels", "k", 2500, "gpu_ns,percent,name,file\n2500,12.5,k,\n");
	assert_written(&table_format_csv, "kernels", NULL, 0, "gpu_ns,percent,name,file\n");
}

static void only_a_terminal_truncates_and_a_sentence_keeps_its_beginning(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct table table = {0};

	table_begin_row(&table);
	table_add_name(&table, "line", "line", TEXT_TRUNCATE_START, "a/rather/long/path.py:12");
	table_begin_row(&table);
	table_add_name(&table, "line", "line", TEXT_TRUNCATE_START, "(event loop: not a Python thread)");
	table_put(&table, out, &(struct table_look){.width = 16, .truncates = true});
	table_put(&table, out, &(struct table_look){.width = 16});
	fclose(out);
	assert_string_equal(text, "  line\n  .../path.py:12\n  (event loop...\n"
				  "  line\n  a/rather/long/path.py:12\n  (event loop: not a Python thread)\n");
	free(text);
	table_free(&table);
}

static void csv_quotes_what_would_end_a_field(void **state)
{
	assert_written(&table_format_csv, "kernels", "f(a, \"b\")", 1,
		       "gpu_ns,percent,name,file\n1,12.5,\"f(a, \"\"b\"\")\",\n");
}

static void tables_of_one_id_share_their_column_names_in_csv(void **state)
{
	struct table_writer writer;
	char *text = NULL, *ids;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_writer_open(&writer, out, &table_format_csv, "steps");
	put_table(&writer, "steps", "a", 1);
	put_table(&writer, "kernels", "b", 2);
	put_table(&writer, "steps", "c", 3);
	assert_int_equal(table_writer_close(&writer, &ids), 0);
	fclose(out);
	assert_string_equal(text, "gpu_ns,percent,name,file\n1,12.5,a,\n3,12.5,c,\n");
	free(text);
}

static void a_table_that_is_not_there_is_an_error_that_names_those_that_are(void **state)
{
	struct table_writer writer;
	char *text = NULL, *ids;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_writer_open(&writer, out, &table_format_csv, "nothing");
	put_table(&writer, "steps", "a", 1);
	put_table(&writer, "kernels", "b", 2);
	put_table(&writer, "steps", "c", 3);
	assert_int_equal(table_writer_close(&writer, &ids), -ENOENT);
	fclose(out);
	assert_string_equal(ids, "steps, kernels");
	assert_string_equal(text, "");
	free(ids);
	free(text);
}

static void md_shows_what_a_page_shows(void **state)
{
	text_begin();
	assert_written(
		&table_format_md, NULL, "k", 25000,
		"**A title** (about it)\n\n| us | % | name |\n|--:|--:|---|\n| 25.0 | 12.5 | `k` |\n\n- and a note\n");
	text_end();
}

static void names_are_no_markup_in_md(void **state)
{
	char *text;

	text_begin();
	text = write_table(&table_format_md, NULL, "a|b *c* @d <e>", 1);
	assert_non_null(strstr(text, "| `a\\|b *c* @d <e>` |\n"));
	free(text);
	text = write_table(&table_format_md, NULL, "a\\|b`@c", 1);
	assert_non_null(strstr(text, "| a&#92;&#124;b&#96;&#64;c |\n"));
	free(text);
	text_end();
}

static void md_has_the_first_rows_of_the_tables_that_matter(void **state)
{
	struct table_writer writer;
	struct table table = {0};
	char *text = NULL, *ids, *only = NULL;
	unsigned rows = 0;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	table_writer_open(&writer, out, &table_format_md, NULL);
	put_table(&writer, "processes", "left out", 1);
	table_writer_title(&writer, "kernels", "A title", NULL);
	for (int i = 0; i < 20; i++)
		add_row(&table, "row", 1);
	table_writer_put(&writer, &table);
	table_writer_title(&writer, "idle", "Without rows", NULL);
	table = (struct table){0};
	add_row(&table, "row", 1);
	table_drop_rows(&table);
	table_writer_put(&writer, &table);
	table_writer_title(&writer, "waits", "With a note alone", NULL);
	table = (struct table){0};
	table_writer_put(&writer, &table);
	table_writer_note(&writer, "why there are none");
	assert_int_equal(table_writer_close(&writer, &ids), 0);
	fclose(out);
	assert_null(strstr(text, "Without rows"));
	assert_non_null(strstr(text, "\n**With a note alone**\n\n- why there are none\n"));
	for (only = strstr(text, "`row`"); only; only = strstr(only + 1, "`row`"))
		rows++;
	assert_int_equal(rows, 5);
	assert_null(strstr(text, "left out"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_numbers_in_base_units_and_null_for_what_is_not_known),
		cmocka_unit_test(a_cell_of_which_no_value_is_known_has_none_whatever_was_added),
		cmocka_unit_test(json_of_no_rows_is_whole),
		cmocka_unit_test(whole_numbers_beyond_doubles_are_exact),
		cmocka_unit_test(json_names_are_escaped_and_safe),
		cmocka_unit_test(csv_has_a_title_record_and_notes_as_the_last_table),
		cmocka_unit_test(csv_of_one_table_is_names_and_rows_alone),
		cmocka_unit_test(a_text_of_csv_that_a_spreadsheet_would_execute_is_quoted_and_marked),
		cmocka_unit_test(only_a_terminal_truncates_and_a_sentence_keeps_its_beginning),
		cmocka_unit_test(csv_quotes_what_would_end_a_field),
		cmocka_unit_test(tables_of_one_id_share_their_column_names_in_csv),
		cmocka_unit_test(a_table_that_is_not_there_is_an_error_that_names_those_that_are),
		cmocka_unit_test(md_shows_what_a_page_shows),
		cmocka_unit_test(names_are_no_markup_in_md),
		cmocka_unit_test(md_has_the_first_rows_of_the_tables_that_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
