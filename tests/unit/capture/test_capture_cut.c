/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which part of a record belongs to a recording: what it has asked for, until its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/agent.h>
#include <gputrace/walk.h>

#include "capture/cut.h"

#define END_NS 1000u

static _Alignas(8) uint8_t room[4096];

static const struct gpt_record *cut_record(const void *record)
{
	return cut_at(record, END_NS, (struct gpt_record *)room);
}

static void a_call_belongs_by_its_time(void **state)
{
	struct gpt_call_args call = {.call = {.hdr = {.size = sizeof(call), .type = GPT_CALL_ARGS}}};

	call.call.time_ns = END_NS - 1;
	assert_ptr_equal(cut_record(&call), &call);
	call.call.time_ns = END_NS;
	assert_null(cut_record(&call));
}

static void the_number_of_a_call_that_was_recorded_belongs(void **state)
{
	const struct gpt_call call = {
		.hdr = {.size = sizeof(call), .type = GPT_CALL, .flags = GPT_CALL_NESTED_IN_SYMBOL}, .time_ns = END_NS};

	assert_ptr_equal(cut_record(&call), &call);
}

/* Symbol probes stay for a while after the end, and what they see then is cut. */
static void the_number_of_a_call_that_was_made_after_the_end_does_not_belong(void **state)
{
	struct gpt_call call = {.hdr = {.size = sizeof(call),
					.type = GPT_CALL,
					.flags = GPT_CALL_NESTED_IN_SYMBOL | GPT_CALL_SURELY_NESTED},
				.time_ns = END_NS};

	assert_null(cut_record(&call));
	call.time_ns = END_NS - 1;
	assert_ptr_equal(cut_record(&call), &call);
}

static void what_is_no_event_belongs(void **state)
{
	const struct gpt_process_event event = {.hdr = {.size = sizeof(event), .type = GPT_EXIT}, .time_ns = END_NS};
	const struct gpt_record newer = {.size = sizeof(newer), .type = 60000};

	assert_ptr_equal(cut_record(&event), &event);
	assert_ptr_equal(cut_record(&newer), &newer);
}

static void a_wait_that_goes_on_is_open(void **state)
{
	struct gpt_wait wait = {.hdr = {.size = sizeof(wait), .type = GPT_WAIT},
				.time_ns = END_NS - 10,
				.woken_ns = END_NS + 4,
				.end_ns = END_NS + 5};
	const struct gpt_wait *left = (const struct gpt_wait *)cut_record(&wait);

	assert_int_equal(left->hdr.flags, GPT_WAIT_OPEN);
	assert_int_equal(left->time_ns, END_NS - 10);
	assert_int_equal(left->woken_ns, 0);
	assert_int_equal(left->end_ns, END_NS);
	wait.end_ns = wait.woken_ns = END_NS;
	assert_ptr_equal(cut_record(&wait), &wait);
	wait.time_ns = END_NS;
	assert_null(cut_record(&wait));
}

/* ---- batches of an agent ---------------------------------------------------------------------------------------- */

union batch {
	struct gpt_agent_batch head;
	_Alignas(8) uint8_t bytes[sizeof(struct gpt_agent_batch) + 2048];
};

static union batch batch_at(uint64_t time_ns)
{
	return (union batch){
		.head = {.hdr = {.size = sizeof(batch_at(0).head), .type = GPT_AGENT_BATCH}, .time_ns = time_ns}};
}

static void put_in_batch(union batch *batch, const void *record)
{
	const struct gpt_record *head = record;

	memcpy(batch->head.data + batch->head.bytes, record, head->size);
	batch->head.bytes += head->size;
	batch->head.hdr.size += head->size;
}

static void put_op(union batch *batch, uint64_t start_ns, uint64_t end_ns)
{
	const struct gpt_agent_op op = {
		.hdr = {.size = sizeof(op), .type = GPT_AGENT_OP}, .start_ns = start_ns, .end_ns = end_ns};

	put_in_batch(batch, &op);
}

static void put_memory(union batch *batch, uint64_t time_ns)
{
	const struct gpt_agent_torch_memory memory = {.hdr = {.size = sizeof(memory), .type = GPT_AGENT_TORCH_MEMORY},
						      .time_ns = time_ns};

	put_in_batch(batch, &memory);
}

static void put_stats(union batch *batch)
{
	const struct gpt_agent_stats stats = {.hdr = {.size = sizeof(stats), .type = GPT_AGENT_STATS}};

	put_in_batch(batch, &stats);
}

static void a_batch_from_before_the_end_is_what_it_was(void **state)
{
	union batch batch = batch_at(END_NS - 1);

	put_op(&batch, 10, 20);
	assert_ptr_equal(cut_record(&batch), &batch);
}

static void of_a_batch_from_after_the_end_the_events_that_began_before_belong(void **state)
{
	union batch batch = batch_at(END_NS + 500), expected = batch_at(END_NS + 500);

	put_op(&batch, 10, 20), put_op(&expected, 10, 20);
	put_op(&batch, END_NS, END_NS + 1);
	put_memory(&batch, END_NS - 1), put_memory(&expected, END_NS - 1);
	put_memory(&batch, END_NS + 7);
	put_stats(&batch), put_stats(&expected);
	assert_memory_equal(cut_record(&batch), &expected, expected.head.hdr.size);
}

static void an_op_that_goes_on_was_open_at_the_end(void **state)
{
	union batch batch = batch_at(END_NS + 500);
	const struct gpt_agent_batch *left;
	const struct gpt_agent_op *op;
	size_t at = 0;

	put_op(&batch, 10, END_NS + 400);
	left = (const struct gpt_agent_batch *)cut_record(&batch);
	op = (const struct gpt_agent_op *)batch_next(left, &at);
	assert_int_equal(op->end_ns, END_NS);
	assert_true(op->flags & GPT_AGENT_OP_OPEN);
}

static void put_damage(union batch *batch)
{
	const struct gpt_record longer = {.size = 4096, .type = GPT_AGENT_OP};

	memcpy(batch->head.data + batch->head.bytes, &longer, sizeof(longer));
	batch->head.bytes += sizeof(longer);
	batch->head.hdr.size += sizeof(longer);
}

static const struct gpt_schedule asked_schedule = {.wait = 1, .warmup = 2, .active = 3, .by = GPT_STEP_BY_OPTIMIZER};

static void put_schedule(union batch *batch, const struct gpt_schedule *plan)
{
	const struct gpt_agent_schedule schedule = {.hdr = {.size = sizeof(schedule), .type = GPT_AGENT_SCHEDULE},
						    .skip_first = plan->skip_first,
						    .wait = plan->wait,
						    .warmup = plan->warmup,
						    .active = plan->active,
						    .repeat = plan->repeat,
						    .skip_first_wait = plan->skip_first_wait,
						    .by = plan->by};

	put_in_batch(batch, &schedule);
}

static void put_step(union batch *batch, uint64_t time_ns)
{
	const struct gpt_agent_step step = {.hdr = {.size = sizeof(step), .type = GPT_AGENT_STEP}, .time_ns = time_ns};

	put_schedule(batch, &asked_schedule);
	put_in_batch(batch, &step);
}

static void put_record(union batch *batch, uint16_t type)
{
	struct {
		struct gpt_record hdr;
		uint64_t words[8];
	} record = {.hdr = {.size = sizeof(record), .type = type}};

	put_in_batch(batch, &record);
}

static const struct agent_request nothing = {}, everything = {.ops = true,
							      .torch_memory = true,
							      .schedule = {.wait = 1,
									   .warmup = 2,
									   .active = 3,
									   .by = GPT_STEP_BY_OPTIMIZER}};
static bool malformed;

static const struct gpt_record *cut_to(const struct agent_request *asked, const void *record)
{
	return cut_unasked(record, asked, (struct gpt_record *)room, &malformed);
}

static void assert_is(const struct gpt_record *record, const union batch *expected)
{
	assert_non_null(record);
	assert_memory_equal(record, expected, expected->head.hdr.size);
}

static void what_was_asked_for_is_what_it_was(void **state)
{
	union batch batch = batch_at(END_NS - 1);
	const struct gpt_record other = {.size = sizeof(other), .type = GPT_AGENT_SCHEDULE};

	put_op(&batch, 10, 20);
	put_step(&batch, 30);
	put_record(&batch, GPT_AGENT_OPS);
	put_memory(&batch, 40);
	put_record(&batch, GPT_AGENT_TORCH_MEMORY_STATE);
	put_stats(&batch);
	assert_ptr_equal(cut_to(&everything, &batch), &batch);
	assert_ptr_equal(cut_to(&nothing, &other), &other); /* not an agent's batch */
	assert_false(malformed);
}

static void what_was_not_asked_for_is_left_out(void **state)
{
	union batch batch = batch_at(END_NS - 1), expected = batch_at(END_NS - 1);

	put_step(&batch, 30);
	put_op(&batch, 10, 20);
	put_stats(&batch), put_stats(&expected);
	put_record(&batch, GPT_AGENT_OPS);
	put_memory(&batch, 40);
	put_record(&batch, GPT_AGENT_KERNEL), put_record(&expected, GPT_AGENT_KERNEL);
	put_record(&batch, GPT_AGENT_TORCH_MEMORY_STATE);
	assert_is(cut_to(&nothing, &batch), &expected);
	assert_false(malformed);
}

static void a_schedule_is_the_one_that_was_asked_for(void **state)
{
	union batch batch = batch_at(END_NS - 1), expected = batch_at(END_NS - 1);
	struct gpt_schedule other = asked_schedule;

	other.skip_first = 4711;
	put_schedule(&batch, &other);
	put_record(&batch, GPT_AGENT_SCHEDULE); /* shorter than a schedule */
	put_schedule(&batch, &asked_schedule), put_schedule(&expected, &asked_schedule);
	assert_is(cut_to(&everything, &batch), &expected);
}

/* A few bytes after the last record must not turn off what is looked for in the records. */
static void bytes_that_are_no_record_are_left_out_and_said(void **state)
{
	union batch batch = batch_at(END_NS + 500), expected = batch_at(END_NS + 500);

	put_step(&batch, 30);
	put_stats(&batch), put_stats(&expected);
	put_damage(&batch);
	assert_is(cut_to(&nothing, &batch), &expected);
	assert_true(malformed);
	assert_is(cut_to(&nothing, &expected), &expected);
	assert_false(malformed);
}

static void a_batch_that_says_that_it_is_longer_or_shorter_than_it_is_has_only_its_records(void **state)
{
	union batch longer = batch_at(END_NS - 1), shorter, expected;

	put_stats(&longer);
	expected = shorter = longer;
	longer.head.bytes = UINT32_MAX;
	assert_is(cut_to(&everything, &longer), &expected);
	assert_true(malformed);
	put_stats(&shorter);
	shorter.head.bytes = expected.head.bytes;
	assert_is(cut_to(&everything, &shorter), &expected);
	assert_false(malformed);
	assert_null(
		cut_to(&everything, &(struct gpt_record){.size = sizeof(struct gpt_record), .type = GPT_AGENT_BATCH}));
	assert_true(malformed);
}

static void what_was_cut_to_what_was_asked_for_is_cut_at_the_end_in_place(void **state)
{
	const struct agent_request ops = {.ops = true};
	union batch batch = batch_at(END_NS + 500), expected = batch_at(END_NS + 500);

	put_op(&batch, END_NS, END_NS + 1);
	put_step(&batch, 30);
	put_op(&batch, 10, 20), put_op(&expected, 10, 20);
	assert_is(cut_record(cut_to(&ops, &batch)), &expected);
}

/* ---- before a moment that is waited for ------------------------------------------------------------------------- */

#define BEFORE_NS 500u

static const struct gpt_record *before(const void *record, uint64_t *left_out)
{
	return cut_before(record, BEFORE_NS, (struct gpt_record *)room, left_out);
}

static void what_is_over_before_is_left_out_and_calls_are_counted(void **state)
{
	struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}, .time_ns = BEFORE_NS - 1};
	struct gpt_sample sample = {.hdr = {.size = sizeof(sample), .type = GPT_SAMPLE}, .time_ns = 1};
	struct gpt_wait wait = {.hdr = {.size = sizeof(wait), .type = GPT_WAIT}, .time_ns = 1, .end_ns = BEFORE_NS};
	uint64_t left_out = 0;

	assert_null(before(&call, &left_out));
	assert_null(before(&sample, &left_out));
	assert_int_equal(left_out, 1);
	call.time_ns = sample.time_ns = BEFORE_NS;
	assert_ptr_equal(before(&call, &left_out), &call);
	assert_ptr_equal(before(&sample, &left_out), &sample);
	assert_ptr_equal(before(&wait, &left_out), &wait);
	wait.end_ns--;
	assert_null(before(&wait, &left_out));
	assert_int_equal(left_out, 1);
}

static void what_describes_or_may_be_open_stays(void **state)
{
	static const uint16_t types[] = {GPT_PYSTACK, GPT_CODE,	     GPT_CODE_LINES, GPT_CODE_DEAD, GPT_NATIVE_STACK,
					 GPT_THREAD,  GPT_FORK,	     GPT_EXEC,	     GPT_EXIT,	    GPT_PYCALL,
					 GPT_PYEVENT, GPT_CUPTI_USE, GPT_STACK_AT,   GPT_GENERATED};
	struct {
		struct gpt_record hdr;
		uint64_t zeros[16];
	} record = {.hdr = {.size = sizeof(record)}};
	uint64_t left_out = 0;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		record.hdr.type = types[i];
		assert_ptr_equal(before(&record, &left_out), &record);
	}
	assert_int_equal(left_out, 0);
}

static void of_a_batch_from_before_what_is_over_is_left_out(void **state)
{
	const struct gpt_agent_kernel kernel = {.hdr = {.size = sizeof(kernel), .type = GPT_AGENT_KERNEL}};
	const struct gpt_agent_graph_node node = {.hdr = {.size = sizeof(node), .type = GPT_AGENT_GRAPH_NODE}};
	const struct gpt_agent_range range = {.hdr = {.size = sizeof(range), .type = GPT_AGENT_RANGE}};
	const struct gpt_agent_op op = {.hdr = {.size = sizeof(op), .type = GPT_AGENT_OP}};
	union batch batch = batch_at(BEFORE_NS - 1), later = batch_at(BEFORE_NS);
	const struct gpt_agent_batch *left;
	uint64_t left_out = 0;
	size_t at = 0;

	put_in_batch(&batch, &kernel);
	put_in_batch(&batch, &node);
	put_in_batch(&batch, &op);
	put_in_batch(&batch, &range);
	left = (const struct gpt_agent_batch *)before(&batch, &left_out);
	assert_int_equal(batch_next(left, &at)->type, GPT_AGENT_GRAPH_NODE);
	assert_int_equal(batch_next(left, &at)->type, GPT_AGENT_RANGE);
	assert_null(batch_next(left, &at));
	put_in_batch(&later, &kernel);
	assert_ptr_equal(before(&later, &left_out), &later);
	/* the same in place */
	memcpy(room, &batch, batch.head.hdr.size);
	left = (const struct gpt_agent_batch *)before(room, &left_out);
	assert_int_equal(left->bytes, sizeof(node) + sizeof(range));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_belongs_by_its_time),
		cmocka_unit_test(the_number_of_a_call_that_was_recorded_belongs),
		cmocka_unit_test(the_number_of_a_call_that_was_made_after_the_end_does_not_belong),
		cmocka_unit_test(what_is_no_event_belongs),
		cmocka_unit_test(a_wait_that_goes_on_is_open),
		cmocka_unit_test(a_batch_from_before_the_end_is_what_it_was),
		cmocka_unit_test(of_a_batch_from_after_the_end_the_events_that_began_before_belong),
		cmocka_unit_test(an_op_that_goes_on_was_open_at_the_end),
		cmocka_unit_test(what_was_asked_for_is_what_it_was),
		cmocka_unit_test(what_was_not_asked_for_is_left_out),
		cmocka_unit_test(a_schedule_is_the_one_that_was_asked_for),
		cmocka_unit_test(bytes_that_are_no_record_are_left_out_and_said),
		cmocka_unit_test(a_batch_that_says_that_it_is_longer_or_shorter_than_it_is_has_only_its_records),
		cmocka_unit_test(what_is_over_before_is_left_out_and_calls_are_counted),
		cmocka_unit_test(what_describes_or_may_be_open_stays),
		cmocka_unit_test(of_a_batch_from_before_what_is_over_is_left_out),
		cmocka_unit_test(what_was_cut_to_what_was_asked_for_is_cut_at_the_end_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
