/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What application threads hand over without locks and the agent's thread takes: nothing is lost, nothing comes twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <sys/mman.h>

#include "agent/cupti/buffers.h"
#include "agent/cupti/returns.h"
#include "agent_points.h"

#define WRITERS 4
#define PER_WRITER 100000u
#define SOME 32u /* buffers */

static void *push_many(void *argument)
{
	uint32_t writer = (uint32_t)(uintptr_t)argument, i;

	for (i = 1; i <= PER_WRITER; i++)
		returns_push(&(struct call_return){.corr = i, .tid = writer, .start_ns = i, .end_ns = 2ull * i});
	return NULL;
}

static void writers_at_once_lose_and_mix_nothing(void **state)
{
	uint32_t last[WRITERS] = {0};
	pthread_t threads[WRITERS];
	struct call_return call;
	unsigned got = 0, i;

	assert_true(returns_open());
	returns_reset();
	for (i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, push_many, (void *)(uintptr_t)i), 0);
	while (got + returns_dropped() < WRITERS * PER_WRITER) {
		if (!returns_pop(&call))
			continue;
		assert_in_range(call.tid, 0, WRITERS - 1);
		assert_true(call.corr > last[call.tid]); /* each writer's own order is kept */
		assert_int_equal(call.end_ns, 2ull * call.corr);
		last[call.tid] = call.corr;
		got++;
	}
	for (i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(got + returns_dropped(), WRITERS * PER_WRITER);
	assert_false(returns_pop(&call));
}

static void a_full_queue_counts_what_it_does_not_keep(void **state)
{
	struct call_return call = {0};
	uint32_t i;

	returns_reset();
	for (i = 0; i < RETURNS_MAX + 10; i++) {
		call.corr = i;
		returns_push(&call);
	}
	assert_int_equal(returns_dropped(), 10);
	for (i = 0; i < RETURNS_MAX; i++) {
		assert_true(returns_pop(&call));
		assert_int_equal(call.corr, i);
	}
	assert_false(returns_pop(&call));
	returns_push(&call);
	assert_true(returns_pop(&call));
}

static void a_writer_that_is_late_comes_back(void **state)
{
	struct call_return call = {0};
	unsigned i;

	returns_reset();
	for (i = 0; i < 100; i++)
		returns_push(&call);
	returns_release();
	returns_push(&call); /* must not spin on a queue that was released */
	assert_int_equal(returns_dropped(), 1);
}

static unsigned parsed;
static size_t parsed_bytes;

static void count_parsed(void *user, uint8_t *buffer, size_t valid)
{
	parsed++;
	parsed_bytes += valid;
	assert_int_equal(buffer[0], 0xab);
}

static void buffers_come_back_clean(void **state)
{
	uint8_t *first, *again, *held[SOME];
	size_t size, records = 1;
	unsigned i, k;

	assert_true(buffers_open());
	buffers_start(true, NULL);
	buffers_request(&first, &size, &records);
	assert_non_null(first);
	assert_int_equal(size, BUFFER_BYTES);
	assert_int_equal(records, 0);
	assert_int_equal((uintptr_t)first % 8, 0);
	assert_int_equal(buffers_held(), 1);
	memset(first, 0xab, size);
	buffers_done(NULL, 0, first, size, 4711);
	buffers_done(NULL, 0, first, size, 4711); /* returned twice: counts once */
	assert_int_equal(buffers_held(), 0);
	parsed = 0, parsed_bytes = 0;
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed, 1);
	assert_int_equal(parsed_bytes, 4711);
	for (i = 0; i < SOME; i++) {
		buffers_request(&again, &size, &records);
		assert_non_null(again);
		for (k = 0; k < i; k++)
			assert_ptr_not_equal(again, held[k]);
		held[i] = again;
		assert_int_equal(again[0] | again[BUFFER_BYTES / 2] | again[BUFFER_BYTES - 1], 0);
	}
	for (i = 0; i < SOME; i++)
		buffers_done(NULL, 0, held[i], size, 0);
	parsed = 0;
	held[0][0] = 0xab;
	for (i = 1; i < SOME; i++)
		held[i][0] = 0xab;
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed, SOME);
}

static void take_all(uint8_t **held, unsigned count)
{
	size_t size, records;
	unsigned i;

	for (i = 0; i < count; i++) {
		buffers_request(&held[i], &size, &records);
		assert_non_null(held[i]);
		held[i][0] = 0xab;
	}
}

static unsigned calls_of_scarce;

static void note_scarce(void)
{
	calls_of_scarce++;
}

static void an_empty_pool_refuses_where_cupti_allows_it(void **state)
{
	static uint8_t *held[BUFFERS_MAX];
	uint8_t *none = (uint8_t *)1, *discard;
	size_t size = 1, records;
	unsigned i;

	buffers_start(true, note_scarce);
	calls_of_scarce = 0;
	assert_false(buffers_scarce());
	take_all(held, BUFFERS_MAX);
	assert_true(buffers_scarce());
	assert_int_equal(calls_of_scarce, 4); /* long before it is empty */
	assert_int_equal(buffers_held(), BUFFERS_MAX);
	buffers_request(&none, &size, &records);
	assert_null(none);
	assert_int_equal(size, 0);
	assert_int_equal(buffers_refused(), 1);

	buffers_start(false, NULL); /* before API 27 a refusal crashes CUPTI */
	buffers_request(&discard, &size, &records);
	assert_non_null(discard);
	assert_int_equal(size, BUFFER_BYTES);
	discard[BUFFER_BYTES - 1] = 1;
	assert_int_equal(buffers_refused(), 1);
	buffers_done(NULL, 0, discard, size, size); /* its content is discarded */
	parsed = 0;
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed, 0);
	for (i = 0; i < BUFFERS_MAX; i++)
		buffers_done(NULL, 0, held[i], size, 8);
	assert_true(buffers_scarce()); /* not parsed yet */
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed, BUFFERS_MAX);
	assert_false(buffers_scarce());
	buffers_release();
}

/* The number of pages of these buffers that are in memory. */
static unsigned count_resident(uint8_t **buffers, unsigned count)
{
	unsigned char pages[BUFFER_BYTES / 4096];
	unsigned found = 0, i, page;

	for (i = 0; i < count; i++) {
		assert_int_equal(mincore(buffers[i], BUFFER_BYTES, pages), 0);
		for (page = 0; page < BUFFER_BYTES / 4096; page++)
			found += pages[page] & 1;
	}
	return found;
}

static void memory_that_is_not_needed_any_more_goes_back(void **state)
{
	static uint8_t *held[1024];
	unsigned i;

	buffers_start(true, NULL);
	take_all(held, 1024);
	assert_true(count_resident(held, 1024) >= 1024);
	for (i = SOME; i < 1024; i++)
		buffers_done(NULL, 0, held[i], BUFFER_BYTES, 8);
	buffers_take(count_parsed, NULL);
	buffers_trim();
	buffers_trim();
	assert_true(count_resident(held + 64, 1024 - 64) > 0); /* in use a moment ago */
	buffers_trim();
	assert_int_equal(count_resident(held + 64, 1024 - 64), 0);
	assert_true(count_resident(held, SOME) >= SOME); /* held by CUPTI */
	assert_int_equal(held[0][0], 0xab);
	for (i = 0; i < SOME; i++)
		buffers_done(NULL, 0, held[i], BUFFER_BYTES, 8);
	parsed = 0;
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed, SOME);
	buffers_release();
	assert_int_equal(count_resident(held, 1024), 0);
}

static void after_the_end_nothing_is_handed_out(void **state)
{
	size_t size, records;
	uint8_t *buffer;

	buffers_start(true, NULL);
	buffers_stop();
	buffers_request(&buffer, &size, &records);
	assert_null(buffer);
	assert_int_equal(buffers_refused(), 0); /* after the end this is no refusal */
}

static void *request_buffers(void *unused)
{
	size_t size, records;
	uint8_t *buffer;
	unsigned i;

	for (i = 0; i < 20000; i++) {
		buffers_request(&buffer, &size, &records);
		if (!buffer)
			continue;
		buffer[0] = 0xab;
		buffers_done(NULL, 0, buffer, size, 1);
	}
	return unused;
}

static void threads_may_ask_and_give_back_at_once(void **state)
{
	pthread_t threads[3];
	uint64_t asked;
	unsigned i;

	buffers_start(true, NULL);
	parsed = 0, parsed_bytes = 0;
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, request_buffers, NULL), 0);
	for (asked = 0; asked < 3000; asked++)
		buffers_take(count_parsed, NULL);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	buffers_take(count_parsed, NULL);
	assert_int_equal(parsed + buffers_refused(), 3 * 20000);
	assert_int_equal(buffers_held(), 0);
	assert_false(buffers_in_callback());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writers_at_once_lose_and_mix_nothing),
		cmocka_unit_test(a_full_queue_counts_what_it_does_not_keep),
		cmocka_unit_test(a_writer_that_is_late_comes_back),
		cmocka_unit_test(buffers_come_back_clean),
		cmocka_unit_test(an_empty_pool_refuses_where_cupti_allows_it),
		cmocka_unit_test(memory_that_is_not_needed_any_more_goes_back),
		cmocka_unit_test(after_the_end_nothing_is_handed_out),
		cmocka_unit_test(threads_may_ask_and_give_back_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
