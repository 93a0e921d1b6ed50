/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The consumer over a real BPF ring buffer, fed by a small BPF program that the tests run themselves.  Needs the right
 * to load a program; without it every test says so and counts as skipped.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "capture/ring.h"

#define RING_BYTES (256u << 10)

/* The size of the records in one test; the kernel puts 8 bytes before each. */
#define SENT_BYTES 32u
#define SLOT_BYTES (SENT_BYTES + 8u)

static int map = -1;

struct seen {
	unsigned records;
	uint32_t size;
	uint16_t type;
	unsigned feed; /* records still to send, one for each that is seen */
	int program;
};

#define INSN(c, dst, src, offset, immediate)                                                                           \
	((struct bpf_insn){.code = (c), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (immediate)})

/* bpf_ringbuf_output(map, 32 bytes of stack that begin with a struct gpt_record, 32, BPF_RB_NO_WAKEUP) */
static int load_sender(uint32_t record_size, uint16_t type)
{
	const struct bpf_insn program[] = {
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -32, (int32_t)record_size),
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -28, type),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -24, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -16, 0),
		INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, -8, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0),
		INSN(BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -32),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, SENT_BYTES),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_4, 0, 0, BPF_RB_NO_WAKEUP),
		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output),
		INSN(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "sender", "GPL", program,
			     sizeof(program) / sizeof(program[0]), NULL);
}

static void send_records(int program, unsigned count)
{
	char packet[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = (int)count);

	assert_int_equal(bpf_prog_test_run_opts(program, &options), 0);
}

static void see_record(void *context, const struct gpt_record *record)
{
	struct seen *seen = context;

	seen->records++;
	seen->size = record->size;
	seen->type = record->type;
	if (seen->feed) {
		seen->feed--;
		send_records(seen->program, 1);
	}
}

static int open_map(void **state)
{
	map = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "ring", 0, 0, RING_BYTES, NULL);
	return 0;
}

static int close_map(void **state)
{
	if (map >= 0)
		close(map);
	map = -1;
	return 0;
}

static struct ring *open_ring(struct seen *seen)
{
	struct ring *ring = NULL;

	if (map < 0) {
		print_message("no right to create a BPF ring buffer: run as root\n");
		skip();
	}
	assert_int_equal(ring_open(map, see_record, seen, &ring), 0);
	return ring;
}

static void every_record_is_handed_over_once(void **state)
{
	struct seen seen = {0};
	struct ring *ring = open_ring(&seen);
	int program = load_sender(SENT_BYTES, GPT_CALL);

	assert_int_equal(ring_consume(ring), 0);
	send_records(program, 1000);
	assert_int_equal(ring_consume(ring), 1000 * SLOT_BYTES);
	assert_int_equal(seen.records, 1000);
	assert_int_equal(seen.size, SENT_BYTES);
	assert_int_equal(seen.type, GPT_CALL);
	assert_int_equal(ring_consume(ring), 0);
	close(program);
	ring_close(ring);
}

static void the_highest_fill_is_remembered(void **state)
{
	struct seen seen = {0};
	struct ring *ring = open_ring(&seen);
	int program = load_sender(SENT_BYTES, GPT_CALL);

	send_records(program, 10);
	ring_consume(ring);
	send_records(program, 500);
	ring_consume(ring);
	send_records(program, 20);
	ring_consume(ring);
	assert_int_equal(ring_bytes_max(ring), 500 * SLOT_BYTES);
	assert_int_equal(ring_bytes(ring), RING_BYTES);
	close(program);
	ring_close(ring);
}

static void a_producer_that_never_rests_does_not_hold_the_consumer(void **state)
{
	struct seen seen = {.feed = 100};
	struct ring *ring = open_ring(&seen);

	seen.program = load_sender(SENT_BYTES, GPT_CALL);
	send_records(seen.program, 10);
	assert_int_equal(ring_consume(ring), 10 * SLOT_BYTES);
	assert_int_equal(seen.records, 10);
	while (ring_consume(ring) > 0)
		;
	assert_int_equal(seen.records, 110);
	close(seen.program);
	ring_close(ring);
}

static void a_record_shorter_than_what_was_sent_is_taken_as_it_says(void **state)
{
	struct seen seen = {0};
	struct ring *ring = open_ring(&seen);
	int program = load_sender(16, GPT_AGENT_BATCH);

	send_records(program, 3);
	ring_consume(ring);
	assert_int_equal(seen.records, 3);
	assert_int_equal(seen.size, 16);
	close(program);
	ring_close(ring);
}

static void records_of_impossible_size_are_counted_and_dropped(void **state)
{
	static const uint32_t sizes[] = {0, 7, 12, SENT_BYTES + 8, UINT32_MAX};
	struct seen seen = {0};
	struct ring *ring = open_ring(&seen);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int program = load_sender(sizes[i], GPT_CALL);

		send_records(program, 2);
		close(program);
	}
	ring_consume(ring);
	assert_int_equal(seen.records, 0);
	assert_int_equal(ring_malformed(ring), 2 * sizeof(sizes) / sizeof(sizes[0]));
	ring_close(ring);
}

#define ring_test(name) cmocka_unit_test_setup_teardown(name, open_map, close_map)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ring_test(every_record_is_handed_over_once),
		ring_test(the_highest_fill_is_remembered),
		ring_test(a_producer_that_never_rests_does_not_hold_the_consumer),
		ring_test(a_record_shorter_than_what_was_sent_is_taken_as_it_says),
		ring_test(records_of_impossible_size_are_counted_and_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
