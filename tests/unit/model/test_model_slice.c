/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A slice of a trace: its events, its receipt, and that it does not depend on the trace's parts. */
#include "analyzed.h"
#include "trace_cut.h"

#include "model/parts/rolling_trace.h"
#include "model/slice/sliced_trace.h"
#include "whole_trace.h"

#define STEPS 6u
#define STEP_AT(step) (SAMPLE_START + 1000000 + (step)*SAMPLE_STEP)

/* All events of a trace, each as a number, and its last receipt. */
struct contents {
	ARRAY(uint64_t) calls;
	ARRAY(uint64_t) gpu;
	ARRAY(uint64_t) syncs;
	ARRAY(uint64_t) memories;
	ARRAY(uint64_t) overheads;
	ARRAY(uint64_t) launches; /* for each operation, the number of its call */
	struct model_receipt receipt;
	uint64_t start_ns, end_ns, process_calls, gpu_ops;
};

#define COLLECT(into, array, name, count, value)                                                                       \
	for (uint32_t i = part->name##_in_part.from; i < in_part_end(&part->name##_in_part, part->count); i++)         \
	array_push(&(into)->array, (value))

static int compare_times(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static struct contents contents_of(struct trace *trace)
{
	struct contents all = {0};

	for (const struct model *part = trace_first(trace); part; part = trace_next(trace)) {
		COLLECT(&all, calls, calls, call_count, part->calls[i].start_ns);
		COLLECT(&all, gpu, gpu, gpu_count, part->gpu[i].start_ns);
		COLLECT(&all, launches, gpu, gpu_count,
			part->gpu[i].call != NONE ? part->calls[part->gpu[i].call].number : NONE);
		COLLECT(&all, syncs, syncs, sync_count, part->syncs[i].start_ns);
		COLLECT(&all, memories, memories, memory_count, part->memories[i].time_ns);
		COLLECT(&all, overheads, overheads, overhead_count, part->overheads[i].start_ns);
		all.receipt = model_source(part)->receipt;
		all.start_ns = part->start_ns;
		all.end_ns = part->end_ns;
		all.process_calls = part->processes[0].calls;
		all.gpu_ops = part->processes[0].gpu_ops;
	}
	assert_int_equal(trace->error, 0);
	if (all.overheads.count) /* a model's overheads are in no order */
		qsort(all.overheads.items, all.overheads.count, sizeof(all.overheads.items[0]), compare_times);
	return all;
}

static void contents_free(struct contents *all)
{
	array_free(&all->calls);
	array_free(&all->gpu);
	array_free(&all->syncs);
	array_free(&all->memories);
	array_free(&all->overheads);
	array_free(&all->launches);
}

/* The slice of a whole model; or, if `events` is not 0, of the model in parts of that many events. */
static struct contents slice_of(const struct model *whole, const struct slice *slice, uint32_t events)
{
	struct trace_of_model of;
	struct trace *inner = events ? trace_cut_each(whole, events) : trace_of_model(&of, whole);
	struct sliced_trace sliced;
	struct contents all;

	assert_int_equal(sliced_trace_open(&sliced, inner, slice, "a slice"), 0);
	all = contents_of(&sliced.trace);
	sliced_trace_close(&sliced);
	if (events)
		trace_cut_free(inner);
	return all;
}

/* A slice of everything; tests narrow it. */
static struct slice slice_of_all(void)
{
	return (struct slice){.to_ns = UINT64_MAX, .device = NONE};
}

/* A time span of a model that is handed over in one part; close it with close_span. */
static const struct model *open_span(struct sliced_trace *sliced, struct trace_of_model *of, const struct model *whole,
				     uint64_t from_ns, uint64_t to_ns)
{
	struct slice slice = slice_of_all();

	slice.from_ns = from_ns;
	slice.to_ns = to_ns;
	assert_int_equal(sliced_trace_open(sliced, trace_of_model(of, whole), &slice, "a slice"), 0);
	return trace_first(&sliced->trace);
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

static void adjoining_slices_have_each_event_once(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	struct slice all = slice_of_all();
	struct contents wanted = slice_of(whole, &all, 0);

	assert_int_equal(wanted.calls.count, whole->call_count);
	for (uint64_t cut = SAMPLE_START; cut < STEP_AT(STEPS); cut += 37000) {
		struct slice before = slice_of_all(), after = slice_of_all();
		struct contents left, right;

		before.to_ns = after.from_ns = cut;
		left = slice_of(whole, &before, 0);
		right = slice_of(whole, &after, 0);
		assert_int_equal(left.calls.count + right.calls.count, whole->call_count);
		assert_int_equal(left.gpu.count + right.gpu.count, whole->gpu_count);
		assert_int_equal(left.syncs.count + right.syncs.count, whole->sync_count);
		assert_int_equal(left.memories.count + right.memories.count, whole->memory_count);
		assert_int_equal(left.overheads.count + right.overheads.count, whole->overhead_count);
		assert_int_equal(left.receipt.launches_joined + right.receipt.launches_joined,
				 wanted.receipt.launches_joined);
		assert_int_equal(left.receipt.gpu_ns + right.receipt.gpu_ns, wanted.receipt.gpu_ns);
		assert_int_equal(left.process_calls + right.process_calls, wanted.process_calls);
		assert_true(!left.calls.count || left.calls.items[left.calls.count - 1] < cut);
		assert_true(!right.gpu.count || right.gpu.items[0] >= cut);
		contents_free(&left);
		contents_free(&right);
	}
	contents_free(&wanted);
	model_free(whole);
}

static void a_slice_of_everything_has_the_receipt_of_the_recording(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	struct slice all = slice_of_all();
	struct contents sliced = slice_of(whole, &all, 0);

	assert_memory_equal(&sliced.receipt, &model_source(whole)->receipt, sizeof(sliced.receipt));
	assert_int_equal(sliced.start_ns, whole->start_ns);
	assert_int_equal(sliced.end_ns, whole->end_ns);
	contents_free(&sliced);
	model_free(whole);
}

static void the_receipt_has_launches_of_the_slice_and_losses_of_the_recording(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part;

	model_source(whole)->receipt.lost = 7;
	model_source(whole)->receipt.counters[GPT_COUNTER_CALLS_LOST] = 7;
	part = open_span(&sliced, &of, whole, STEP_AT(2), STEP_AT(3));
	assert_int_equal(model_source(part)->receipt.calls, 6);
	assert_int_equal(model_source(part)->receipt.launches_joined, 3);
	assert_int_equal(model_source(part)->receipt.gpu_ops, 7);
	assert_int_equal(model_source(part)->receipt.lost, 7);
	assert_int_equal(part->processes[0].calls, 6);
	assert_int_equal(part->processes[0].gpu_ops, 7);
	assert_int_equal(part->start_ns, STEP_AT(2));
	assert_int_equal(part->end_ns, STEP_AT(3));
	assert_string_equal(part->slice, "a slice");
	sliced_trace_close(&sliced);
	model_free(whole);
}

static void an_operation_whose_call_was_before_still_has_it(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part = open_span(&sliced, &of, whole, STEP_AT(2) + 190000, STEP_AT(3));
	const struct model_gpu *op = &part->gpu[part->gpu_in_part.from];

	assert_int_equal(op->start_ns, STEP_AT(2) + 200000);
	assert_true(op->call < part->calls_in_part.from);
	assert_int_equal(part->calls[op->call].start_ns, STEP_AT(2) + 30000);
	assert_true(part->calls[op->call].number == CALL_OUTSIDE);
	assert_int_equal(in_part_end(&part->calls_in_part, part->call_count), part->calls_in_part.from);
	assert_int_equal(model_source(part)->receipt.launches, 0);
	assert_int_equal(model_source(part)->receipt.gpu_ops_joined, 4);
	sliced_trace_close(&sliced);
	model_free(whole);
}

static void a_launch_whose_work_is_after_the_slice_is_not_missing(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part = open_span(&sliced, &of, whole, STEP_AT(2), STEP_AT(2) + 10000);

	assert_int_equal(model_source(part)->receipt.launches_joined, 1);
	assert_int_equal(model_source(part)->receipt.gpu_ops, 0);
	assert_int_equal(model_source(part)->receipt.operations_missing, 0);
	sliced_trace_close(&sliced);
	model_free(whole);
}

static void an_operation_without_times_goes_with_its_call(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	uint32_t call = whole->gpu[0].call;
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part;

	whole->gpu[0].start_ns = whole->gpu[0].end_ns = 0;
	part = open_span(&sliced, &of, whole, whole->calls[call].start_ns, whole->calls[call].start_ns + 1);
	assert_int_equal(model_source(part)->receipt.gpu_ops_untimed, 1);
	sliced_trace_close(&sliced);
	part = open_span(&sliced, &of, whole, whole->calls[call].start_ns + 1, UINT64_MAX);
	assert_int_equal(model_source(part)->receipt.gpu_ops_untimed, 0);
	sliced_trace_close(&sliced);
	model_free(whole);
}

static void imports_are_cut_to_the_slice(void **state)
{
	struct model *whole = sample_model(1, 1);
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part = open_span(&sliced, &of, whole, SAMPLE_START + 300000, SAMPLE_START + 550000);

	assert_int_equal(part->pyspan_count, 2);
	assert_int_equal(part->pyspans[0].start_ns, SAMPLE_START + 300000);
	assert_int_equal(part->pyspans[0].end_ns, SAMPLE_START + 550000);
	assert_true(part->pyspans[0].truncated);
	assert_int_equal(part->pyspans[1].end_ns, SAMPLE_START + 500000);
	assert_false(part->pyspans[1].truncated);
	assert_int_equal(part->threads[0].pyspans, 2);
	sliced_trace_close(&sliced);
	part = open_span(&sliced, &of, whole, SAMPLE_START + 550000, SAMPLE_START + 600000);
	assert_int_equal(part->pyspan_count, 1);
	sliced_trace_close(&sliced);
	model_free(whole);
}

static void memory_from_before_the_slice_is_not_known(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct sliced_trace sliced;
	struct trace_of_model of;
	const struct model *part = open_span(&sliced, &of, whole, STEP_AT(2) + 5000, STEP_AT(3));

	assert_int_equal(part->memory_count, 2);
	assert_false(part->memories[0].released);
	assert_true(part->memories[1].released);
	assert_int_equal(part->memories[1].other, NONE);
	sliced_trace_close(&sliced);
	part = open_span(&sliced, &of, whole, STEP_AT(2), STEP_AT(3));
	assert_int_equal(part->memory_count, 3);
	assert_int_equal(part->memories[2].other, 0);
	sliced_trace_close(&sliced);
	model_free(whole);
}

/* ---- processes, threads, GPUs ------------------------------------------------------------------------------------ */

static void a_process_has_its_calls_and_operations(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	struct slice slice = slice_of_all();
	bool processes[] = {false, true};
	struct contents all;

	slice.processes = processes;
	all = slice_of(whole, &slice, 0);
	assert_int_equal(all.calls.count, whole->call_count / 2);
	assert_int_equal(all.gpu.count, whole->gpu_count / 2);
	assert_int_equal(all.process_calls, 0);
	assert_int_equal(all.calls.items[0], STEP_AT(0) + 5000);
	contents_free(&all);
	model_free(whole);
}

static void a_thread_has_its_calls_and_their_operations(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct slice slice = slice_of_all();
	bool threads[8] = {false};
	struct contents all;

	assert_in_range(whole->thread_count, 2, 8);
	for (uint32_t i = 0; i < whole->thread_count; i++)
		threads[i] = whole->threads[i].tid == 41288;
	slice.threads = threads;
	all = slice_of(whole, &slice, 0);
	assert_int_equal(all.calls.count, STEPS);
	assert_int_equal(all.gpu.count, STEPS);
	assert_int_equal(all.gpu.items[0], STEP_AT(0) + 300000);
	contents_free(&all);
	model_free(whole);
}

/* The first step's memset is on another GPU. */
static void a_gpu_has_its_operations_their_calls_and_the_waits_of_those_threads(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct slice slice = slice_of_all();
	struct contents all;

	for (uint32_t i = 0; i < whole->gpu_count; i++)
		if (whole->gpu[i].start_ns == STEP_AT(0) + 180000)
			whole->gpu[i].device = 9;
	slice.device = 9;
	all = slice_of(whole, &slice, 0);
	assert_int_equal(all.gpu.count, 1);
	/* the memset's call, and the calls of the same thread that wait */
	assert_int_equal(all.calls.count, 1 + STEPS);
	assert_int_equal(all.calls.items[0], STEP_AT(0) + 20000);
	assert_int_equal(all.calls.items[1], STEP_AT(0) + 40000);
	contents_free(&all);
	slice.device = whole->gpu[0].device;
	all = slice_of(whole, &slice, 0);
	assert_int_equal(all.gpu.count, whole->gpu_count - 1);
	assert_int_equal(all.calls.count, whole->call_count - 1);
	contents_free(&all);
	model_free(whole);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

#define ASSERT_SAME(a, b, array)                                                                                       \
	do {                                                                                                           \
		assert_int_equal((a).array.count, (b).array.count);                                                    \
		if ((a).array.count)                                                                                   \
			assert_memory_equal((a).array.items, (b).array.items,                                          \
					    (a).array.count * sizeof((a).array.items[0]));                             \
	} while (0)

/* Takes ownership of found. */
static void assert_slice_is(struct contents found, const struct model *whole, const struct slice *slice)
{
	struct contents wanted = slice_of(whole, slice, 0);

	ASSERT_SAME(found, wanted, calls);
	ASSERT_SAME(found, wanted, gpu);
	ASSERT_SAME(found, wanted, syncs);
	ASSERT_SAME(found, wanted, memories);
	ASSERT_SAME(found, wanted, overheads);
	ASSERT_SAME(found, wanted, launches);
	assert_memory_equal(&found.receipt, &wanted.receipt, sizeof(found.receipt));
	assert_int_equal(found.start_ns, wanted.start_ns);
	assert_int_equal(found.end_ns, wanted.end_ns);
	assert_int_equal(found.process_calls, wanted.process_calls);
	assert_int_equal(found.gpu_ops, wanted.gpu_ops);
	contents_free(&wanted);
	contents_free(&found);
}

static void assert_same_slice(const struct model *whole, const struct slice *slice, uint32_t events)
{
	assert_slice_is(slice_of(whole, slice, events), whole, slice);
}

static void a_slice_is_the_same_whatever_the_parts_of_the_trace_are(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	bool processes[] = {true, false};

	for (uint32_t events = 1; events < 60; events = 2 * events + 1)
		for (uint64_t from = SAMPLE_START; from < STEP_AT(STEPS); from += 410000) {
			struct slice slice = slice_of_all();

			slice.from_ns = from;
			assert_same_slice(whole, &slice, events);
			slice.to_ns = from + 1300000;
			assert_same_slice(whole, &slice, events);
			slice.by_launch = true;
			assert_same_slice(whole, &slice, events);
			slice.device = whole->gpu[0].device;
			assert_same_slice(whole, &slice, events);
			slice.processes = processes;
			assert_same_slice(whole, &slice, events);
		}
	model_free(whole);
}

/* Each cut lies between a launch and the start of its work. */
static void by_launch_work_goes_with_its_call_whenever_it_ran(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	unsigned cuts = 0;

	for (uint32_t op = 0; op < whole->gpu_count; op++) {
		const struct model_gpu *work = &whole->gpu[op];
		struct slice before = slice_of_all(), after = slice_of_all();
		struct contents left, right;

		if (work->call == NONE || whole->calls[work->call].start_ns >= work->start_ns)
			continue;
		before.by_launch = after.by_launch = true;
		before.to_ns = after.from_ns = work->start_ns;
		left = slice_of(whole, &before, 0);
		right = slice_of(whole, &after, 0);
		assert_int_equal(left.gpu.count + right.gpu.count, whole->gpu_count);
		assert_true(left.gpu.count && left.gpu.items[left.gpu.count - 1] >= work->start_ns);
		assert_true(left.end_ns >= work->end_ns);
		assert_int_equal(left.receipt.gpu_ops_joined, left.receipt.gpu_ops);
		contents_free(&left);
		contents_free(&right);
		cuts++;
	}
	assert_true(cuts > STEPS);
	model_free(whole);
}

static void processes_can_each_have_a_span_of_their_own(void **state)
{
	const struct slice_span spans[] = {{STEP_AT(0), STEP_AT(1)}, {STEP_AT(2), STEP_AT(5)}};
	struct model *whole = sample_model(2, STEPS);
	struct slice slice = slice_of_all();
	size_t calls = 0, gpu = 0;
	struct contents all;

	for (uint32_t i = 0; i < 2; i++) {
		struct slice one = slice_of_all();
		bool processes[] = {i == 0, i == 1};

		one.processes = processes;
		one.from_ns = spans[i].from_ns;
		one.to_ns = spans[i].to_ns;
		all = slice_of(whole, &one, 0);
		assert_int_not_equal(all.gpu.count, 0);
		calls += all.calls.count;
		gpu += all.gpu.count;
		contents_free(&all);
	}
	slice.spans = spans;
	slice.from_ns = STEP_AT(0);
	slice.to_ns = STEP_AT(5);
	all = slice_of(whole, &slice, 0);
	assert_int_equal(all.calls.count, calls);
	assert_int_equal(all.gpu.count, gpu);
	assert_same_slice(whole, &slice, 3);
	contents_free(&all);
	model_free(whole);
}

static void each_part_of_a_slice_says_whether_more_follow(void **state)
{
	struct model *whole = sample_model(1, STEPS);
	struct trace *inner = trace_cut_each(whole, 5);
	struct slice slice = slice_of_all();
	const struct model *part;
	struct sliced_trace sliced;
	unsigned parts = 0;

	slice.from_ns = STEP_AT(1);
	slice.to_ns = STEP_AT(4);
	assert_int_equal(sliced_trace_open(&sliced, inner, &slice, "a slice"), 0);
	for (unsigned round = 0; round < 2; round++) {
		bool more = true;

		parts = 0;
		for (part = trace_first(&sliced.trace); part; part = trace_next(&sliced.trace)) {
			assert_int_equal(part->continued, parts > 0);
			assert_true(more);
			more = part->more;
			parts++;
		}
		assert_false(more);
	}
	assert_in_range(parts, 3, trace_cut_parts(inner) - 1);
	sliced_trace_close(&sliced);
	trace_cut_free(inner);
	model_free(whole);
}

/* ---- span after span --------------------------------------------------------------------------------------------- */

/* A trace that counts how often it is read. */
struct counted_trace {
	struct trace trace;
	struct trace *inner;
	unsigned rounds;
};

static const struct model *first_of_counted(struct trace *trace)
{
	struct counted_trace *counted = (struct counted_trace *)trace;

	counted->rounds++;
	return trace_first(counted->inner);
}

static const struct model *next_of_counted(struct trace *trace)
{
	return trace_next(((struct counted_trace *)trace)->inner);
}

static const struct trace_kind counted_kind = {.first = first_of_counted, .next = next_of_counted};

static void spans_one_after_the_other_are_had_in_one_round_and_an_earlier_one_in_another(void **state)
{
	struct model *whole = sample_model(2, STEPS);
	struct trace *cuts[] = {trace_cut_each(whole, 3), trace_cut_each(whole, 3), trace_cut_each(whole, 3)};
	struct counted_trace counted[] = {{.trace = {.kind = &counted_kind}, .inner = cuts[0]},
					  {.trace = {.kind = &counted_kind}, .inner = cuts[1]}};
	const struct model *last = trace_last(cuts[2]);
	struct rolling_trace counting, handing;
	const uint64_t span_ns = 410000;
	unsigned spans = 0;

	rolling_trace_open(&counting, &counted[0].trace);
	rolling_trace_open(&handing, &counted[1].trace);
	for (uint64_t from = SAMPLE_START; from < STEP_AT(STEPS); from += span_ns, spans++) {
		bool again = spans == 9; /* asks for the previous span again, and goes on from there */
		struct slice slice = slice_of_all();
		struct sliced_trace sliced;

		slice.from_ns = counting.from_ns = handing.from_ns = again ? from -= span_ns : from;
		slice.to_ns = from + span_ns;
		assert_int_equal(sliced_trace_open_before(&sliced, &counting.trace, &slice, "a slice", last), 0);
		sliced.inner = &handing.trace;
		assert_slice_is(contents_of(&sliced.trace), whole, &slice);
		sliced_trace_close(&sliced);
		for (unsigned i = 0; i < 2; i++)
			assert_in_range(counted[i].rounds, 1, spans < 9 ? 1 : 2);
	}
	assert_true(spans > 10);
	for (unsigned i = 0; i < 3; i++)
		trace_cut_free(cuts[i]);
	model_free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adjoining_slices_have_each_event_once),
		cmocka_unit_test(a_slice_of_everything_has_the_receipt_of_the_recording),
		cmocka_unit_test(the_receipt_has_launches_of_the_slice_and_losses_of_the_recording),
		cmocka_unit_test(an_operation_whose_call_was_before_still_has_it),
		cmocka_unit_test(a_launch_whose_work_is_after_the_slice_is_not_missing),
		cmocka_unit_test(an_operation_without_times_goes_with_its_call),
		cmocka_unit_test(by_launch_work_goes_with_its_call_whenever_it_ran),
		cmocka_unit_test(imports_are_cut_to_the_slice),
		cmocka_unit_test(memory_from_before_the_slice_is_not_known),
		cmocka_unit_test(a_process_has_its_calls_and_operations),
		cmocka_unit_test(processes_can_each_have_a_span_of_their_own),
		cmocka_unit_test(a_thread_has_its_calls_and_their_operations),
		cmocka_unit_test(a_gpu_has_its_operations_their_calls_and_the_waits_of_those_threads),
		cmocka_unit_test(a_slice_is_the_same_whatever_the_parts_of_the_trace_are),
		cmocka_unit_test(each_part_of_a_slice_says_whether_more_follow),
		cmocka_unit_test(spans_one_after_the_other_are_had_in_one_round_and_an_earlier_one_in_another),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
