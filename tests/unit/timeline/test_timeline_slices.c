/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Slices, arrows and memory in a timeline. */
#include "timeline_of.h"

#include "sample_model.h"

static void every_call_and_operation_is_one_slice(void **state)
{
	struct model *model = sample_model(1, 3);
	struct kept kept = keep(model, -1);

	assert_int_equal(count_of_category(&kept, TIMELINE_RUNTIME_CALL), 15);
	assert_int_equal(count_of_category(&kept, TIMELINE_DRIVER_CALL), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_KERNEL), 15);
	assert_int_equal(count_of_category(&kept, TIMELINE_MEMCPY), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_MEMSET), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_SYNC), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_CUPTI), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_GC), 3);
	assert_int_equal(count_of_category(&kept, TIMELINE_IMPORT), 2);
	assert_int_equal(kept.memories.count, 9);
	kept_free(&kept);
	model_free(model);
}

static void a_call_has_its_times_stack_and_correlation(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct kept_slice *call = nth(&kept, TIMELINE_RUNTIME_CALL, 0);

	assert_string_equal(call->name, "cudaLaunchKernel");
	assert_string_equal(label_of(&kept, call->track), "thread 41230 (python3)");
	assert_int_equal(call->start_ns, SAMPLE_START + 1000000);
	assert_int_equal(call->end_ns, SAMPLE_START + 1004000);
	assert_int_equal(arg_of(call, TIMELINE_ARG_CBID)->number, 211);
	assert_int_equal(arg_of(call, TIMELINE_ARG_CORRELATION)->number, 1);
	assert_string_equal(call->stack, "Block.forward:42;train_step:23;main:97;");
	assert_null(arg_of(call, TIMELINE_ARG_END));
	assert_null(arg_of(call, TIMELINE_ARG_CUPTI_CORRELATION));
	kept_free(&kept);
	model_free(model);
}

static void a_stack_says_where_frames_were_left_out(void **state)
{
	struct model *model = sample_model(1, 1);
	struct model_stack *stack = &model->stacks[model->calls[0].stack];
	struct kept kept;

	stack->gap = 1;
	stack->missing = 872;
	kept = keep(model, -1);
	assert_string_equal(nth(&kept, TIMELINE_RUNTIME_CALL, 0)->stack,
			    "Block.forward:42;[872];train_step:23;main:97;");
	kept_free(&kept);
	model_free(model);
}

static void a_call_without_a_stack_says_why(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct kept_slice *call = nth(&kept, TIMELINE_DRIVER_CALL, 0);

	assert_null(arg_of(call, TIMELINE_ARG_STACK));
	assert_string_equal(arg_of(call, TIMELINE_ARG_NO_STACK)->text, "not a Python thread");
	kept_free(&kept);
	model_free(model);
}

static void a_call_ends_before_the_next_of_its_thread_begins(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept;

	model->calls[0].end_ns = model->calls[2].start_ns;
	model->calls[1].end_ns = 0;
	kept = keep(model, -1);
	assert_int_equal(nth(&kept, TIMELINE_RUNTIME_CALL, 0)->end_ns, model->calls[1].start_ns);
	assert_int_equal(nth(&kept, TIMELINE_RUNTIME_CALL, 1)->end_ns, model->calls[1].start_ns);
	assert_string_equal(arg_of(nth(&kept, TIMELINE_RUNTIME_CALL, 1), TIMELINE_ARG_END)->text, "not seen");
	kept_free(&kept);
	model_free(model);
}

/* Two processes use the same numbers. */
static void each_arrow_leads_from_one_call_to_one_operation(void **state)
{
	struct model *model = sample_model(2, 3);
	struct kept kept = keep(model, -1);
	uint32_t ends = 0, begins = 0;

	for (uint32_t i = 0; i < kept.slices.count; i++) {
		const struct kept_slice *to = &kept.slices.items[i];
		uint32_t from = 0;

		begins += to->flow_out_count;
		if (!to->flow_in)
			continue;
		ends++;
		for (uint32_t k = 0; k < kept.slices.count; k++)
			for (uint32_t f = 0; f < kept.slices.items[k].flow_out_count; f++)
				if (kept.slices.items[k].flows_out[f] == to->flow_in) {
					assert_true(kept.slices.items[k].start_ns <= to->start_ns);
					from++;
				}
		assert_int_equal(from, 1);
	}
	assert_int_equal(ends, model->gpu_count);
	assert_int_equal(begins, ends);
	kept_free(&kept);
	model_free(model);
}

static void no_arrow_points_back_in_time(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept;

	model->gpu[0].start_ns = model->calls[model->gpu[0].call].start_ns - 1;
	kept = keep(model, -1);
	assert_int_equal(nth(&kept, TIMELINE_RUNTIME_CALL, 0)->flow_out_count, 0);
	assert_int_equal(nth(&kept, TIMELINE_KERNEL, 0)->flow_in, 0);
	assert_int_equal(nth(&kept, TIMELINE_KERNEL, 1)->flow_in, 4);
	kept_free(&kept);
	model_free(model);
}

static void calls_of_two_processes_have_different_correlations(void **state)
{
	struct model *model = sample_model(2, 2);
	struct kept kept = keep(model, -1);
	uint32_t calls = 0;

	for (uint32_t i = 0; i < kept.slices.count; i++) {
		const struct kept_slice *call = &kept.slices.items[i];

		if (call->category != TIMELINE_RUNTIME_CALL && call->category != TIMELINE_DRIVER_CALL)
			continue;
		assert_non_null(arg_of(call, TIMELINE_ARG_CUPTI_CORRELATION));
		for (uint32_t k = 0; k < i; k++)
			if (kept.slices.items[k].category == call->category)
				assert_int_not_equal(arg_of(call, TIMELINE_ARG_CORRELATION)->number,
						     arg_of(&kept.slices.items[k], TIMELINE_ARG_CORRELATION)->number);
		calls++;
	}
	assert_int_equal(calls, model->call_count);
	kept_free(&kept);
	model_free(model);
}

/* Also where their numbers happen to differ: CUPTI's own numbers are given as an argument. */
static void calls_of_several_processes_are_always_numbered_again(void **state)
{
	struct model *model = sample_model(2, 1);
	struct kept kept;

	for (uint32_t i = 0; i < model->call_count; i++)
		if (model->threads[model->calls[i].thread].process == 1)
			model->calls[i].corr += 1000;
	kept = keep(model, -1);
	assert_int_equal(arg_of(nth(&kept, TIMELINE_RUNTIME_CALL, 0), TIMELINE_ARG_CUPTI_CORRELATION)->number, 1);
	kept_free(&kept);
	kept = keep(model, 1);
	assert_int_equal(arg_of(nth(&kept, TIMELINE_RUNTIME_CALL, 0), TIMELINE_ARG_CORRELATION)->number, 1001);
	assert_null(arg_of(nth(&kept, TIMELINE_RUNTIME_CALL, 0), TIMELINE_ARG_CUPTI_CORRELATION));
	kept_free(&kept);
	model_free(model);
}

static void a_kernel_is_on_its_stream_with_what_it_was_launched_with(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct kept_slice *kernel = nth(&kept, TIMELINE_KERNEL, 0), *overlap = nth(&kept, TIMELINE_KERNEL, 2);

	assert_string_equal(kernel->name, "void gemm<128>(float const*, float*)");
	assert_string_equal(label_of(&kept, kernel->track), "stream 7");
	assert_int_equal(arg_of(kernel, TIMELINE_ARG_STREAM)->stream.track, kernel->track);
	assert_int_equal(arg_of(kernel, TIMELINE_ARG_CORRELATION)->number, 1);
	assert_int_equal(arg_of(kernel, TIMELINE_ARG_GRID)->triple[0], 264);
	assert_int_equal(arg_of(kernel, TIMELINE_ARG_OCCUPANCY)->number, 25);
	/* On another row, of the same stream. */
	assert_string_equal(label_of(&kept, overlap->track), "stream 7 (overlap 1)");
	assert_int_equal(arg_of(overlap, TIMELINE_ARG_STREAM)->stream.track, kernel->track);
	kept_free(&kept);
	model_free(model);
}

static void a_wait_names_the_stream_it_waited_for(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct kept_slice *wait = nth(&kept, TIMELINE_SYNC, 0);

	assert_string_equal(wait->name, "Stream Sync");
	assert_int_equal(arg_of(wait, TIMELINE_ARG_STREAM)->stream.track, nth(&kept, TIMELINE_KERNEL, 0)->track);
	kept_free(&kept);
	model->syncs[0].kind = GPT_AGENT_SYNC_EVENT;
	model->syncs[0].stream = NONE;
	model->syncs[0].event = 3;
	model->syncs[0].recorded_on = 9; /* nothing ran on this stream */
	kept = keep(model, -1);
	wait = nth(&kept, TIMELINE_SYNC, 0);
	assert_int_equal(arg_of(wait, TIMELINE_ARG_STREAM)->stream.stream, TIMELINE_NONE);
	assert_int_equal(arg_of(wait, TIMELINE_ARG_EVENT_STREAM)->stream.stream, 9);
	assert_int_equal(arg_of(wait, TIMELINE_ARG_EVENT_STREAM)->stream.track, TIMELINE_NONE);
	assert_int_equal(arg_of(wait, TIMELINE_ARG_EVENT_RECORD)->number, 0);
	kept_free(&kept);
	model_free(model);
}

static void collections_and_imports_are_beside_their_thread(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct kept_slice *collection = nth(&kept, TIMELINE_GC, 0), *import = nth(&kept, TIMELINE_IMPORT, 0);

	assert_string_equal(collection->name, "gc generation 1");
	assert_string_equal(import->name, "import model");
	assert_string_equal(label_of(&kept, import->track), "thread 41230 collections, imports");
	assert_int_equal(import->end_ns - import->start_ns, 500000);
	assert_string_equal(arg_of(import, TIMELINE_ARG_MODULE)->text, "model");
	kept_free(&kept);
	model_free(model);
}

static void memory_is_a_value_of_its_counter(void **state)
{
	struct model *model = sample_model(1, 1);
	struct kept kept = keep(model, -1);
	const struct timeline_memory *memory = kept.memories.items;

	assert_int_equal(kept.memories.count, 3);
	assert_int_equal(memory[0].held_bytes, 1000000);
	assert_int_equal(memory[1].held_bytes, 2000000);
	assert_int_equal(memory[2].held_bytes, 1000000);
	assert_true(memory[2].released);
	assert_int_equal(memory[2].bytes, 1000000);
	assert_string_equal(memory[0].kind, "device");
	assert_string_equal(label_of(&kept, memory[0].track), "thread 41230 (python3)");
	assert_int_equal(memory[0].counter, 0);
	kept_free(&kept);
	model->memories[2].other = NONE; /* its allocation was before the trace */
	kept = keep(model, -1);
	assert_int_equal(kept.memories.items[2].held_bytes, 2000000);
	kept_free(&kept);
	model_free(model);
}

static int by_track_start_end(const void *left, const void *right)
{
	const struct kept_slice *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static void slices_of_a_track_nest_or_do_not_meet(void **state)
{
	struct model *model = sample_model(2, 20);
	struct kept kept = keep(model, -1);
	uint64_t open[64];
	uint32_t depth = 0;

	qsort(kept.slices.items, kept.slices.count, sizeof(*kept.slices.items), by_track_start_end);
	for (uint32_t i = 0; i < kept.slices.count; i++) {
		const struct kept_slice *slice = &kept.slices.items[i];

		if (i && slice[-1].track != slice->track)
			depth = 0;
		while (depth && open[depth - 1] <= slice->start_ns)
			depth--;
		if (depth)
			assert_true(slice->end_ns <= open[depth - 1]);
		open[depth++] = slice->end_ns;
	}
	kept_free(&kept);
	model_free(model);
}

static bool count_three(void *context, const struct timeline_slice *slice)
{
	return ++*(uint32_t *)context < 3;
}

static void a_visitor_that_has_had_enough_gets_no_more(void **state)
{
	struct model *model = sample_model(1, 2);
	struct timeline *timeline = timeline_of(model, -1);
	uint32_t seen = 0;

	timeline_visit(timeline, &(struct timeline_visitor){.context = &seen, .slice = count_three});
	assert_int_equal(seen, 3);
	timeline_free(timeline);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_call_and_operation_is_one_slice),
		cmocka_unit_test(a_call_has_its_times_stack_and_correlation),
		cmocka_unit_test(a_stack_says_where_frames_were_left_out),
		cmocka_unit_test(a_call_without_a_stack_says_why),
		cmocka_unit_test(a_call_ends_before_the_next_of_its_thread_begins),
		cmocka_unit_test(each_arrow_leads_from_one_call_to_one_operation),
		cmocka_unit_test(no_arrow_points_back_in_time),
		cmocka_unit_test(calls_of_two_processes_have_different_correlations),
		cmocka_unit_test(calls_of_several_processes_are_always_numbered_again),
		cmocka_unit_test(a_kernel_is_on_its_stream_with_what_it_was_launched_with),
		cmocka_unit_test(a_wait_names_the_stream_it_waited_for),
		cmocka_unit_test(collections_and_imports_are_beside_their_thread),
		cmocka_unit_test(memory_is_a_value_of_its_counter),
		cmocka_unit_test(slices_of_a_track_nest_or_do_not_meet),
		cmocka_unit_test(a_visitor_that_has_had_enough_gets_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
