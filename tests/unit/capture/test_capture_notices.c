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

static int begin(void **state)
{
	notices = notices_new();
	return notices ? 0 : -1;
}

static int end(void **state)
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

static bool readable(void)
{
	struct pollfd fd = {.fd = notices_fd(notices), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

/* pid of the next GPT_FORK or GPT_MAPPED, 0: nothing there. */
static uint32_t next(void)
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
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_int_equal(next(), 3);
	assert_int_equal(next(), 0);
}

static void it_is_readable_while_something_is_there(void **state)
{
	assert_false(readable());
	put_fork(1);
	put_fork(2);
	assert_true(readable());
	next();
	assert_true(readable());
	next();
	next();
	assert_false(readable());
	put_fork(3);
	assert_true(readable());
}

static void a_mapping_that_waits_already_is_not_said_twice(void **state)
{
	put_mapped(1, 0);
	put_mapped(1, 0);
	put_mapped(2, 0);
	put_mapped(1, 0);
	put_mapped(1, GPT_MAPPED_STOPPED);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 2);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 1);
	assert_int_equal(next(), 0);
}

static void what_does_not_fit_is_counted_once(void **state)
{
	unsigned put = 2 * NOTICES_PLAIN_MAX / sizeof(struct gpt_process_event), taken = 0;

	for (unsigned i = 0; i < put; i++)
		put_fork(i + 1);
	while (next() == taken + 1)
		taken++;
	assert_true(taken > put / 4 && taken < put);
	assert_int_equal(notices_refused(notices), put - taken);
	assert_int_equal(notices_refused(notices), 0);
}

static void a_process_that_is_held_is_always_heard_of(void **state)
{
	uint32_t last = 0, pid;

	while (!notices_refused(notices))
		put_fork(1);
	put_mapped(4711, GPT_MAPPED_STOPPED);
	while ((pid = next()))
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
	assert_int_equal(notices_refused(notices), 0);
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
		while ((pid = next()))
			assert_int_equal(pid, ++seen);
	pthread_join(other, NULL);
	assert_int_equal(seen, MANY);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		behaviour(records_come_out_as_they_went_in),
		behaviour(it_is_readable_while_something_is_there),
		behaviour(a_mapping_that_waits_already_is_not_said_twice),
		behaviour(what_does_not_fit_is_counted_once),
		behaviour(a_process_that_is_held_is_always_heard_of),
		behaviour(beyond_the_bound_a_buffer_goes_without_its_copy),
		behaviour(one_who_sleeps_until_it_is_readable_misses_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
