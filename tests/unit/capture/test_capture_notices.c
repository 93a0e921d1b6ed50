/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The queue from the thread that drains to the thread that attaches: order, bounds, and that no reader sleeps too long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "capture/notices.h"

#define COPY_BYTES (512u << 10)
#define MANY 20000u

static struct notices *notices;

static int begin_test(void **state)
{
	notices = notices_new();
	return notices ? 0 : -1;
}

static int end_test(void **state)
{
	notices_free(notices);
	return 0;
}

static void put_fork(uint32_t pid)
{
	struct gpt_process_event event = {.hdr = {.size = sizeof(event), .type = GPT_FORK}, .pid = pid};

	notices_put(notices, &event.hdr);
}

static void put_mapped(uint32_t pid, uint16_t flags)
{
	struct gpt_mapped event = {.hdr = {.size = sizeof(event), .type = GPT_MAPPED, .flags = flags}, .pid = pid};

	notices_put(notices, &event.hdr);
}

static void put_buffer(void)
{
	struct gpt_cupti_done *done = calloc(1, sizeof(*done) + COPY_BYTES);

	done->hdr = (struct gpt_record){.size = sizeof(*done) + COPY_BYTES, .type = GPT_CUPTI_DONE};
	done->bytes = done->copied = COPY_BYTES;
	memset(done->data, 0x5a, COPY_BYTES);
	notices_put(notices, &done->hdr);
	free(done);
}

static uint64_t batches_refused;

static uint64_t count_refused(void)
{
	return notices_refused(notices, &batches_refused);
}

static bool is_readable(void)
{
	struct pollfd fd = {.fd = notices_fd(notices), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

/* pid of the next GPT_FORK or GPT_MAPPED, 0: nothing there. */
static uint32_t next_pid(void)
{
	const struct gpt_record *record = notices_take(notices);
	uint32_t pid = 0;

	if (record && record->type == GPT_FORK)
		pid = ((const struct gpt_process_event *)record)->pid;
	else if (record)
		pid = ((const struct gpt_mapped *)record)->pid;
	notices_done(record);
	return pid;
}

static void records_come_out_as_they_went_in(void **state)
{
	put_fork(1);
	put_mapped(2, 0);
	put_fork(3);
	assert_int_equal(next_pid(), 1);
	assert_int_equal(next_pid(), 2);
	assert_int_equal(next_pid(), 3);
	assert_int_equal(next_pid(), 0);
}

static void it_is_readable_while_something_is_there(void **state)
{
	assert_false(is_readable());
	put_fork(1);
	put_fork(2);
	assert_true(is_readable());
	next_pid();
	assert_true(is_readable());
	next_pid();
	next_pid();
	assert_false(is_readable());
	put_fork(3);
	assert_true(is_readable());
}

static void a_mapping_that_waits_already_is_not_said_twice(void **state)
{
	put_mapped(1, 0);
	put_mapped(1, 0);
	put_mapped(2, 0);
	put_mapped(1, 0);
	put_mapped(1, GPT_MAPPED_STOPPED);
	assert_int_equal(next_pid(), 1);
	assert_int_equal(next_pid(), 2);
	assert_int_equal(next_pid(), 1);
	assert_int_equal(next_pid(), 1);
	assert_int_equal(next_pid(), 0);
}

static void what_does_not_fit_is_counted_once(void **state)
{
	unsigned put = 2 * NOTICES_PLAIN_MAX / sizeof(struct gpt_process_event), taken = 0;

	for (unsigned i = 0; i < put; i++)
		put_fork(i + 1);
	while (next_pid() == taken + 1)
		taken++;
	assert_true(taken > put / 4 && taken < put);
	assert_int_equal(count_refused(), put - taken);
	assert_int_equal(count_refused(), 0);
}

static void all_of_it_can_be_bounded(void **state)
{
	const unsigned put = 1 << 20, record = sizeof(struct gpt_process_event);
	unsigned taken = 0;

	notices_bound(notices, put);
	for (unsigned i = 0; i < put / record; i++)
		put_fork(i + 1);
	while (next_pid() == taken + 1)
		taken++;
	assert_true(taken && taken < put / record / 4); /* most is for copies of buffers */
	assert_int_equal(count_refused(), put / record - taken);
}

static void a_process_that_is_held_is_always_heard_of(void **state)
{
	uint32_t last = 0, pid;

	while (!count_refused())
		put_fork(1);
	put_mapped(4711, GPT_MAPPED_STOPPED);
	while ((pid = next_pid()))
		last = pid;
	assert_int_equal(last, 4711);
}

static void beyond_the_bound_a_buffer_goes_without_its_copy(void **state)
{
	unsigned copied = 0, bare = 0, put = 2 * NOTICES_BULK_MAX / COPY_BYTES;
	const struct gpt_record *record;

	for (unsigned i = 0; i < put; i++)
		put_buffer();
	while ((record = notices_take(notices))) {
		const struct gpt_cupti_done *done = (const struct gpt_cupti_done *)record;

		assert_int_equal(done->bytes, COPY_BYTES);
		copied += done->copied == COPY_BYTES && record->size == sizeof(*done) + COPY_BYTES &&
			  done->data[COPY_BYTES - 1] == 0x5a;
		bare += done->copied == 0 && record->size == sizeof(*done);
		notices_done(record);
	}
	assert_int_equal(copied + bare, put);
	assert_true(copied > put / 4 && bare > put / 4);
	assert_int_equal(count_refused(), 0);
}

static void put_batch(uint32_t uid, uint32_t pid)
{
	struct gpt_agent_batch batch = {
		.hdr = {.size = sizeof(batch), .type = GPT_AGENT_BATCH}, .pid = pid, .error_ns = uid};

	notices_put(notices, &batch.hdr);
}

static void fill_part_of(uint32_t uid)
{
	do
		put_batch(uid, 1);
	while (!count_refused() && !batches_refused);
}

/* A flood of one user's batches takes room neither from the others' nor from what the kernel says of processes. */
static void each_user_s_batches_have_a_part_that_the_others_cannot_fill(void **state)
{
	unsigned of_first = 0, of_second = 0, events = 0;
	const struct gpt_record *record;

	fill_part_of(1001);
	put_fork(7);
	put_batch(1002, 2);
	assert_int_equal(count_refused(), 0);
	assert_int_equal(batches_refused, 0);
	while ((record = notices_take(notices))) {
		events += record->type == GPT_FORK;
		if (record->type == GPT_AGENT_BATCH)
			++*(((const struct gpt_agent_batch *)record)->pid == 1 ? &of_first : &of_second);
		notices_done(record);
	}
	assert_true(of_first > 1000);
	assert_int_equal(of_second, 1);
	assert_int_equal(events, 1);
}

static void a_user_s_part_is_free_again_once_its_batches_are_taken(void **state)
{
	fill_part_of(1001);
	assert_int_equal(count_refused(), 0);
	for (const struct gpt_record *record; (record = notices_take(notices)); notices_done(record))
		;
	put_batch(1001, 1);
	assert_int_equal(count_refused(), 0);
	assert_int_equal(batches_refused, 0);
}

static void *put_many(void *unused)
{
	for (uint32_t i = 1; i <= MANY; i++)
		put_fork(i);
	return NULL;
}

static void one_who_sleeps_until_it_is_readable_misses_nothing(void **state)
{
	struct pollfd fd = {.fd = notices_fd(notices), .events = POLLIN};
	uint32_t seen = 0, pid;
	pthread_t other;

	pthread_create(&other, NULL, put_many, NULL);
	while (seen < MANY && poll(&fd, 1, 30000) == 1)
		while ((pid = next_pid()))
			assert_int_equal(pid, ++seen);
	pthread_join(other, NULL);
	assert_int_equal(seen, MANY);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, begin_test, end_test)

int main(void)
{
	const struct CMUnitTest tests[] = {
		behaviour(records_come_out_as_they_went_in),
		behaviour(it_is_readable_while_something_is_there),
		behaviour(a_mapping_that_waits_already_is_not_said_twice),
		behaviour(what_does_not_fit_is_counted_once),
		behaviour(all_of_it_can_be_bounded),
		behaviour(a_process_that_is_held_is_always_heard_of),
		behaviour(beyond_the_bound_a_buffer_goes_without_its_copy),
		behaviour(each_user_s_batches_have_a_part_that_the_others_cannot_fill),
		behaviour(a_user_s_part_is_free_again_once_its_batches_are_taken),
		behaviour(one_who_sleeps_until_it_is_readable_misses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
