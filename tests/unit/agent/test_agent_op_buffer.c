/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The buffer in which ops wait for the agent's thread, and the clock of their stamps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/torch/op_clock.h"
#include "agent/torch/op_buffer.h"
#include "agent/torch/op_write.h"
#include "agent_points.h"

#define SECOND 1000000000u

static struct op_buffer *buffer;
static unsigned woken;

static void count_wake(void)
{
	woken++;
}

static int begin_test(void **state)
{
	assert_true(op_buffers_open(count_wake));
	buffer = op_buffer_of_thread();
	assert_non_null(buffer);
	op_buffers_empty();
	buffer->wake_at = atomic_load(&buffer->tail) + OP_BUFFER_WAKE_BYTES;
	woken = 0;
	return 0;
}

#define NO_ROOM SIZE_MAX

/* Returns the place of the entry in the ring. */
static size_t write_one(uint64_t number)
{
	struct op_entry_op *entry = op_buffer_reserve(buffer, sizeof(*entry), OP_ENTRY_OP);
	uint64_t tail = atomic_load(&buffer->tail);

	if (!entry)
		return NO_ROOM;
	entry->end = number;
	op_buffer_commit(buffer, sizeof(*entry));
	return buffer->order[tail / OP_BUFFER_CHUNK_BYTES % OP_BUFFER_CHUNKS] * (size_t)OP_BUFFER_CHUNK_BYTES +
	       tail % OP_BUFFER_CHUNK_BYTES;
}

static void read_all(uint64_t *number)
{
	uint64_t position = atomic_load(&buffer->head), end = atomic_load(&buffer->tail);
	const struct op_entry *entry;

	while ((entry = op_buffer_next(buffer, &position, end)))
		assert_int_equal(((const struct op_entry_op *)entry)->end, (*number)++);
	op_buffer_read_to(buffer, position);
}

/* The address space of this process in bytes, as RLIMIT_AS counts it. */
static size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Must be the first test: it makes the buffer. */
static void a_thread_with_few_ops_takes_little_address_space(void **state)
{
	size_t before;

	assert_true(op_buffers_open(count_wake));
	address_space(); /* what stdio allocates is not counted */
	before = address_space();
	buffer = op_buffer_of_thread();
	assert_non_null(buffer);
	assert_int_not_equal(write_one(0), NO_ROOM);
	assert_in_range(address_space() - before, 1, 1u << 20);
	op_buffer_read_to(buffer, atomic_load(&buffer->tail));
}

/* ---- the ring ---------------------------------------------------------------------------------- */

static void a_reader_that_keeps_up_keeps_the_ring_small(void **state)
{
	uint64_t written, read = 0;
	size_t at, farthest = 0;

	for (written = 0; written < 2 * OP_BUFFER_RING_BYTES / sizeof(struct op_entry_op);) {
		at = write_one(written++);
		farthest = at > farthest ? at : farthest;
		if (written % 100 == 0)
			read_all(&read);
	}
	read_all(&read);
	assert_int_equal(read, written);
	assert_true(farthest < 2 * OP_BUFFER_CHUNK_BYTES);
}

static void a_reader_that_lags_gets_the_whole_ring_in_order(void **state)
{
	uint64_t written = 0, read = 0;
	size_t at, farthest = 0;
	unsigned lap;

	for (lap = 0; lap < 5; lap++) {
		while (written - read <
		       (OP_BUFFER_RING_BYTES - 2 * OP_BUFFER_CHUNK_BYTES) / sizeof(struct op_entry_op)) {
			at = write_one(written++);
			farthest = at > farthest ? at : farthest;
		}
		read_all(&read);
		assert_int_equal(read, written);
	}
	assert_true(farthest > OP_BUFFER_RING_BYTES / 2);
}

static void a_full_ring_takes_nothing_and_overwrites_nothing(void **state)
{
	uint64_t written = 0, read = 0;

	while (write_one(written) != NO_ROOM)
		written++;
	assert_in_range(written, (OP_BUFFER_RING_BYTES - 2 * OP_BUFFER_CHUNK_BYTES) / sizeof(struct op_entry_op),
			OP_BUFFER_RING_BYTES / sizeof(struct op_entry_op));
	read_all(&read);
	assert_int_equal(read, written);
}

static void the_reader_is_woken_for_each_part_of_the_ring(void **state)
{
	uint64_t written = 0;

	while (written * sizeof(struct op_entry_op) < 4 * OP_BUFFER_WAKE_BYTES)
		write_one(written++);
	assert_in_range(woken, 3, 4);
}

static void assert_a_line_begins(void)
{
	assert_int_equal(atomic_load(&buffer->tail) % CACHE_LINE, 0);
}

static void write_op(struct op_slot *slot)
{
	struct op_entry_op *entry = op_write_op(buffer, slot);

	assert_non_null(entry);
	op_buffer_commit(buffer, entry->entry.bytes);
}

static void an_op_begins_a_line_of_the_cache_whatever_came_before(void **state)
{
	struct op_slot slot = {.buffer = buffer};
	char text[200] = {0};
	uint64_t hash = 0;
	uint32_t i;

	atomic_store(&buffer->tail, (atomic_load(&buffer->tail) + OP_BUFFER_CHUNK_BYTES) / OP_BUFFER_CHUNK_BYTES *
					    OP_BUFFER_CHUNK_BYTES);
	op_buffers_empty();
	for (i = 1; i <= sizeof(text); i++) {
		assert_true(op_write_name(buffer, ++hash, text, i));
		assert_a_line_begins();
		assert_true(op_write_inputs(buffer, ++hash, i % OP_INPUTS_WORDS));
		assert_a_line_begins();
		slot.facts.handle = i % 2;
		slot.collective.text = i % 3;
		write_op(&slot);
		assert_a_line_begins();
	}
}

/* ---- the clock --------------------------------------------------------------------------------- */

/* Skips the test where a stamp is the clock itself: then there is nothing to convert. */
static bool clock_counts(void)
{
	op_clock_choose();
	op_clock_open();
	if (!op_clock_counts)
		skip();
	return true;
}

static void a_stamp_is_the_clock_to_a_microsecond(void **state)
{
	uint64_t before, stamp, after, ns;

	op_clock_choose();
	op_clock_open();
	before = clock_now_ns();
	stamp = op_clock_stamp();
	after = clock_now_ns();
	op_clock_sample();
	ns = op_clock_ns(stamp);
	assert_in_range(ns, before - 1000, after + 1000);
}

static void a_stamp_between_two_samples_is_set_in_proportion(void **state)
{
	uint64_t stamp, ns;

	clock_counts();
	stamp = op_clock_stamp() + 10ull * SECOND;
	ns = clock_now_ns() + 20ull * SECOND;
	op_clock_add(stamp, ns);
	op_clock_add(stamp + 1000000000u, ns + 500000000u);
	op_clock_add(stamp + 2000000000u, ns + 900000000u); /* the clock was slowed down */
	assert_int_equal(op_clock_ns(stamp), ns);
	assert_in_range(op_clock_ns(stamp + 500000000u), ns + 249999998u, ns + 250000002u);
	assert_in_range(op_clock_ns(stamp + 1500000000u), ns + 699999998u, ns + 700000002u);
	assert_in_range(op_clock_ns(stamp + 2000000000u), ns + 899999998u, ns + 900000002u);
	assert_in_range(op_clock_ns(stamp + 2100000000u), ns + 939999998u, ns + 940000002u);
}

static void what_a_stamp_of_a_second_ago_says_does_not_change(void **state)
{
	const uint64_t step = 3000000u;
	uint64_t stamp, ns, old, said_then, i;

	clock_counts();
	stamp = op_clock_stamp() + 10ull * SECOND;
	ns = clock_now_ns() + 20ull * SECOND;
	op_clock_add(stamp, ns);
	for (i = 1; i < 1000; i++) /* three seconds of samples, with a clock that speeds up and slows down */
		op_clock_add(stamp + i * step, ns + i * step / 3 + i % 7);
	old = stamp + 1000 * step - 6 * step / 2 - 3ull * SECOND / 2;
	said_then = op_clock_ns(old);
	for (i = 1000; i < 1300; i++)
		op_clock_add(stamp + i * step, ns + i * step / 3 + i % 7);
	assert_int_equal(op_clock_ns(old), said_then);
}

static void samples_that_go_back_are_not_taken(void **state)
{
	uint64_t stamp, ns;

	clock_counts();
	stamp = op_clock_stamp() + 10ull * SECOND;
	ns = clock_now_ns() + 20ull * SECOND;
	op_clock_add(stamp, ns);
	op_clock_add(stamp, ns + 1);
	op_clock_add(stamp + 1, ns - 1);
	assert_int_equal(op_clock_ns(stamp), ns);
}

/* As after a suspend to RAM: the counter restarts at 0, and CLOCK_MONOTONIC has stood still. */
static void stamps_from_before_and_behind_a_new_begin_of_the_counter_have_their_times(void **state)
{
	const uint64_t day = 24 * 3600ull * 3 * SECOND;
	uint64_t before, ns, i;

	clock_counts();
	before = op_clock_stamp() + day;
	ns = clock_now_ns() + 20ull * SECOND;
	for (i = 0; i < 100; i++)
		op_clock_add(before + i * 30000000u, ns + i * 10000000u);
	for (i = 0; i < 100; i++)
		op_clock_add(5 + i * 60000000u, ns + SECOND + i * 20000000u);
	assert_in_range(op_clock_ns(5), ns + SECOND - 2, ns + SECOND + 2);
	assert_in_range(op_clock_ns(5 + 31 * 60000000u / 2), ns + SECOND + 309999998u, ns + SECOND + 310000002u);
	assert_in_range(op_clock_ns(5 + 99 * 60000000ull + 3000), ns + SECOND + 1980000998u, ns + SECOND + 1980001002u);
	assert_in_range(op_clock_ns(before + 101 * 15000000u), ns + 504999998u, ns + 505000002u);
}

/* As after a suspend to idle: CLOCK_MONOTONIC has stood still for an hour and the counter has not. */
static void stamps_around_an_hour_in_which_the_clock_stood_still_have_their_times(void **state)
{
	const uint64_t hour = 3600ull * 3 * SECOND;
	uint64_t before, after, ns, i;

	clock_counts();
	before = op_clock_stamp() + 10ull * SECOND;
	ns = clock_now_ns() + 20ull * SECOND;
	for (i = 0; i < 100; i++)
		op_clock_add(before + i * 30000000u, ns + i * 10000000u);
	after = before + 99 * 30000000ull + hour;
	ns += 990000000u;
	for (i = 1; i < 100; i++)
		op_clock_add(after + i * 30000000u, ns + i * 10000000u);
	assert_in_range(op_clock_ns(before + 50 * 30000000ull), ns - 490000002u, ns - 489999998u);
	assert_in_range(op_clock_ns(after + 50 * 30000000ull), ns + 499999998u, ns + 500000002u);
	/* what is between the two samples around the hour lies between their times */
	for (i = 0; i <= 10; i++)
		assert_in_range(op_clock_ns(after - hour + (hour + 30000000u) / 10 * i), ns - 2, ns + 10000002u);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_with_few_ops_takes_little_address_space),
		TEST(a_reader_that_keeps_up_keeps_the_ring_small),
		TEST(a_reader_that_lags_gets_the_whole_ring_in_order),
		TEST(a_full_ring_takes_nothing_and_overwrites_nothing),
		TEST(the_reader_is_woken_for_each_part_of_the_ring),
		TEST(an_op_begins_a_line_of_the_cache_whatever_came_before),
		TEST(a_stamp_is_the_clock_to_a_microsecond),
		TEST(a_stamp_between_two_samples_is_set_in_proportion),
		TEST(what_a_stamp_of_a_second_ago_says_does_not_change),
		TEST(samples_that_go_back_are_not_taken),
		TEST(stamps_from_before_and_behind_a_new_begin_of_the_counter_have_their_times),
		TEST(stamps_around_an_hour_in_which_the_clock_stood_still_have_their_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
