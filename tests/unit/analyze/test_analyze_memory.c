/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Peaks of memory and the lines that held it then, as rows; most tests feed events one by one. */
#include "analyzed.h"

static void a_peak_has_its_time_and_the_lines_that_held_it(void **state)
{
	struct model *model = sample_model(1, 20);
	struct analyses all;

	/* each step keeps one block and releases another: at most 21 blocks, in the last step */
	analyze_model(&all, model, ANALYSES(ANALYZE_MEMORY_PEAKS));
	assert_int_equal(all.memory.peaks.count, 1);
	assert_int_equal(all.memory.peaks.items[0].space, MEMORY_SPACE_DEVICE);
	assert_int_equal(all.memory.peaks.items[0].most, 21000000);
	assert_int_equal(all.memory.peaks.items[0].time_ns, SAMPLE_START + 20 * SAMPLE_STEP + 11000);
	assert_int_equal(all.memory.count, 2);
	assert_line(&all, all.memory.rows[0].line, "train.py:24 train_step");
	assert_int_equal(all.memory.rows[0].at_peak, 20000000);
	assert_int_equal(all.memory.rows[0].unreleased, 20000000);
	assert_int_equal(all.memory.rows[1].at_peak, 1000000);
	assert_int_equal(all.memory.rows[1].unreleased, 0);
	assert_int_equal(all.memory.rows[1].blocks, 20);
	analyses_free(&all);
	model_free(model);
}

/* ---- events one by one: a caller is a stack of one frame, frames are lines ---------------------------------- */

static struct model_process processes[] = {{.exe = ""}, {.exe = ""}};
static const struct model_code code = {.name = "f", .file = "/f.py"};
static const struct model_frame frames[] = {{.line = 1}, {.line = 2}};
static const uint32_t stack_frames[] = {0, 1};
static const struct model_stack stacks[] = {{.first = 0, .depth = 1}, {.first = 1, .depth = 1}};
static const struct model tables = {.processes = processes,
				    .process_count = 2,
				    .codes = (struct model_code *)&code,
				    .code_count = 1,
				    .frames = (struct model_frame *)frames,
				    .frame_count = 2,
				    .stack_frames = (uint32_t *)stack_frames,
				    .stacks = (struct model_stack *)stacks,
				    .stack_count = 2};
static struct memory_peaks peaks;
static struct callers callers;
static struct lines lines;

static int begin_test(void **state)
{
	memory_peaks_init(&peaks, &tables);
	callers_init(&callers, &tables);
	lines_make(&lines, &callers);
	return 0;
}

static int end_test(void **state)
{
	memory_peaks_free(&peaks);
	lines_free(&lines);
	callers_free(&callers);
	return 0;
}

/* A block, with the times of its allocation and release; to_ns 0: it is never released. */
struct block {
	uint64_t from_ns, to_ns, bytes;
	uint32_t caller, process;
};

static struct model_memory allocation_of(const struct block *block)
{
	return (struct model_memory){.time_ns = block->from_ns,
				     .bytes = block->bytes,
				     .other = block->to_ns ? 0 : NONE,
				     .process = block->process,
				     .kind = 3};
}

static void allocate_block(const struct block *block)
{
	struct model_memory memory = allocation_of(block);

	memory_peaks_add_memory(&peaks, &(struct memory_event){.memory = &memory, .place = block->caller});
}

static void release_block(const struct block *block)
{
	struct model_memory allocation = allocation_of(block), memory = allocation;

	memory.time_ns = block->to_ns;
	memory.released = true;
	memory_peaks_add_memory(
		&peaks, &(struct memory_event){.memory = &memory, .allocation = &allocation, .place = block->caller});
}

static void what_came_and_went_before_the_peak_was_not_held_then(void **state)
{
	const struct block first = {10, 20, 100, 0, 0}, second = {30, 0, 150, 1, 0};

	allocate_block(&first);
	release_block(&first);
	allocate_block(&second);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.peaks.items[0].most, 150);
	assert_int_equal(peaks.rows[0].at_peak, 150);
	assert_int_equal(peaks.rows[1].at_peak, 0);
	assert_int_equal(peaks.rows[1].blocks, 1);
}

static void a_line_is_of_the_process_whose_memory_it_has_or_of_several(void **state)
{
	const struct block blocks[] = {{10, 0, 300, 0, 0}, {20, 0, 100, 0, 1}, {30, 0, 200, 1, 1}};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		allocate_block(&blocks[i]);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.count, 2);
	assert_int_equal(peaks.rows[0].process, PROCESS_MANY);
	assert_int_equal(peaks.rows[1].process, 1);
}

static void what_went_behind_the_peak_was_held_then(void **state)
{
	const struct block first = {10, 40, 100, 0, 0}, second = {30, 50, 150, 1, 0}, third = {60, 0, 20, 0, 0};

	allocate_block(&first);
	allocate_block(&second);
	release_block(&first);
	release_block(&second);
	allocate_block(&third);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.peaks.items[0].most, 250);
	assert_int_equal(peaks.peaks.items[0].time_ns, 30);
	assert_int_equal(peaks.rows[0].at_peak, 150);
	assert_int_equal(peaks.rows[1].at_peak, 100);
	assert_int_equal(peaks.rows[1].unreleased, 20);
}

static void of_two_equal_peaks_the_first_counts(void **state)
{
	const struct block first = {10, 20, 100, 0, 0}, second = {30, 0, 100, 1, 0};

	allocate_block(&first);
	release_block(&first);
	allocate_block(&second);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.peaks.items[0].time_ns, 10);
	assert_int_equal(peaks.rows[0].line, lines.of_frame[0]);
	assert_int_equal(peaks.rows[0].at_peak, 100);
	assert_int_equal(peaks.rows[1].at_peak, 0);
}

static void the_end_of_a_process_takes_back_what_it_held(void **state)
{
	const struct block first = {10, 0, 100, 0, 0}, other = {15, 0, 30, 1, 1}, second = {30, 0, 90, 1, 1};

	allocate_block(&first);
	allocate_block(&other);
	memory_peaks_add_exit(&peaks, &(struct exit_event){.time_ns = 20, .process = 0});
	allocate_block(&second);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.peaks.items[0].most, 130);
	assert_int_equal(peaks.peaks.items[0].now, 120);
	assert_int_equal(peaks.rows[0].at_peak, 100);
	assert_int_equal(peaks.rows[0].unreleased, 100);
	assert_int_equal(peaks.rows[1].at_peak, 30);
}

static void a_line_of_two_processes_is_one_row(void **state)
{
	const struct block first = {10, 0, 100, 0, 0}, second = {20, 0, 11, 0, 1};

	allocate_block(&first);
	allocate_block(&second);
	memory_peaks_finish(&peaks, &lines);
	assert_int_equal(peaks.count, 1);
	assert_int_equal(peaks.rows[0].at_peak, 111);
	assert_int_equal(peaks.rows[0].blocks, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peak_has_its_time_and_the_lines_that_held_it),
		TEST(what_came_and_went_before_the_peak_was_not_held_then),
		TEST(a_line_is_of_the_process_whose_memory_it_has_or_of_several),
		TEST(what_went_behind_the_peak_was_held_then),
		TEST(of_two_equal_peaks_the_first_counts),
		TEST(the_end_of_a_process_takes_back_what_it_held),
		TEST(a_line_of_two_processes_is_one_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
