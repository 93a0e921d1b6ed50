/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ranks that come late and processes that hang are seen in records, and what only seems so is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>
#include <gputrace/nccl.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "capture/live_collectives.h"
#include "capture/live_hangs.h"
#include "capture/trigger.h"

#define MS 1000000ull
#define SECOND_NS 1000000000ull
#define PID 41230
#define COMM 77

#define SYNC GPT_API(GPT_DOMAIN_RUNTIME, 131)	/* cudaStreamSynchronize */
#define LAUNCH GPT_API(GPT_DOMAIN_RUNTIME, 211) /* cudaLaunchKernel */

/* ---- records, as the drain has them ------------------------------------------------------------------------------ */

static void show_call(struct trigger *trigger, uint32_t pid, uint32_t tid, uint32_t corr, uint16_t api, uint64_t now_ns)
{
	struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL},
				.time_ns = now_ns,
				.pid = pid,
				.tid = tid,
				.corr = corr,
				.api = api};

	trigger_see(trigger, &call.hdr, now_ns);
}

static void show_in_batch(struct trigger *trigger, uint32_t pid, const struct gpt_record *record, uint64_t now_ns)
{
	union {
		struct gpt_agent_batch batch;
		uint8_t bytes[sizeof(struct gpt_agent_batch) + 256];
	} of = {.batch = {.hdr = {.size = (uint32_t)(sizeof(of.batch) + record->size),
				  .type = GPT_AGENT_BATCH,
				  .flags = GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC},
			  .pid = pid,
			  .bytes = record->size}};

	memcpy(of.batch.data, record, record->size);
	trigger_see(trigger, &of.batch.hdr, now_ns);
}

static void show_return(struct trigger *trigger, uint32_t pid, uint32_t corr, uint64_t now_ns)
{
	const struct gpt_agent_api call = {.hdr = {.size = sizeof(call), .type = GPT_AGENT_API}, .corr = corr};

	show_in_batch(trigger, pid, &call.hdr, now_ns);
}

static void show_kernel(struct trigger *trigger, uint32_t pid, uint32_t corr, uint64_t start_ns, uint64_t now_ns)
{
	const struct gpt_agent_kernel kernel = {.hdr = {.size = sizeof(kernel), .type = GPT_AGENT_KERNEL},
						.start_wall_ns = start_ns,
						.end_wall_ns = start_ns + MS,
						.corr = corr};

	show_in_batch(trigger, pid, &kernel.hdr, now_ns);
}

/* A launch that has returned, and its kernel that has ended. */
static void work(struct trigger *trigger, uint32_t pid, uint32_t tid, uint32_t corr, uint64_t now_ns)
{
	show_call(trigger, pid, tid, corr, LAUNCH, now_ns);
	show_return(trigger, pid, corr, now_ns);
	show_kernel(trigger, pid, corr, now_ns - 2 * MS, now_ns);
}

static bool is_taken(struct trigger *trigger, uint64_t now_ns)
{
	struct trigger_event event;

	return trigger_take(trigger, now_ns, &event);
}

/* ---- hangs ------------------------------------------------------------------------------------------------------- */

static struct trigger *hang_trigger(void)
{
	return trigger_new(&(struct trigger_options){.hang_ns = 30 * SECOND_NS});
}

static void a_call_that_does_not_return_is_a_hang_once_nothing_moves(void **state)
{
	struct trigger *trigger = hang_trigger();
	struct trigger_event event;
	uint32_t pids[4];

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	assert_false(is_taken(trigger, 35 * SECOND_NS + 1)); /* not for that long */
	show_call(trigger, PID, 8, 3, LAUNCH, 36 * SECOND_NS);
	show_return(trigger, PID, 3, 36 * SECOND_NS);
	assert_false(is_taken(trigger, 65 * SECOND_NS)); /* another thread has launched */
	assert_true(trigger_take(trigger, 67 * SECOND_NS, &event));
	assert_int_equal(event.kind, TRIGGER_HANG);
	assert_string_equal(event.why, "pid 41230 hangs for 31.0 s, in cudaStreamSynchronize");
	assert_int_equal(event.from_ns, 36 * SECOND_NS);
	assert_int_equal(event.to_ns, 67 * SECOND_NS);
	assert_int_equal(trigger_processes(trigger, pids, 4), 1);
	assert_int_equal(pids[0], PID);
	assert_false(is_taken(trigger, 500 * SECOND_NS)); /* the same one */
	work(trigger, PID, 7, 4, 501 * SECOND_NS);
	show_call(trigger, PID, 7, 5, SYNC, 501 * SECOND_NS);
	assert_true(is_taken(trigger, 540 * SECOND_NS));
	trigger_free(trigger);
}

static void a_program_that_makes_no_call_waits_for_no_gpu(void **state)
{
	struct trigger *trigger = hang_trigger();

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	show_return(trigger, PID, 2, 6 * SECOND_NS);
	assert_false(is_taken(trigger, 500 * SECOND_NS));
	trigger_free(trigger);
}

static void work_that_ends_is_no_hang(void **state)
{
	struct trigger *trigger = hang_trigger();

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	for (uint64_t at = 10; at < 300; at += 10) {
		show_kernel(trigger, PID, 1, (at - 1) * SECOND_NS, at * SECOND_NS);
		assert_false(is_taken(trigger, at * SECOND_NS));
	}
	trigger_free(trigger);
}

/* The record of a call's return is lost: the thread's next call shows that it has returned. */
static void a_later_call_of_a_thread_shows_that_the_one_before_has_returned(void **state)
{
	struct trigger *trigger = hang_trigger();

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	show_call(trigger, PID, 7, 3, SYNC, 7 * SECOND_NS);
	show_return(trigger, PID, 3, 7 * SECOND_NS);
	show_return(trigger, PID, 2, 8 * SECOND_NS);
	assert_false(is_taken(trigger, 500 * SECOND_NS));
	trigger_free(trigger);
}

static void a_process_that_has_ended_does_not_hang(void **state)
{
	struct trigger *trigger = hang_trigger();
	const struct gpt_process_event end = {.hdr = {.size = sizeof(end), .type = GPT_EXIT}, .pid = PID};

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	trigger_see(trigger, &end.hdr, 7 * SECOND_NS);
	assert_false(is_taken(trigger, 500 * SECOND_NS));
	assert_int_equal(trigger_processes(trigger, &(uint32_t){0}, 1), 0);
	trigger_free(trigger);
}

/* The ranks of a job hang together, one second after the other: the first has the file, and its dump has all. */
static void what_hangs_with_another_process_is_the_same_hang(void **state)
{
	struct trigger *trigger = hang_trigger();

	for (uint32_t rank = 0; rank < 8; rank++) {
		work(trigger, PID + rank, 7, 1, (5 + rank) * SECOND_NS);
		show_call(trigger, PID + rank, 7, 2, SYNC, (5 + rank) * SECOND_NS);
	}
	assert_true(is_taken(trigger, 36 * SECOND_NS));
	for (uint64_t at = 37; at < 500; at++)
		assert_false(is_taken(trigger, at * SECOND_NS));
	trigger_free(trigger);
}

/* A hang is found beside other processes with many threads, whose calls fill the tables. */
static void other_processes_calls_do_not_hide_a_hang(void **state)
{
	struct trigger *trigger = hang_trigger();
	struct trigger_event event;
	uint32_t corr = 1;

	work(trigger, PID, 7, 1, 5 * SECOND_NS);
	show_call(trigger, PID, 7, 2, SYNC, 6 * SECOND_NS);
	for (uint64_t at = 7; at < 50; at++)
		for (uint32_t i = 0; i < 20000; i++)
			work(trigger, PID + 1 + i % 10, 100 + i % 100, ++corr, at * SECOND_NS);
	assert_true(trigger_take(trigger, 50 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 hangs for 45.0 s, in cudaStreamSynchronize");
	trigger_free(trigger);
}

/* ---- lateness ---------------------------------------------------------------------------------------------------- */

static struct trigger *late_trigger(void)
{
	return trigger_new(&(struct trigger_options){.late_ns = 100 * MS});
}

/* A rank calls a collective; its kernel begins `after_ms` later than at_ms. */
static void arrive(struct trigger *trigger, int32_t rank, int64_t number, uint64_t at_ms, uint64_t after_ms,
		   struct gpt_nccl call)
{
	uint32_t pid = PID + (uint32_t)rank, corr = (uint32_t)number + 1;

	call.hdr = (struct gpt_record){.size = sizeof(call), .type = GPT_NCCL};
	call.time_ns = at_ms * MS;
	call.comm_id = call.comm_id ? call.comm_id : COMM;
	call.sequence = number;
	call.pid = pid;
	call.tid = pid;
	call.rank = rank;
	call.function = GPT_NCCL_ALL_REDUCE;
	trigger_see(trigger, &call.hdr, at_ms * MS);
	show_call(trigger, pid, pid, corr, LAUNCH, at_ms * MS);
	show_kernel(trigger, pid, corr, (at_ms + after_ms) * MS, (at_ms + after_ms + 100) * MS);
}

#define RANKS(count) ((struct gpt_nccl){.ranks = (count)})

static void the_last_rank_is_late_by_its_distance_from_the_median_one(void **state)
{
	struct trigger *trigger = late_trigger();
	struct trigger_event event;

	assert_non_null(trigger_lacks(trigger));
	arrive(trigger, 0, 0, 1000, 1, RANKS(4));
	arrive(trigger, 3, 0, 1400, 1, RANKS(4)); /* reported before others */
	arrive(trigger, 1, 0, 1010, 1, RANKS(4));
	assert_false(is_taken(trigger, 2 * SECOND_NS));
	arrive(trigger, 2, 0, 1020, 1, RANKS(4));
	assert_true(trigger_take(trigger, 2 * SECOND_NS, &event));
	assert_string_equal(event.why, "rank 3, pid 41233, came 0.390 s after the median rank to allreduce 0");
	assert_int_equal(event.from_ns, 1011 * MS);
	assert_int_equal(event.to_ns, 1401 * MS);
	assert_null(trigger_lacks(trigger));
	for (int32_t rank = 0; rank < 4; rank++)
		arrive(trigger, rank, 1, 3000 + 30 * (uint64_t)rank, 1, RANKS(4)); /* 60 ms after the median one */
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

/* It called in time, and its GPU was behind: gputrace merge has it as late, too. */
static void a_rank_comes_when_its_kernel_begins(void **state)
{
	struct trigger *trigger = late_trigger();

	arrive(trigger, 0, 0, 1000, 1, RANKS(2));
	arrive(trigger, 1, 0, 1000, 200, RANKS(2));
	assert_true(is_taken(trigger, 2 * SECOND_NS));
	arrive(trigger, 1, 1, 3000, 1, RANKS(2));
	arrive(trigger, 0, 1, 3200, 1, RANKS(2));
	assert_true(is_taken(trigger, 4 * SECOND_NS));
	trigger_free(trigger);
}

/* Of a job on several machines only the ranks of this one are known, once they have been seen. */
static void ranks_of_other_machines_are_not_waited_for(void **state)
{
	struct trigger *trigger = late_trigger();

	for (int64_t number = 0; number < 10; number++) {
		uint64_t at_ms = 1000 + 1000 * (uint64_t)number;

		arrive(trigger, 4, number, at_ms, 1, RANKS(64));
		arrive(trigger, 5, number, at_ms + 300, 1, RANKS(64));
		assert_int_equal(is_taken(trigger, (at_ms + 500) * MS), number >= (int64_t)LIVE_LEARNED);
	}
	trigger_free(trigger);
}

/* Sends and receives, communicators without a name, ranks without a number, and a clock that was set. */
static void what_cannot_be_compared_is_not(void **state)
{
	static const struct gpt_nccl calls[] = {
		{.ranks = 2, .pairs = 1}, {.ranks = 2, .comm_id = 1}, {.ranks = 2}, {.ranks = 2}};
	struct trigger *trigger = late_trigger();

	arrive(trigger, 0, 0, 1000, 1, calls[0]);
	arrive(trigger, 1, 0, 1400, 1, calls[0]);
	arrive(trigger, 0, 1, 1000, 1, calls[1]);
	arrive(trigger, 1, 2, 1400, 1, calls[1]);
	arrive(trigger, 0, -1, 1000, 1, calls[2]);
	arrive(trigger, 1, -1, 1400, 1, calls[2]);
	arrive(trigger, 0, 3, 100000, 1, calls[3]);
	arrive(trigger, 1, 3, 100400, (uint64_t)-5000, calls[3]); /* it seems to begin before its call */
	assert_false(is_taken(trigger, 200 * SECOND_NS));
	trigger_free(trigger);
}

static void ranks_beyond_the_tables_and_anything_that_is_said_cost_no_more_memory(void **state)
{
	struct trigger *trigger = late_trigger();

	for (int32_t i = 0; i < 100000; i++)
		arrive(trigger, i % 200 - 50, i * 7919ll % 1000 - 10, (uint64_t)i, 1,
		       (struct gpt_nccl){.comm_id = (uint64_t)(i % 311), .ranks = i % 5});
	(void)is_taken(trigger, 200 * SECOND_NS);
	trigger_free(trigger);
}

/* ---- gaps -------------------------------------------------------------------------------------------------------- */

static struct trigger *idle_trigger(void)
{
	return trigger_new(&(struct trigger_options){.idle_ns = 200 * MS});
}

/* Times of work are the wall clock's. */
static void a_wall_clock_that_is_set_makes_no_gap_and_hides_none(void **state)
{
	static const int64_t steps_s[] = {3600, -3600};

	for (unsigned i = 0; i < 2; i++) {
		struct trigger *trigger = idle_trigger();
		uint64_t set_ns = (uint64_t)(10000 + steps_s[i]) * SECOND_NS;

		show_kernel(trigger, PID, 1, 10000 * SECOND_NS, SECOND_NS);
		show_kernel(trigger, PID, 2, set_ns, SECOND_NS + 10 * MS);
		assert_false(is_taken(trigger, 9 * SECOND_NS));
		show_kernel(trigger, PID, 3, set_ns + 300 * MS, 9 * SECOND_NS);
		assert_true(is_taken(trigger, 11 * SECOND_NS));
		trigger_free(trigger);
	}
}

/* It seems to have work for ever, on more GPUs than there are. */
static void a_process_that_lies_hides_no_other_one_s_gap(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct trigger_event event;

	show_kernel(trigger, PID, 1, 1000 * MS, SECOND_NS);
	for (uint32_t device = 0; device < 1000; device++)
		for (unsigned i = 0; i < 2; i++) {
			const struct gpt_agent_kernel kernel = {
				.hdr = {.size = sizeof(kernel), .type = GPT_AGENT_KERNEL},
				.start_wall_ns = (1 + i) * SECOND_NS,
				.end_wall_ns = UINT64_MAX - i,
				.device = device};
			const struct gpt_agent_kernel gap = {.hdr = kernel.hdr,
							     .start_wall_ns = (10 + 10 * i) * SECOND_NS,
							     .end_wall_ns = (10 + 10 * i) * SECOND_NS,
							     .device = device};

			show_in_batch(trigger, PID + 1, &kernel.hdr, SECOND_NS);
			show_in_batch(trigger, PID + 2, &gap.hdr, 2 * SECOND_NS);
		}
	show_kernel(trigger, PID, 2, 1400 * MS, 2 * SECOND_NS);
	assert_true(trigger_take(trigger, 4 * SECOND_NS, &event));
	assert_int_equal(event.from_ns, 1001 * MS); /* of PID's */
	trigger_free(trigger);
}

/* A gap that is long enough for one of two triggers is for that one. */
static void a_gap_is_looked_at_where_only_its_line_counts(void **state)
{
	struct trigger *trigger = trigger_new(&(struct trigger_options){.idle_ns = 500 * MS, .gap_ns = 200 * MS});
	struct trigger_event event;

	show_kernel(trigger, PID, 1, 1000 * MS, 1100 * MS);
	show_kernel(trigger, PID, 2, 1301 * MS, 1400 * MS);
	assert_true(trigger_take(trigger, 3 * SECOND_NS, &event));
	assert_int_equal(event.kind, TRIGGER_GAP);
	assert_int_equal(event.from_ns, 1001 * MS);
	assert_int_equal(event.to_ns, 1301 * MS);
	show_kernel(trigger, PID, 3, 1802 * MS, 3 * SECOND_NS);
	assert_true(trigger_take(trigger, 5 * SECOND_NS, &event));
	assert_int_equal(event.kind, TRIGGER_HAPPENED);
	trigger_free(trigger);
}

/* The file has all of them. */
static void gaps_that_count_together_are_one_from_the_first_to_the_last(void **state)
{
	struct trigger *trigger = idle_trigger();
	struct trigger_event event;

	show_kernel(trigger, PID, 1, 1000 * MS, 3 * SECOND_NS);
	show_kernel(trigger, PID, 2, 1301 * MS, 3 * SECOND_NS);
	show_kernel(trigger, PID, 3, 1802 * MS, 3 * SECOND_NS);
	show_kernel(trigger, PID, 4, 2103 * MS, 3 * SECOND_NS);
	assert_true(trigger_take(trigger, 5 * SECOND_NS, &event));
	assert_string_equal(event.why, "pid 41230 left GPU 0 without work for 0.500 s");
	assert_int_equal(event.from_ns, 1001 * MS);
	assert_int_equal(event.to_ns, 2103 * MS);
	assert_false(is_taken(trigger, 9 * SECOND_NS));
	trigger_free(trigger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_does_not_return_is_a_hang_once_nothing_moves),
		cmocka_unit_test(a_program_that_makes_no_call_waits_for_no_gpu),
		cmocka_unit_test(work_that_ends_is_no_hang),
		cmocka_unit_test(a_later_call_of_a_thread_shows_that_the_one_before_has_returned),
		cmocka_unit_test(a_process_that_has_ended_does_not_hang),
		cmocka_unit_test(what_hangs_with_another_process_is_the_same_hang),
		cmocka_unit_test(other_processes_calls_do_not_hide_a_hang),
		cmocka_unit_test(the_last_rank_is_late_by_its_distance_from_the_median_one),
		cmocka_unit_test(a_rank_comes_when_its_kernel_begins),
		cmocka_unit_test(ranks_of_other_machines_are_not_waited_for),
		cmocka_unit_test(what_cannot_be_compared_is_not),
		cmocka_unit_test(ranks_beyond_the_tables_and_anything_that_is_said_cost_no_more_memory),
		cmocka_unit_test(a_wall_clock_that_is_set_makes_no_gap_and_hides_none),
		cmocka_unit_test(a_process_that_lies_hides_no_other_one_s_gap),
		cmocka_unit_test(a_gap_is_looked_at_where_only_its_line_counts),
		cmocka_unit_test(gaps_that_count_together_are_one_from_the_first_to_the_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
