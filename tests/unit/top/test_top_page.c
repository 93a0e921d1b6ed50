/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The screen of `gputrace top` for the sample run, and what keys do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sample_model.h"
#include "whole_trace.h"

#include "report/report.h"
#include "report/table/text.h"
#include "top/page.h"

#define MS 1000000ull

struct shown {
	struct kept_tables tables;
	struct top_data data;
	struct top_view view;
	struct top_page page;
};

static int begin_test(void **state)
{
	struct model *model = sample_model(2, 20);
	struct shown *shown = calloc(1, sizeof(*shown));
	struct report_options options = {.format = &table_format_kept,
					 .keeper = &shown->tables,
					 .verdict = &shown->tables.verdict,
					 .is_verdict_brief = true,
					 .width = 80};
	FILE *nowhere = fopen("/dev/null", "w");

	assert_int_equal(report_write(nowhere, WHOLE_TRACE(model), &options), 0);
	fclose(nowhere);
	model_free(model);
	shown->data = (struct top_data){.tables = &shown->tables,
					.target = "pid 41230",
					.span_ns = 2000 * MS,
					.interval_ns = 500 * MS,
					.end_wall_s = 1767189312};
	*state = shown;
	return 0;
}

static int end_test(void **state)
{
	struct shown *shown = *state;

	top_page_free(&shown->page);
	top_view_free(&shown->view);
	kept_tables_free(&shown->tables);
	free(shown);
	return 0;
}

static void show_page(struct shown *shown, unsigned width, unsigned height)
{
	top_page_free(&shown->page);
	top_page_make(&shown->page, &shown->view, &shown->data, width, height);
}

static enum top_request press_key(struct shown *shown, uint32_t key)
{
	enum top_request request = top_view_key(&shown->view, &shown->data, key);

	show_page(shown, 80, 24);
	return request;
}

static void type_text(struct shown *shown, const char *text)
{
	for (; *text; text++)
		press_key(shown, (uint32_t)*text);
}

static const char *line_with(const struct shown *shown, const char *text)
{
	for (size_t i = 0; i < shown->page.lines.count; i++)
		if (strstr(shown->page.lines.items[i].text, text))
			return shown->page.lines.items[i].text;
	return NULL;
}

static const char *chosen_line(const struct shown *shown)
{
	for (size_t i = 0; i < shown->page.lines.count; i++)
		if (shown->page.lines.items[i].look == TOP_CHOSEN)
			return shown->page.lines.items[i].text;
	return "";
}

static void a_page_fills_the_terminal_and_no_more(void **state)
{
	static const unsigned sizes[][2] = {{80, 24}, {40, 8}, {200, 60}, {20, 3}};
	struct shown *shown = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned tab = 0; tab < 10; tab++) {
			press_key(shown, '0' + tab);
			show_page(shown, sizes[i][0], sizes[i][1]);
			assert_int_equal(shown->page.lines.count, sizes[i][1]);
			text_begin();
			for (size_t k = 0; k < shown->page.lines.count; k++)
				assert_true(text_width(shown->page.lines.items[k].text) <= sizes[i][0]);
			text_end();
		}
}

static void the_head_says_what_is_traced_how_busy_the_gpu_was_and_why_it_idled(void **state)
{
	struct shown *shown = *state;

	show_page(shown, 120, 24);
	assert_non_null(line_with(shown, "gputrace top  pid 41230   the 2.0 s up to "));
	assert_non_null(line_with(shown, "every 500.0 ms"));
	assert_non_null(line_with(shown, "GPU 0 [#"));
	assert_non_null(line_with(shown, "idle: "));
}

static void the_verdict_is_below_the_title(void **state)
{
	struct shown *shown = *state;

	show_page(shown, 80, 24);
	assert_memory_equal(shown->page.lines.items[1].text, "1. ", 3);
	assert_non_null(strstr(shown->page.lines.items[1].text, "train.py:"));
	show_page(shown, 80, 16);
	assert_null(line_with(shown, "\n3. "));
}

/* "idle: launched late 3.0 ms, (gaps under 5 us) 20.0 us" */
static void no_cause_of_idle_time_is_without_a_name(void **state)
{
	struct shown *shown = *state;
	const char *line;

	show_page(shown, 200, 24);
	line = line_with(shown, "idle: ");
	assert_non_null(line);
	for (const char *at = line + strlen("idle: "); at; at = strstr(at, ", ") ? strstr(at, ", ") + 2 : NULL)
		assert_false(*at == ' ' || (*at >= '0' && *at <= '9'));
}

static void check_rows(const struct shown *shown, const struct kept_table *table, unsigned width)
{
	unsigned number = kept_column(table, "line_number");
	size_t line = 0;

	while (line < shown->page.lines.count && shown->page.lines.items[line].look != TOP_CHOSEN)
		line++; /* the first row */
	for (size_t i = 0; i < kept_rows(table) && line + i + 1 < shown->page.lines.count; i++) {
		char place[24];

		snprintf(place, sizeof(place), ":%u", (unsigned)kept_cell(table, i, number)->integer);
		if (kept_cell(table, i, number)->kind == CELL_INTEGER &&
		    !strstr(shown->page.lines.items[line + i].text, place))
			fail_msg("%s is not in '%s', %u columns", place, shown->page.lines.items[line + i].text, width);
	}
}

static void no_line_number_is_cut_however_narrow_the_screen_is(void **state)
{
	static const char *const tables[] = {"gpu_lines", "own_lines", "idle", NULL, NULL, "waits"};
	struct shown *shown = *state;

	for (unsigned width = 20; width < 130; width++)
		for (unsigned tab = 0; tab < sizeof(tables) / sizeof(tables[0]); tab++) {
			const struct kept_table *table = tables[tab] ? kept_table(&shown->tables, tables[tab]) : NULL;

			if (!table)
				continue;
			press_key(shown, '1' + tab);
			show_page(shown, width, 40);
			check_rows(shown, table, width);
		}
}

static void before_the_first_records_it_says_so(void **state)
{
	struct shown *shown = *state;

	shown->data.span_ns = 0;
	show_page(shown, 80, 24);
	assert_non_null(line_with(shown, "waiting for the first records"));
}

static void digits_and_arrows_choose_a_table(void **state)
{
	struct shown *shown = *state;

	press_key(shown, '4');
	assert_non_null(line_with(shown, "[4 kernels]"));
	assert_non_null(line_with(shown, "triton_poi_fused_relu_0"));
	press_key(shown, TOP_KEY_LEFT);
	assert_non_null(line_with(shown, "[3 idle]"));
	press_key(shown, TOP_KEY_RIGHT);
	assert_non_null(line_with(shown, "[4 kernels]"));
}

static void rows_are_sorted_by_the_column_that_s_chooses(void **state)
{
	struct shown *shown = *state;
	char *first;

	press_key(shown, '4');
	first = strdup(chosen_line(shown));
	press_key(shown, 's');
	assert_non_null(line_with(shown, "sorted by ms"));
	assert_string_equal(chosen_line(shown), first);
	press_key(shown, 'r');
	assert_string_not_equal(chosen_line(shown), first);
	for (int i = 0; i < 10 && !line_with(shown, "in the order of the report"); i++)
		press_key(shown, 's');
	assert_non_null(line_with(shown, "in the order of the report"));
	free(first);
}

static void a_filter_leaves_the_rows_with_its_text(void **state)
{
	struct shown *shown = *state;
	enum top_time time;

	press_key(shown, '4');
	type_text(shown, "/TRITON");
	assert_non_null(line_with(shown, "rows with: TRITON_"));
	press_key(shown, TOP_KEY_BACKSPACE);
	press_key(shown, TOP_KEY_ENTER);
	assert_non_null(line_with(shown, "triton_poi_fused_relu_0"));
	assert_null(line_with(shown, "Memcpy"));
	type_text(shown, "/nothing has this");
	press_key(shown, TOP_KEY_ENTER);
	assert_string_equal(chosen_line(shown), "");
	assert_int_equal(press_key(shown, TOP_KEY_ENTER), TOP_OPEN_STACKS);
	assert_null(top_row_needle(&shown->view, &shown->data, &time));
	press_key(shown, '/');
	press_key(shown, TOP_KEY_ESCAPE);
	assert_non_null(line_with(shown, "triton_poi_fused_relu_0"));
}

static void the_chosen_row_stays_on_a_small_page(void **state)
{
	struct shown *shown = *state;
	char *last;

	press_key(shown, '4');
	press_key(shown, TOP_KEY_END);
	last = strdup(chosen_line(shown));
	show_page(shown, 80, 8);
	assert_string_equal(chosen_line(shown), last);
	press_key(shown, TOP_KEY_HOME);
	press_key(shown, TOP_KEY_UP);
	assert_string_not_equal(chosen_line(shown), last);
	free(last);
}

static void a_row_opens_the_stacks_with_its_line_most_first(void **state)
{
	static const char folded[] = "python3;main (train.py:9);step (train.py:5);cudaLaunchKernel;small 2000\n"
				     "python3;main (train.py:9);step (train.py:6);cudaLaunchKernel;other 9000\n"
				     "python3;main (train.py:9);fit (fit.py:1);step (train.py:5);large 5000\n";
	char *text = top_stacks(folded, "(train.py:5)", TOP_GPU_TIME);

	assert_string_equal(text,
			    "5.0 us\n    large\n    step (train.py:5)\n    fit (fit.py:1)\n    main (train.py:9)\n"
			    "    python3\n"
			    "2.0 us\n    small\n    cudaLaunchKernel\n    step (train.py:5)\n    main (train.py:9)\n"
			    "    python3\n");
	free(text);
	text = top_stacks(folded, "(train.py:7)", TOP_GPU_TIME);
	assert_string_equal(text, "no stack with (train.py:7) in this time\n");
	free(text);
}

static void stacks_of_idle_time_are_those_of_the_culprit_not_of_the_launch(void **state)
{
	static const char folded[] =
		"python3;main (train.py:9);step (train.py:5);[ran];main (train.py:9);load (data.py:3) 7000\n"
		"python3;main (train.py:9);step (train.py:5);[ran];main (train.py:9);step (train.py:5) 2000\n"
		"python3;main (train.py:9);step (train.py:5);[launch] 3000\n";
	char *text = top_stacks(folded, "(data.py:3)", TOP_IDLE_TIME);

	assert_string_equal(text,
			    "7.0 us\n    load (data.py:3)\n    main (train.py:9)\n    [ran]\n    step (train.py:5)\n"
			    "    main (train.py:9)\n    python3\n");
	free(text);
	text = top_stacks(folded, "(train.py:5)", TOP_IDLE_TIME);
	assert_null(strstr(text, "data.py:3"));
	assert_non_null(strstr(text, "2.0 us\n    step (train.py:5)\n"));
	assert_non_null(strstr(text, "3.0 us\n    [launch]\n"));
	free(text);
}

static void the_stacks_of_a_row_are_of_the_time_that_its_table_has(void **state)
{
	struct shown *shown = *state;
	enum top_time time;

	press_key(shown, '1');
	free(top_row_needle(&shown->view, &shown->data, &time));
	assert_int_equal(time, TOP_GPU_TIME);
	press_key(shown, '3');
	free(top_row_needle(&shown->view, &shown->data, &time));
	assert_int_equal(time, TOP_IDLE_TIME);
}

static void the_stacks_of_a_line_are_found_by_file_and_number_those_of_a_kernel_by_its_name(void **state)
{
	struct shown *shown = *state;
	enum top_time time;
	char *needle;

	press_key(shown, '1');
	assert_int_equal(press_key(shown, TOP_KEY_ENTER), TOP_OPEN_STACKS);
	needle = top_row_needle(&shown->view, &shown->data, &time);
	assert_true(*needle == '(' && strchr(needle, ':'));
	free(needle);
	press_key(shown, '4');
	type_text(shown, "/triton");
	press_key(shown, TOP_KEY_ENTER);
	needle = top_row_needle(&shown->view, &shown->data, &time);
	assert_string_equal(needle, ";triton_poi_fused_relu_0");
	free(needle);
}

static void other_keys_stop_write_help_and_end(void **state)
{
	struct shown *shown = *state;

	press_key(shown, ' ');
	show_page(shown, 120, 24);
	assert_non_null(line_with(shown, "[stopped: Space goes on]"));
	press_key(shown, ' ');
	show_page(shown, 120, 24);
	assert_null(line_with(shown, "[stopped"));
	assert_int_equal(press_key(shown, 'w'), TOP_WRITE);
	press_key(shown, '?');
	assert_non_null(line_with(shown, "write the last 30 s as a Chrome trace"));
	press_key(shown, TOP_KEY_ESCAPE);
	assert_null(line_with(shown, "write the last 30 s as a Chrome trace"));
	assert_int_equal(press_key(shown, 'q'), TOP_QUIT);
}

static void a_block_has_the_first_rows_of_the_tables_that_matter(void **state)
{
	struct shown *shown = *state;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	top_block_put(out, &shown->data, 100);
	fclose(out);
	assert_non_null(strstr(text, "gputrace top  pid 41230"));
	assert_non_null(strstr(text, "\nGPU time by Python line\n"));
	assert_non_null(strstr(text, "\nGPU idle by Python line\n"));
	assert_non_null(strstr(text, "\nGPU time by kernel\n"));
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_page_fills_the_terminal_and_no_more),
		TEST(the_head_says_what_is_traced_how_busy_the_gpu_was_and_why_it_idled),
		TEST(the_verdict_is_below_the_title),
		TEST(no_cause_of_idle_time_is_without_a_name),
		TEST(no_line_number_is_cut_however_narrow_the_screen_is),
		TEST(before_the_first_records_it_says_so),
		TEST(digits_and_arrows_choose_a_table),
		TEST(rows_are_sorted_by_the_column_that_s_chooses),
		TEST(a_filter_leaves_the_rows_with_its_text),
		TEST(the_chosen_row_stays_on_a_small_page),
		cmocka_unit_test(a_row_opens_the_stacks_with_its_line_most_first),
		cmocka_unit_test(stacks_of_idle_time_are_those_of_the_culprit_not_of_the_launch),
		TEST(the_stacks_of_a_row_are_of_the_time_that_its_table_has),
		TEST(the_stacks_of_a_line_are_found_by_file_and_number_those_of_a_kernel_by_its_name),
		TEST(other_keys_stop_write_help_and_end),
		TEST(a_block_has_the_first_rows_of_the_tables_that_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
