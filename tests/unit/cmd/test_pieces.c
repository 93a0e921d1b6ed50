/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Division of a trace into files of limited size. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cmd/output/pieces.h"

#define BEGIN 1000000ull
#define MOST 10000u
#define HEAD 500u

/* Stands in for the disk and its files.  Each nanosecond has `density` bytes, ten times as many in [dense, dense_end).
 */
struct disk {
	double density;
	uint64_t dense, dense_end;
	uint64_t until;
	unsigned files, attempts;
	int error;
};

static double bytes_between(const struct disk *disk, uint64_t from, uint64_t to)
{
	uint64_t dense_from = from > disk->dense ? from : disk->dense;
	uint64_t dense_to = to < disk->dense_end ? to : disk->dense_end;
	double dense = dense_to > dense_from ? (double)(dense_to - dense_from) : 0;

	return HEAD + disk->density * ((double)(to - from) + 9 * dense);
}

static int write_file(void *context, unsigned number, uint64_t from, uint64_t to, uint64_t *bytes)
{
	struct disk *disk = context;

	disk->attempts++;
	assert_int_equal(from, disk->until);
	assert_int_equal(number, disk->files + 1);
	assert_true(to >= from);
	if (disk->error)
		return disk->error;
	if (bytes_between(disk, from, to) > MOST)
		return -EFBIG;
	*bytes = (uint64_t)bytes_between(disk, from, to);
	disk->until = to;
	disk->files = number;
	return 0;
}

static int divide_span(struct disk *disk, uint64_t span)
{
	struct pieces pieces = {
		.start_ns = BEGIN, .end_ns = BEGIN + span, .most = MOST, .write = write_file, .context = disk};
	int err;

	disk->until = BEGIN;
	err = pieces_write(&pieces);
	if (!err)
		assert_int_equal(disk->until, BEGIN + span);
	return err;
}

static void what_fits_is_one_file(void **state)
{
	struct disk disk = {.density = 0.001};

	assert_int_equal(divide_span(&disk, 1000000), 0);
	assert_int_equal(disk.files, 1);
	assert_int_equal(disk.attempts, 1);
}

static void files_are_nearly_full_and_few_are_written_twice(void **state)
{
	struct disk disk = {.density = 0.001};

	assert_int_equal(divide_span(&disk, 1000000000), 0);
	assert_in_range(disk.files, 105, 150); /* 105.3 full files would hold all */
	assert_true(disk.attempts < disk.files + 12);
}

static void where_there_is_more_spans_are_shorter(void **state)
{
	struct disk disk = {.density = 0.001, .dense = BEGIN + 300000000, .dense_end = BEGIN + 400000000};

	assert_int_equal(divide_span(&disk, 1000000000), 0);
	assert_in_range(disk.files, 200, 290); /* 1.9 million bytes in all */
	assert_true(disk.attempts < disk.files + 30);
}

static void a_size_that_is_too_small_is_an_error(void **state)
{
	struct disk disk = {.density = 100};

	assert_int_equal(divide_span(&disk, 1000000000), -EFBIG);
	assert_true(disk.attempts < 100);
}

static void a_recording_without_length_is_one_file(void **state)
{
	struct disk disk = {.density = 0.001};

	assert_int_equal(divide_span(&disk, 0), 0);
	assert_int_equal(disk.files, 1);
}

static void another_error_ends_it(void **state)
{
	struct disk disk = {.density = 0.001, .error = -ENOSPC};

	assert_int_equal(divide_span(&disk, 1000000), -ENOSPC);
	assert_int_equal(disk.attempts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_one_file),
		cmocka_unit_test(files_are_nearly_full_and_few_are_written_twice),
		cmocka_unit_test(where_there_is_more_spans_are_shorter),
		cmocka_unit_test(a_size_that_is_too_small_is_an_error),
		cmocka_unit_test(a_recording_without_length_is_one_file),
		cmocka_unit_test(another_error_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
