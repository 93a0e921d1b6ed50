/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cutter of models for tests: its parts keep what model.h promises about parts, and together they are the whole. */
#include "analyzed.h"
#include "trace_cut.h"

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Whether two events are the same, apart from indices into arrays of events. */
static bool is_same_call(const struct model_call *a, const struct model_call *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->thread == b->thread && a->stack == b->stack &&
	       a->corr == b->corr && a->gpu_count == b->gpu_count;
}

static bool is_same_op(const struct model_gpu *a, const struct model_gpu *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns && a->corr == b->corr && a->name == b->name &&
	       a->kind == b->kind;
}

static void assert_calls(const struct model *part, const struct model *whole)
{
	const struct model_in_part *in_part = &part->calls_in_part;

	for (uint32_t i = in_part->from; i < in_part_end(in_part, part->call_count); i++) {
		const struct model_call *call = &part->calls[i],
					*of = &whole->calls[in_part->number + i - in_part->from];
		uint32_t op = call->first_gpu, of_op = of->first_gpu;

		assert_true(is_same_call(call, of));
		for (; of_op != NONE; op = part->gpu[op].next, of_op = whole->gpu[of_op].next) {
			assert_in_range(op, 0, part->gpu_count - 1);
			assert_true(is_same_op(&part->gpu[op], &whole->gpu[of_op]));
		}
		assert_int_equal(op, NONE);
	}
}

static void assert_gpu(const struct model *part, const struct model *whole)
{
	const struct model_in_part *in_part = &part->gpu_in_part;

	for (uint32_t i = in_part->from; i < in_part_end(in_part, part->gpu_count); i++) {
		const struct model_gpu *op = &part->gpu[i], *of = &whole->gpu[in_part->number + i - in_part->from];

		assert_true(is_same_op(op, of));
		assert_int_equal(op->call == NONE, of->call == NONE);
		if (op->call != NONE)
			assert_true(is_same_call(&part->calls[op->call], &whole->calls[of->call]));
	}
}

static void assert_releases(const struct model *part, const struct model *whole)
{
	const struct model_in_part *in_part = &part->memories_in_part;

	for (uint32_t i = in_part->from; i < in_part_end(in_part, part->memory_count); i++) {
		const struct model_memory *of = &whole->memories[in_part->number + i - in_part->from];

		assert_int_equal(part->memories[i].time_ns, of->time_ns);
		if (of->released && of->other != NONE)
			assert_int_equal(part->memories[part->memories[i].other].time_ns,
					 whole->memories[of->other].time_ns);
	}
}

static void all_parts_together_have_each_event_once_with_what_it_refers_to(void **state)
{
	struct model *whole = sample_model(2, 5);

	for (uint32_t events = 1; events < 40; events += 3) {
		struct trace *trace = trace_cut_each(whole, events);
		uint64_t calls = 0, ops = 0, memories = 0;

		for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
			assert_int_equal(part->calls_in_part.number, calls);
			assert_int_equal(part->gpu_in_part.number, ops);
			assert_int_equal(part->memories_in_part.number, memories);
			calls += in_part_end(&part->calls_in_part, part->call_count) - part->calls_in_part.from;
			ops += in_part_end(&part->gpu_in_part, part->gpu_count) - part->gpu_in_part.from;
			memories +=
				in_part_end(&part->memories_in_part, part->memory_count) - part->memories_in_part.from;
			assert_calls(part, whole);
			assert_gpu(part, whole);
			assert_releases(part, whole);
		}
		assert_int_equal(calls, whole->call_count);
		assert_int_equal(ops, whole->gpu_count);
		assert_int_equal(memories, whole->memory_count);
		trace_cut_free(trace);
	}
	model_free(whole);
}

static void events_that_nothing_refers_to_are_not_in_later_parts(void **state)
{
	struct model *whole = sample_model(1, 50);
	struct trace *trace = trace_cut_each(whole, 20);
	const struct model *part;

	assert_in_range(trace_cut_parts(trace), 20, 100);
	for (part = trace_first(trace); part; part = trace_next(trace)) {
		assert_in_range(part->call_count, 0, 25);
		assert_in_range(part->gpu_count, 0, 30);
	}
	trace_cut_free(trace);
	model_free(whole);
}

static void what_begins_at_a_cut_is_after_it(void **state)
{
	struct model *whole = sample_model(1, 2);
	uint64_t time_ns = whole->calls[3].start_ns;
	struct trace *trace = trace_cut_at(whole, &time_ns, 1);
	const struct model *part = trace_first(trace);

	assert_true(part->more);
	assert_int_equal(part->until_ns, time_ns);
	assert_int_equal(in_part_end(&part->calls_in_part, part->call_count), 3);
	part = trace_next(trace);
	assert_true(part->continued);
	assert_false(part->more);
	assert_int_equal(part->calls[part->calls_in_part.from].start_ns, time_ns);
	assert_null(trace_next(trace));
	trace_cut_free(trace);
	model_free(whole);
}

static void sums_are_complete_in_the_last_part_only(void **state)
{
	struct model *whole = sample_model(1, 4);
	struct trace *trace = trace_cut_each(whole, 10);
	const struct model *part = trace_first(trace);

	assert_int_equal(model_source(part)->receipt.calls, 0);
	assert_in_range(part->processes[0].gpu_ops, 0, whole->gpu_count - 1);
	while (part->more)
		part = trace_next(trace);
	assert_int_equal(model_source(part)->receipt.calls, whole->call_count);
	assert_int_equal(part->processes[0].gpu_ops, whole->gpu_count);
	trace_cut_free(trace);
	model_free(whole);
}

/* ---- spans and tables -------------------------------------------------------------------------------------------- */

#define RANGE(from, to)                                                                                                \
	{                                                                                                              \
		.start_ns = (from), .end_ns = (to), .name = 0, .domain = NONE, .kind = MODEL_SPAN_PUSHED               \
	}

static struct model_process process = {.name = "p", .exe = "", .cmdline = ""};
static struct model_thread thread = {.name = "t", .ranges = 3};
static struct model_source source;
static const char *names[] = {"a range"};
static struct model_span ranges[] = {RANGE(10, 40), RANGE(12, 14), RANGE(30, 35)};
static const struct model spans = {.processes = &process,
				   .process_count = 1,
				   .threads = &thread,
				   .thread_count = 1,
				   .sources = &source,
				   .source_count = 1,
				   .strings = names,
				   .string_count = 1,
				   .ranges = ranges,
				   .range_count = 3};

static void a_range_is_in_every_part_in_which_it_is_open(void **state)
{
	const uint64_t times[] = {20, 30, 40};
	struct trace *trace = trace_cut_at(&spans, times, 3);
	const struct model *part = trace_first(trace);

	assert_int_equal(part->range_count, 2);
	assert_true(part->ranges[0].open && !part->ranges[0].continued);
	assert_int_equal(part->ranges[0].end_ns, UINT64_MAX);
	assert_false(part->ranges[1].open);
	part = trace_next(trace);
	assert_int_equal(part->range_count, 1);
	assert_true(part->ranges[0].open && part->ranges[0].continued);
	part = trace_next(trace);
	assert_int_equal(part->range_count, 2);
	assert_true(part->ranges[0].open);
	assert_false(part->ranges[1].continued);
	part = trace_next(trace);
	assert_int_equal(part->range_count, 1);
	assert_true(part->ranges[0].continued && !part->ranges[0].open);
	assert_int_equal(part->ranges[0].end_ns, 40);
	assert_int_equal(part->ranges[0].number, 0);
	trace_cut_free(trace);
}

static void a_thread_says_whether_other_parts_have_ranges_of_it(void **state)
{
	const uint64_t before = 5, after = 50, between = 20;
	struct trace *trace = trace_cut_at(&spans, &before, 1);
	const struct model *part = trace_first(trace);

	assert_true(!part->threads[0].ranges && part->threads[0].ranges_elsewhere);
	part = trace_next(trace);
	assert_true(part->threads[0].ranges == 3 && !part->threads[0].ranges_elsewhere);
	trace_cut_free(trace);
	trace = trace_cut_at(&spans, &after, 1);
	trace_first(trace);
	part = trace_next(trace);
	assert_true(!part->threads[0].ranges && part->threads[0].ranges_elsewhere);
	trace_cut_free(trace);
	trace = trace_cut_at(&spans, &between, 1);
	part = trace_first(trace);
	assert_true(part->threads[0].ranges && part->threads[0].ranges_elsewhere);
	trace_cut_free(trace);
}

static void tables_grow_and_keep_their_indices(void **state)
{
	struct model *whole = sample_model(2, 3);
	struct trace *trace = trace_cut_each(whole, 1);
	uint32_t strings = 0, frames = 0;
	bool grew = false;

	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		assert_in_range(part->string_count, strings, whole->string_count);
		assert_in_range(part->frame_count, frames, whole->frame_count);
		grew |= frames && part->frame_count > frames;
		strings = part->string_count;
		frames = part->frame_count;
		for (uint32_t i = 0; i < strings; i++)
			assert_string_equal(part->strings[i], whole->strings[i]);
		for (uint32_t i = 0; i < frames; i++)
			assert_string_equal(part->codes[part->frames[i].code].name,
					    whole->codes[whole->frames[i].code].name);
	}
	assert_true(grew);
	trace_cut_free(trace);
	model_free(whole);
}

static void every_round_gives_the_same_parts(void **state)
{
	struct model *whole = sample_model(1, 3);
	struct trace *trace = trace_cut_each(whole, 7);
	ARRAY(uint64_t) ends = {0};
	size_t at = 0;

	for (const struct model *part = trace_first(trace); part; part = trace_next(trace))
		array_push(&ends, part->until_ns);
	assert_int_equal(ends.count, trace_cut_parts(trace));
	for (const struct model *part = trace_first(trace); part; part = trace_next(trace))
		assert_int_equal(part->until_ns, ends.items[at++]);
	assert_int_equal(at, ends.count);
	array_free(&ends);
	trace_cut_free(trace);
	model_free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_parts_together_have_each_event_once_with_what_it_refers_to),
		cmocka_unit_test(events_that_nothing_refers_to_are_not_in_later_parts),
		cmocka_unit_test(what_begins_at_a_cut_is_after_it),
		cmocka_unit_test(sums_are_complete_in_the_last_part_only),
		cmocka_unit_test(a_range_is_in_every_part_in_which_it_is_open),
		cmocka_unit_test(a_thread_says_whether_other_parts_have_ranges_of_it),
		cmocka_unit_test(tables_grow_and_keep_their_indices),
		cmocka_unit_test(every_round_gives_the_same_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
