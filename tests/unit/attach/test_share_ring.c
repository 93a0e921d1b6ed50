/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ring whose other side is hostile: lies are refused, and valid records come out as they went in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attach/share/share_ring.h"

#define BYTES 65536u
#define PID 4711u

struct taken {
	unsigned count;
	uint64_t corr; /* of the last call; sum: of all calls */
	uint64_t sum;
	uint32_t pid;
};

static _Alignas(8) uint8_t room[GPT_RECORD_MAX];

static void take_record(void *context, const struct gpt_record *record)
{
	const struct gpt_call *call = (const struct gpt_call *)record;
	struct taken *taken = context;

	taken->count++;
	taken->corr = call->corr;
	taken->sum += call->corr;
	taken->pid = call->pid;
}

static struct share_ring opened_ring(void)
{
	struct share_ring ring;

	assert_int_equal(share_ring_open(BYTES, &ring), 0);
	return ring;
}

static uint64_t consume_ring(struct share_ring *ring, bool over, struct taken *taken)
{
	*taken = (struct taken){0};
	return share_ring_consume(ring, PID, over, room, take_record, taken);
}

/* As the agent writes it (agent/share/ring.c), except for the flags. */
static void *put_record(struct share_ring *ring, uint32_t bytes, uint32_t flags)
{
	uint64_t at = ring->shared->writer.produced;
	struct gpt_share_head head = {.bytes = bytes, .flags = flags};
	uint8_t *place = ring->shared->data + (at & (BYTES - 1));

	memcpy(place, &head, sizeof(head)); /* a head that lies need not be aligned */
	ring->shared->writer.produced = at + sizeof(head) + gpt_padded(bytes);
	return place + sizeof(head);
}

static void put_call(struct share_ring *ring, uint32_t corr)
{
	const struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}, .pid = 1, .corr = corr};

	memcpy(put_record(ring, sizeof(call), GPT_SHARE_SET), &call, sizeof(call));
}

static void records_come_out_as_they_went_in_round_and_round(void **state)
{
	struct share_ring ring = opened_ring();
	struct taken taken;

	for (uint32_t i = 1; i < 5000; i++) {
		put_call(&ring, i);
		put_call(&ring, i * 3);
		assert_int_equal(consume_ring(&ring, false, &taken), 2 * (sizeof(struct gpt_call) + 8));
		assert_int_equal(taken.count, 2);
		assert_int_equal(taken.sum, i * 4);
		assert_int_equal(taken.pid, PID); /* whatever the record says */
	}
	assert_int_equal(ring.malformed, 0);
	assert_int_equal(ring.shared->reader.consumed, ring.shared->writer.produced);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(ring.shared->data[i], 0);
	share_ring_close(&ring);
}

static void what_is_being_written_is_waited_for_until_the_process_is_over(void **state)
{
	struct share_ring ring = opened_ring();
	struct gpt_share_head *head;
	struct taken taken;

	put_call(&ring, 1);
	head = (struct gpt_share_head *)put_record(&ring, sizeof(struct gpt_call), GPT_SHARE_SET | GPT_SHARE_BUSY) - 1;
	ring.shared->writer.produced += 56; /* a thread that was killed before it wrote its head */
	put_call(&ring, 7);
	assert_true(consume_ring(&ring, false, &taken) > 0 && taken.count == 1 && taken.corr == 1);
	assert_int_equal(consume_ring(&ring, false, &taken), 0);
	assert_true(head->flags & GPT_SHARE_BUSY);
	assert_true(consume_ring(&ring, true, &taken) > 0 && taken.count == 1 && taken.corr == 7);
	assert_int_equal(ring.malformed, 1);
	share_ring_close(&ring);
}

static void what_was_discarded_is_none(void **state)
{
	struct share_ring ring = opened_ring();
	struct taken taken;

	put_record(&ring, 512, GPT_SHARE_SET | GPT_SHARE_DISCARD);
	put_call(&ring, 2);
	assert_true(consume_ring(&ring, false, &taken) > 0 && taken.count == 1 && taken.corr == 2);
	assert_int_equal(ring.malformed, 0);
	share_ring_close(&ring);
}

/* Lies in the positions and in the head. */
static void a_lie_ends_the_ring(void **state)
{
	static const struct {
		uint64_t produced;
		uint32_t bytes, flags;
	} lies[] = {
		{BYTES + 8, 48, GPT_SHARE_SET},
		{UINT64_MAX - 7, 48, GPT_SHARE_SET},
		{60, 48, GPT_SHARE_SET},
		{56, 56, GPT_SHARE_SET},
		{56, 0, GPT_SHARE_SET},
		{56, UINT32_MAX, GPT_SHARE_SET},
		{56, 48, 0x100},
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct share_ring ring = opened_ring();
		struct taken taken;

		put_record(&ring, lies[i].bytes, lies[i].flags);
		ring.shared->writer.produced = lies[i].produced;
		assert_int_equal(consume_ring(&ring, false, &taken), 0);
		assert_int_equal(taken.count, 0);
		assert_true(ring.broken && ring.malformed == 1);
		put_call(&ring, 1);
		assert_int_equal(consume_ring(&ring, true, &taken), 0);
		share_ring_close(&ring);
	}
}

static void a_record_that_cannot_be_is_counted_and_the_next_one_taken(void **state)
{
	static const struct gpt_record lies[] = {
		{.size = 56, .type = GPT_CALL}, {.size = 40, .type = GPT_CALL}, {.size = 47, .type = GPT_CALL},
		{.size = 0, .type = GPT_CALL},	{.size = 48, .type = GPT_NOTE}, {.size = 48, .type = GPT_END},
		{.size = 48, .type = 0},	{.size = 48, .type = 65535},	{.size = 48, .type = GPT_EXIT},
	};

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		struct share_ring ring = opened_ring();
		struct taken taken;

		*(struct gpt_record *)put_record(&ring, sizeof(struct gpt_call), GPT_SHARE_SET) = lies[i];
		put_call(&ring, 5);
		assert_true(consume_ring(&ring, false, &taken) > 0);
		assert_true(taken.count == 1 && taken.corr == 5);
		assert_int_equal(ring.malformed, 1);
		share_ring_close(&ring);
	}
}

/* Any bytes at all: reading them ends, and takes nothing that is not a whole record. */
static void a_ring_of_random_bytes_is_survived(void **state)
{
	srandom(20261126);
	for (unsigned i = 0; i < 3000; i++) {
		struct share_ring ring = opened_ring();
		struct taken taken;
		uint32_t *words = (uint32_t *)ring.shared->data;

		for (unsigned j = 0; j < 2048; j++)
			words[j] = random() % 3 ? (uint32_t)random() % 64 : (uint32_t)random();
		ring.shared->writer.produced = (uint64_t)(random() % 1100) * 8;
		for (unsigned j = 0; j < 4; j++)
			consume_ring(&ring, j > 1, &taken);
		share_ring_close(&ring);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_out_as_they_went_in_round_and_round),
		cmocka_unit_test(what_is_being_written_is_waited_for_until_the_process_is_over),
		cmocka_unit_test(what_was_discarded_is_none),
		cmocka_unit_test(a_lie_ends_the_ring),
		cmocka_unit_test(a_record_that_cannot_be_is_counted_and_the_next_one_taken),
		cmocka_unit_test(a_ring_of_random_bytes_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
