/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A timeline at a resolution: for any question, boxes stand for exactly the slices that exist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/zoom/store.h"

#define SLICES 40000u
#define SPAN 1000000000ull

static struct zoom_slice slices[SLICES];

static struct zoom *zoom_with_tracks(uint32_t tracks)
{
	struct zoom *zoom = zoom_new();

	for (uint32_t i = 0; i < tracks; i++)
		array_push(&zoom->tracks, ((struct zoom_track){.label = xstrdup("row"), .group = xstrdup("group")}));
	for (uint32_t i = 0; i < 3; i++)
		array_push(&zoom->labels, ((struct zoom_label){.name = texts_id(&zoom->texts, "name", &"abc"[i]),
							       .where = texts_id(&zoom->texts, "", "train.py:7"),
							       .stack = texts_id(&zoom->texts, "", "")}));
	zoom->progress.start_ns = 1000;
	zoom->progress.end_ns = 1000 + SPAN;
	return zoom;
}

/* Slices one after another, some long, most short. */
static struct zoom *zoom_of_slices(void)
{
	struct zoom *zoom = zoom_with_tracks(1);
	uint64_t at = 1000;

	for (uint32_t i = 0; i < SLICES; i++) {
		uint64_t length = i % 997 ? (uint64_t)rand() % 20000 : 2000000;

		slices[i] = (struct zoom_slice){.start_ns = at, .end_ns = at + length, .label = i % 3};
		at += length + (uint64_t)rand() % 3000;
		zoom_add(zoom, 0, &slices[i]);
	}
	return zoom;
}

struct drawn {
	uint64_t boxes, slices, busy_ns;
};

/* The sums over all rows of an answer. */
static struct drawn drawn_of(struct zoom *zoom, const struct zoom_question *question)
{
	struct drawn drawn = {0};
	struct sink json;
	char *at;

	sink_open_memory(&json);
	zoom_put_answer(zoom, question, &json);
	sink_char(&json, '\0');
	for (at = strstr(json.buffer, "\n["); at && at < strstr(json.buffer, "\"labels\"");
	     at = strstr(at + 1, "\n[")) {
		at = strchr(at + 2, '[') + 1;
		while (*at != ']') {
			uint64_t field[6];

			for (int i = 0; i < 6; i++) {
				field[i] = (uint64_t)strtoll(at, &at, 10);
				if (*at == ',')
					at++;
			}
			drawn.boxes++;
			drawn.slices += field[3];
			drawn.busy_ns += field[4];
		}
	}
	sink_close(&json);
	return drawn;
}

static struct drawn truth_of(uint64_t from_ns, uint64_t to_ns)
{
	struct drawn truth = {0};

	for (uint32_t i = 0; i < SLICES; i++)
		if (slices[i].end_ns >= from_ns && slices[i].start_ns < to_ns) {
			truth.slices++;
			truth.busy_ns += slices[i].end_ns - slices[i].start_ns;
		}
	return truth;
}

static void without_a_resolution_each_slice_in_a_stretch_is_a_box(void **state)
{
	struct zoom *zoom = zoom_of_slices();

	(void)state;
	for (uint32_t i = 0; i < 50; i++) {
		uint64_t from_ns = (uint64_t)rand() % SPAN / 2, to_ns = from_ns + 1 + (uint64_t)rand() % 3000000;
		struct drawn truth = truth_of(from_ns, to_ns);
		struct drawn drawn = drawn_of(zoom, &(struct zoom_question){.from_ns = from_ns, .to_ns = to_ns});

		assert_int_equal(drawn.boxes, truth.slices);
		assert_int_equal(drawn.busy_ns, truth.busy_ns);
		assert_true(zoom_count(zoom, from_ns, to_ns) >= truth.slices);
	}
	zoom_free(zoom);
}

static void at_a_resolution_boxes_stand_for_all_slices_and_are_few(void **state)
{
	struct zoom *zoom = zoom_of_slices();

	(void)state;
	for (uint32_t width = 10; width <= 4000; width *= 2) {
		uint64_t end_ns = slices[SLICES - 1].end_ns + 1;
		struct zoom_question question = {.from_ns = 1000, .to_ns = end_ns, .width = width};
		struct drawn truth = truth_of(1000, end_ns), drawn = drawn_of(zoom, &question);

		assert_int_equal(drawn.slices, truth.slices);
		assert_int_equal(drawn.busy_ns, truth.busy_ns);
		assert_true(drawn.boxes <= 2ull * width + 2);
	}
	zoom_free(zoom);
}

static void what_nests_is_deeper_and_a_long_one_around_it_moves_it_down(void **state)
{
	struct zoom *zoom = zoom_with_tracks(1);
	struct sink json;

	(void)state;
	zoom_add(zoom, 0, &(struct zoom_slice){.start_ns = 2000, .end_ns = 3000, .label = 0});
	zoom_add(zoom, 0, &(struct zoom_slice){.start_ns = 2100, .end_ns = 2200, .label = 1});
	/* reported at their ends, which come some parts later */
	zoom_add_long_slice(zoom, 0, &(struct zoom_slice){.start_ns = 1500, .end_ns = 9000, .label = 2}, false);
	zoom_add_long_slice(zoom, 0, &(struct zoom_slice){.start_ns = 1000, .end_ns = 9500, .label = 2}, false);
	sink_open_memory(&json);
	zoom_put_answer(zoom, &(struct zoom_question){.from_ns = 1000, .to_ns = 10000}, &json);
	sink_char(&json, '\0');
	assert_non_null(strstr(json.buffer, "[0,0,[0,8500,2,1,8500,0]]"));
	assert_non_null(strstr(json.buffer, "[0,1,[500,7500,2,1,7500,0]]"));
	assert_non_null(strstr(json.buffer, "[0,2,[1000,1000,0,1,1000,0]]"));
	assert_non_null(strstr(json.buffer, "[0,3,[1100,100,1,1,100,0]]"));
	sink_close(&json);
	zoom_free(zoom);
}

static void a_call_and_its_gpu_work_are_found_by_their_number(void **state)
{
	struct zoom *zoom = zoom_with_tracks(2);
	struct zoom_hit hit;

	(void)state;
	zoom->tracks.items[1].on_gpu = true;
	for (uint32_t i = 0; i < 3 * BLOCK_SLICES; i++) {
		zoom_add(zoom, 0,
			 &(struct zoom_slice){
				 .start_ns = 1000 + 100ull * i, .end_ns = 1040 + 100ull * i, .number = 1 + i});
		/* in descending order, as graphs and streams may have them */
		zoom_add(zoom, 1,
			 &(struct zoom_slice){.start_ns = 900000 + 50ull * i,
					      .end_ns = 900010 + 50ull * i,
					      .number = 3 * BLOCK_SLICES - i,
					      .label = 1});
	}
	assert_true(zoom_find_linked(zoom, 300, false, &hit));
	assert_int_equal(hit.track, 0);
	assert_int_equal(hit.start_ns, 1000 + 100 * 299);
	assert_true(zoom_find_linked(zoom, 300, true, &hit));
	assert_int_equal(hit.track, 1);
	assert_int_equal(hit.start_ns, 900000 + 50 * (3 * BLOCK_SLICES - 300));
	assert_int_equal(hit.label, 1);
	assert_false(zoom_find_linked(zoom, 3 * BLOCK_SLICES + 1, true, &hit));
	assert_false(zoom_find_linked(zoom, 0, false, &hit));
	zoom_free(zoom);
}

static void the_next_slice_of_a_name_is_found_whatever_the_case(void **state)
{
	struct zoom *zoom = zoom_of_slices();
	struct zoom_hit hit;

	(void)state;
	assert_true(zoom_find(zoom, "NAMEBC", slices[12345].start_ns, &hit));
	assert_int_equal(hit.start_ns, slices[12346].start_ns); /* label 1 */
	assert_true(zoom_find(zoom, "train.py", slices[300].start_ns, &hit));
	assert_int_equal(hit.start_ns, slices[301].start_ns);
	assert_false(zoom_find(zoom, "elsewhere", 0, &hit));
	assert_false(zoom_find(zoom, "name", slices[SLICES - 1].start_ns, &hit));
	zoom_free(zoom);
}

static void where_the_disk_is_full_all_stays_in_memory(void **state)
{
	struct zoom *zoom = zoom_with_tracks(1);
	struct zoom_slice slice = {.label = 1};

	(void)state;
	zoom->file.error = -ENOSPC;
	for (uint32_t i = 0; i < 1000000; i++) {
		slice.start_ns = 1000 + 100ull * i;
		slice.end_ns = slice.start_ns + 50;
		zoom_add(zoom, 0, &slice);
	}
	assert_int_equal(drawn_of(zoom, &(struct zoom_question){.to_ns = SPAN, .width = 100}).slices, 1000000);
	zoom_free(zoom);
}

static char *text_of(struct zoom *zoom, bool tracks)
{
	struct sink json;
	char *text;

	sink_open_memory(&json);
	if (tracks)
		zoom_put_tracks(zoom, &json);
	else
		zoom_put_answer(zoom, &(struct zoom_question){.from_ns = 1000, .to_ns = 1000 + SPAN}, &json);
	sink_char(&json, '\0');
	text = strdup(json.buffer);
	sink_close(&json);
	return text;
}

static void assert_says(struct zoom *zoom, bool tracks, const char *part, bool expected)
{
	char *text = text_of(zoom, tracks);

	assert_int_equal(strstr(text, part) != NULL, expected);
	free(text);
}

static void gaps_of_a_gpu_are_shown_once_their_reasons_have_names(void **state)
{
	struct zoom *zoom = zoom_with_tracks(2);
	const struct zoom_gap_part parts[] = {{2000, 5000, 0}, {5000, 6000, 1}};
	const struct zoom_reason slept = {
		.name = "slept", .where = "train.py:9 rest", .color = 1, .process = 3, .tid = 77};
	const struct zoom_reason unknown = {.name = "launch not seen", .where = "", .process = ZOOM_NONE};
	struct zoom_hit hit;
	uint32_t row;

	(void)state;
	zoom->tracks.items[0].on_gpu = true;
	zoom->tracks.items[0].key.group.device = 5;
	zoom->tracks.items[1].process = 3;
	zoom->tracks.items[1].key.tid = 77;
	zoom_add(zoom, 1, &(struct zoom_slice){.start_ns = 1500, .end_ns = 7000});
	zoom_add_gap(zoom, 5, parts, 2);
	zoom_add_gap(zoom, 6, parts, 2); /* a GPU that the timeline does not have */
	assert_says(zoom, true, "\"idle\"", false);
	assert_int_equal(drawn_of(zoom, &(struct zoom_question){.from_ns = 1000, .to_ns = SPAN}).boxes, 1);
	zoom_name_reason(zoom, 0, &slept);
	zoom_name_reason(zoom, 1, &unknown);
	zoom_show_gaps(zoom);
	assert_says(zoom, true, "\"idle\",\"group\",1,101,", true);
	assert_says(zoom, false, "[\"slept\",\"train.py:9 rest\",101,", true);
	assert_says(zoom, false, ",1]", true); /* leads to the thread's row */
	assert_true(zoom_gap_row(zoom, 5, &row));
	assert_int_equal(row, 2);
	assert_false(zoom_gap_row(zoom, 6, &row));
	assert_true(zoom_find(zoom, "rest", 0, &hit));
	assert_int_equal(hit.start_ns, 2000);
	assert_int_equal(hit.end_ns, 5000);
	zoom_free(zoom);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_resolution_each_slice_in_a_stretch_is_a_box),
		cmocka_unit_test(at_a_resolution_boxes_stand_for_all_slices_and_are_few),
		cmocka_unit_test(what_nests_is_deeper_and_a_long_one_around_it_moves_it_down),
		cmocka_unit_test(a_call_and_its_gpu_work_are_found_by_their_number),
		cmocka_unit_test(the_next_slice_of_a_name_is_found_whatever_the_case),
		cmocka_unit_test(where_the_disk_is_full_all_stays_in_memory),
		cmocka_unit_test(gaps_of_a_gpu_are_shown_once_their_reasons_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
