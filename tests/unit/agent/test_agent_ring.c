/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that reserves room is kept from a processor between its two looks at the ring, while other threads write
 * and the collector reads: a page of the ring cannot be read until a handler of signals has done that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/share/ring.h"
#include "agent_points.h"

#define BYTES (64u << 10)

static struct own_ring *ring;
static uint64_t produced, consumed; /* what others do meanwhile */

static void others_go_on(int number)
{
	mprotect(&ring->shared, sizeof(ring->shared), PROT_READ | PROT_WRITE);
	ring->shared.writer.produced = produced;
	ring->shared.reader.consumed = consumed;
}

static int set_up(void **state)
{
	ring = mmap(NULL, sizeof(*ring) + 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(ring, MAP_FAILED);
	ring->bytes = BYTES;
	ring_open(ring);
	return 0;
}

static int tear_down(void **state)
{
	ring_forget();
	return munmap(ring, sizeof(*ring) + 2 * BYTES);
}

/* Whoever reads the page next waits until others have written and read up to there. */
static void stop_at(void *page, uint64_t produced_then, uint64_t consumed_then)
{
	produced = produced_then;
	consumed = consumed_then;
	signal(SIGSEGV, others_go_on);
	assert_int_equal(mprotect(page, GPT_SHARE_PAGE, PROT_NONE), 0);
}

static void *readers_page(void)
{
	return ring->shared.reader_page;
}

static void a_record_finds_room_though_others_wrote_and_were_read_meanwhile(void **state)
{
	uint8_t *record;

	stop_at(readers_page(), 4096, 4096);
	record = ring_reserve(64);
	assert_ptr_equal(record, ring->shared.data + 4096 + sizeof(struct gpt_share_head));
	assert_int_equal(ring->shared.writer.produced, 4096 + sizeof(struct gpt_share_head) + 64);
}

static void a_ring_that_others_filled_meanwhile_has_no_room(void **state)
{
	stop_at(readers_page(), 4096 + BYTES - 32, 4096);
	assert_null(ring_reserve(64));
}

static void a_ring_whose_collector_has_read_more_than_was_written_has_no_room(void **state)
{
	stop_at(readers_page(), 0, 4096);
	assert_null(ring_reserve(64));
	assert_false(ring_is_nearly_full());
}

static void a_ring_is_not_nearly_full_though_others_wrote_and_were_read_meanwhile(void **state)
{
	stop_at(readers_page(), 1u << 20, 1u << 20);
	assert_false(ring_is_nearly_full());
	stop_at(ring->shared.writer_page, 2u << 20, 2u << 20);
	assert_false(ring_is_nearly_full());
	ring->shared.writer.produced += BYTES - 64;
	assert_true(ring_is_nearly_full());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_record_finds_room_though_others_wrote_and_were_read_meanwhile, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_ring_that_others_filled_meanwhile_has_no_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_ring_whose_collector_has_read_more_than_was_written_has_no_room,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_ring_is_not_nearly_full_though_others_wrote_and_were_read_meanwhile,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
