/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* _Py_DebugOffsets of every series: their values are used, and whatever they are, an accepted layout can be walked. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "target/python/python_internal.h"
#include "target/python/python_parts.h"

#define WORDS 96
#define SIZE 12000 /* of every structure, larger than any offset of the tables */

static const unsigned series[] = {3 << 8 | 13, 3 << 8 | 14, 3 << 8 | 15};

static uint64_t words[WORDS];

static struct python_version version_of(unsigned s)
{
	return (struct python_version){.major = s >> 8, .minor = s & 0xff, .micro = 0, .hex = s << 16 | 0xf0};
}

/* The table's offset for the field that this word gives. */
static uint64_t table_value(const struct gpt_pylayout *row, const struct python_debug_word *word)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)row + word->field, word->field_bytes);
	return value;
}

/* Fills in what a CPython with the table's layout says about itself. */
static void fill_words(unsigned s)
{
	size_t count = 0;
	const struct python_debug_word *list = python_debug_words(s, &count);

	assert_non_null(list);
	memset(words, 0, sizeof(words));
	memcpy(words, "xdebugpy", 8);
	words[1] = version_of(s).hex;
	for (size_t i = 0; i < count; i++) {
		words[list[i].word] = table_value(python_layout(s), &list[i]);
		words[list[i].size_word] = SIZE;
	}
}

static int apply_words(unsigned s, struct gpt_pylayout *layout, bool *free_threaded, char why[128])
{
	const struct python_version version = version_of(s);

	*layout = *python_layout(s);
	why[0] = '\0';
	return python_debug_offsets_apply(getpid(), (uint64_t)(uintptr_t)words, &version, layout, free_threaded, why,
					  128);
}

static void what_they_say_replaces_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++) {
		size_t count = 0;
		const struct python_debug_word *list = python_debug_words(series[i], &count);
		struct gpt_pylayout layout;
		bool free_threaded = true;
		char why[128];

		fill_words(series[i]);
		assert_int_equal(apply_words(series[i], &layout, &free_threaded, why), 0);
		assert_memory_equal(&layout, python_layout(series[i]), sizeof(layout));
		assert_false(free_threaded);
		for (size_t j = 0; j < count; j++) {
			fill_words(series[i]);
			/* All structures have room for one more word, frames too; a str's head has half of one. */
			words[list[j].word] += list[j].bytes == 1 && list[j].field_bytes == 2 ? 1 : 8;
			if (list[j].field == offsetof(struct gpt_pylayout, frame_instr))
				words[list[j].word] -= 16;
			if (list[j].field == offsetof(struct gpt_pylayout, str_state))
				words[list[j].word] -= 4;
			assert_int_equal(apply_words(series[i], &layout, &free_threaded, why), 0);
			assert_int_equal(table_value(&layout, &list[j]), words[list[j].word]);
		}
	}
}

static void assert_walkable(const struct gpt_pylayout *l)
{
	assert_true(l->ts_frame + 8 <= GPT_PY_THREAD_BYTES_MAX && l->ts_thread_id + 8 <= GPT_PY_THREAD_BYTES_MAX);
	assert_true(l->ts_next + 8 <= GPT_PY_THREAD_BYTES_MAX && l->ts_interp + 8 <= GPT_PY_THREAD_BYTES_MAX);
	assert_true(l->ts_datastack_chunk + 24 <= GPT_PY_THREAD_BYTES_MAX);
	assert_true(l->frame_localsplus <= GPT_PY_FRAME_BYTES_MAX);
	assert_true(l->frame_code + 8 <= l->frame_localsplus && l->frame_back + 8 <= l->frame_localsplus);
	assert_true(l->frame_instr + 8 <= l->frame_localsplus && l->frame_owner < l->frame_localsplus);
	assert_true(l->interp_threads_head < SIZE && l->interp_next < SIZE && l->interp_next_unique_id < SIZE);
	assert_true(l->runtime_interpreters_head < SIZE);
	assert_true(l->code_name < SIZE && l->code_filename < SIZE && l->code_linetable < SIZE);
	assert_true(l->str_ascii_data <= PYTHON_STR_HEAD_MAX && l->str_state + 4 <= l->str_ascii_data);
	assert_true(l->str_length + 8 <= l->str_ascii_data && l->object_type + 8 <= l->str_ascii_data);
}

static void whatever_they_say_what_is_accepted_can_be_walked(void **state)
{
	static const uint64_t wild[] = {0,	1,	3,	  8,	    120,	121,	    128,       471,
					472,	480,	SIZE - 9, SIZE - 8, SIZE - 7,	SIZE - 1,   SIZE,      SIZE + 1,
					0xfffe, 0xffff, 0x10000,  1u << 24, 1ull << 32, 1ull << 63, ~0ull - 7, ~0ull};
	unsigned refused = 0, taken = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++)
		for (unsigned word = 2; word < WORDS; word++)
			for (size_t j = 0; j < sizeof(wild) / sizeof(*wild); j++) {
				struct gpt_pylayout layout;
				bool free_threaded;
				char why[128];
				int err;

				fill_words(series[i]);
				words[word] = wild[j];
				err = apply_words(series[i], &layout, &free_threaded, why);
				taken += !err;
				refused += err != 0;
				if (!err)
					assert_walkable(&layout);
				else
					assert_true((err == -EPROTO || err == -ENOTSUP) && why[0]);
			}
	assert_true(refused > 1000 && taken > 1000);
}

static void a_free_threaded_build_is_reported_as_such(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(series) / sizeof(*series); i++) {
		struct gpt_pylayout layout;
		bool free_threaded = false;
		char why[128];

		fill_words(series[i]);
		words[2] = 1;
		assert_int_equal(apply_words(series[i], &layout, &free_threaded, why), -ENOTSUP);
		assert_true(free_threaded);
		assert_non_null(strstr(why, "free-threaded"));
	}
}

static void other_series_have_none(void **state)
{
	size_t count;

	(void)state;
	assert_null(python_debug_words(3 << 8 | 12, &count));
	assert_null(python_debug_words(3 << 8 | 16, &count));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_they_say_replaces_the_table),
		cmocka_unit_test(whatever_they_say_what_is_accepted_can_be_walked),
		cmocka_unit_test(a_free_threaded_build_is_reported_as_such),
		cmocka_unit_test(other_series_have_none),
	};

	return cmocka_run_group_tests_name("target/python_debug_offsets", tests, NULL, NULL);
}
