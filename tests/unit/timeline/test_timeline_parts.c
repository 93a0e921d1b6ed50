/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace in parts makes the same timeline as the whole. */
#include "timeline_of.h"

#include <errno.h>

#include "chrome_lines.h"
#include "python_log.h"
#include "sample_model.h"
#include "trace_cut.h"
#include "whole_trace.h"

static struct kept keep_cut(struct trace *cut)
{
	struct timeline *timeline = timeline_new(cut, -1);

	assert_non_null(timeline);
	return keep_all(timeline);
}

/* Cut anywhere, the trace has the events of the whole, apart from the numbers of Python slices. */
static void assert_same_events(const struct model *model, int process)
{
	struct trace_of_model of;
	struct chrome_lines whole = chrome_lines_of(chrome_text_of(trace_of_model(&of, model), process));

	for (uint32_t events = 1; events < 60; events += events / 3 + 1) {
		struct trace *cut = trace_cut_each(model, events);
		struct chrome_lines parts = chrome_lines_of(chrome_text_of(cut, process));

		if (!chrome_lines_are_same(&whole, &parts))
			fail_msg("cut after every %u events", events);
		chrome_lines_free(&parts);
		trace_cut_free(cut);
	}
	chrome_lines_free(&whole);
}

static void a_run_of_one_process_has_the_same_events_however_it_is_cut(void **state)
{
	struct model *model = sample_model(1, 20);

	assert_same_events(model, -1);
	model_free(model);
}

/* Calls, waits and arrows are renumbered. */
static void a_run_of_two_processes_has_the_same_numbers_however_it_is_cut(void **state)
{
	struct model *model = sample_model(2, 20);

	model->gpu[3].call = NONE;
	model->syncs[1].call = NONE;
	assert_same_events(model, -1);
	assert_same_events(model, 1);
	model_free(model);
}

/* A wait comes with the part in which it ends. */
static void waits_off_the_cpu_are_the_same_however_a_run_is_cut(void **state)
{
	struct model *model = sample_model(1, 20);
	struct model_wait waits[10];

	for (uint32_t i = 0; i < 10; i++) {
		const struct model_call *call = &model->calls[i * 4];

		waits[i] = (struct model_wait){.start_ns = call->start_ns,
					       .end_ns = model->calls[i * 4 + 20].start_ns,
					       .thread = call->thread,
					       .stack = call->stack,
					       .native = NONE,
					       .waker = NONE,
					       .waker_stack = NONE,
					       .holder = NONE,
					       .reason = GPT_WAIT_SLEEP};
	}
	model->waits = waits;
	model->wait_count = 10;
	assert_same_events(model, -1);
	model->waits = NULL;
	model->wait_count = 0;
	model_free(model);
}

/* A sample's slice is cut at the previous sample and at waits, which may be in an earlier part. */
static void samples_of_the_cpu_are_the_same_however_a_run_is_cut(void **state)
{
	struct model *model = NULL;
	const char *why;
	int fd = sample_log_of((struct sample){.cpu = true}, 2, 20);

	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	assert_int_equal(model->sample_count, 80);
	assert_int_equal(model->gpu_sample_count, 20);
	assert_same_events(model, -1);
	assert_same_events(model, 1);
	model_free(model);
}

static void a_part_without_anything_changes_nothing(void **state)
{
	struct model *model = sample_model(1, 3);
	uint64_t first = model->calls[0].start_ns, times[] = {first - 20, first - 10, first + 1, first + 2, first + 3};
	struct trace *cut = trace_cut_at(model, times, 5);
	struct trace_of_model of;
	struct chrome_lines whole = chrome_lines_of(chrome_text_of(trace_of_model(&of, model), -1));
	struct chrome_lines parts = chrome_lines_of(chrome_text_of(cut, -1));

	assert_true(chrome_lines_are_same(&whole, &parts));
	chrome_lines_free(&whole);
	chrome_lines_free(&parts);
	trace_cut_free(cut);
	model_free(model);
}

static void operations_beyond_all_rows_are_counted_once(void **state)
{
	struct model *model = sample_model(1, 400);
	struct trace *cut = trace_cut_each(model, 500);
	struct timeline *whole;
	struct kept parts;

	for (uint32_t i = 0; i < model->gpu_count; i++)
		model->gpu[i].end_ns = model->end_ns;
	whole = timeline_of(model, -1);
	parts = keep_cut(cut);
	assert_true(whole->omitted.gpu > 100);
	assert_int_equal(parts.timeline->omitted.gpu, whole->omitted.gpu);
	timeline_free(whole);
	kept_free(&parts);
	assert_same_events(model, -1);
	trace_cut_free(cut);
	model_free(model);
}

/* ---- arrows ------------------------------------------------------------------------------------------------------ */

static void an_arrow_to_a_later_part_is_that_parts(void **state)
{
	struct model *model = sample_model(1, 1);
	uint64_t behind_calls = model->calls[model->call_count - 1].start_ns + 1;
	const struct model_gpu *last = &model->gpu[model->gpu_count - 1];
	const struct kept_slice *call, *operation;
	struct trace *cut;
	struct kept kept;

	model->gpu[model->gpu_count - 1].start_ns = behind_calls + 1000;
	model->gpu[model->gpu_count - 1].end_ns = behind_calls + 2000;
	cut = trace_cut_at(model, &behind_calls, 1);
	kept = keep_cut(cut);
	call = operation = NULL;
	for (uint32_t i = 0; i < kept.slices.count; i++) {
		if (kept.slices.items[i].start_ns == last->start_ns)
			operation = &kept.slices.items[i];
		if (kept.slices.items[i].category <= TIMELINE_DRIVER_CALL &&
		    kept.slices.items[i].start_ns == model->calls[last->call].start_ns)
			call = &kept.slices.items[i];
	}
	assert_non_null(call);
	assert_non_null(operation);
	for (uint32_t i = 0; i < call->flow_out_count; i++)
		assert_int_not_equal(call->flows_out[i], operation->flow_in);
	assert_int_equal(operation->flow_from_track, call->track);
	assert_int_equal(operation->flow_from_ns, call->start_ns);
	kept_free(&kept);
	trace_cut_free(cut);
	model_free(model);
}

/* ---- Python ------------------------------------------------------------------------------------------------------ */

static void add_range(struct log_builder *log, uint32_t tid, uint16_t what, uint64_t ms, uint64_t id, const char *name,
		      const char *domain)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = ms * MS, .id = id, .tid = tid, .what = what}, name,
			domain);
}

/* Also on a thread of its own, which is silent most of the time. */
static void functions_from_stacks_go_on_over_parts(void **state)
{
	static const uint64_t stacks[] = {1, 1, 2, 3, 0, 2, 2, 1, 1, 3, 3, 1};
	struct log_builder log;
	struct model *model;
	struct trace *cut;
	struct kept kept;

	python_log_begin(&log);
	log_launch(&log, PID, PID + 1, 5 * MS, 1, 100);
	for (uint32_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++)
		log_launch(&log, PID, PID, (10 + i) * MS, stacks[i], i + 1);
	log_launch(&log, PID, PID + 1, 30 * MS, 1, 101);
	log_end(&log, 50 * MS);
	model = model_of(&log);
	assert_same_events(model, -1);
	cut = trace_cut_each(model, 1);
	kept = keep_cut(cut);
	for (uint32_t i = 0; i < kept.slices.count; i++)
		if (kept.slices.items[i].category == TIMELINE_PYTHON && kept.slices.items[i].start_ns == 5 * MS)
			assert_int_equal(kept.slices.items[i].end_ns, 30 * MS);
	kept_free(&kept);
	trace_cut_free(cut);
	model_free(model);
}

/*
 * main runs before the trace, step and forward are traced; the last step does not end. For a stack whose outer frames
 * are missing it is unknown what ran before the trace, also before anything was traced.
 */
static void traced_functions_go_on_over_parts(void **state)
{
	struct log_builder log;
	struct model *model;

	python_log_begin(&log);
	log_stack_truncated(&log, PID, 4, 2,
			    (struct gpt_pyframe[]){{.code = FORWARD, .lasti = 4}, {.code = STEP, .lasti = 6}});
	log_launch(&log, PID, PID, 5 * MS, 4, 1);
	for (uint64_t i = 1; i <= 4; i++) {
		python_log_call(&log, 10 * i, 0x9000, STEP);
		python_log_call(&log, 10 * i + 2, 0x8000, FORWARD);
		log_launch(&log, PID, PID, (10 * i + 3) * MS, i == 1 ? 0 : 1, (uint32_t)(3 * i));
		log_launch(&log, PID, PID, (10 * i + 4) * MS, 1, (uint32_t)(3 * i + 1));
		python_log_call(&log, 10 * i + 6, 0x8000, 0);
		log_launch(&log, PID, PID, (10 * i + 7) * MS, 3, (uint32_t)(3 * i + 2));
		if (i < 4)
			python_log_call(&log, 10 * i + 8, 0x9000, 0);
	}
	log_end(&log, 60 * MS);
	model = model_of(&log);
	assert_int_equal(model->pycall_count, 8);
	assert_same_events(model, -1);
	model_free(model);
}

/* Only the first part of a trace: what is still open goes to that part's end. */

struct cut_short {
	struct trace trace;
	struct trace *of;
	struct model part;
};

static const struct model *short_next(struct trace *trace)
{
	return NULL;
}

static const struct model *short_first(struct trace *trace)
{
	struct cut_short *cut = (struct cut_short *)trace;

	cut->part = *trace_first(cut->of);
	cut->part.more = false;
	return &cut->part;
}

static const struct trace_kind kind_short = {.first = short_first, .next = short_next};

static void what_is_open_when_the_last_part_ends_goes_until_there(void **state)
{
	uint64_t cut_ns = 25 * MS;
	struct log_builder log;
	struct cut_short cut = {.trace = {.kind = &kind_short}};
	struct model *model;
	struct kept kept;

	python_log_begin(&log);
	log_process(&log, PID, 1, 5, 1, 0x30c, "python3", "", "", "");
	python_log_call(&log, 10, 0x9000, STEP);
	log_launch(&log, PID, PID, 20 * MS, 3, 1);
	log_launch(&log, PID, PID, 30 * MS, 3, 2);
	python_log_call(&log, 40, 0x9000, 0);
	log_batch(&log, PID, PID, 45 * MS);
	add_range(&log, PID, GPT_AGENT_RANGE_PUSHED, 15, 0, "epoch", "");
	add_range(&log, PID, GPT_AGENT_RANGE_POPPED, 35, 0, "", "");
	log_end(&log, 50 * MS);
	model = model_of(&log);
	cut.of = trace_cut_at(model, &cut_ns, 1);
	kept = keep_cut(&cut.trace);
	assert_int_equal(count_of_category(&kept, TIMELINE_PYTHON), 2);
	assert_string_equal(nth(&kept, TIMELINE_PYTHON, 0)->name, "main");
	assert_int_equal(nth(&kept, TIMELINE_PYTHON, 0)->end_ns, cut_ns);
	assert_string_equal(nth(&kept, TIMELINE_PYTHON, 1)->name, "step");
	assert_int_equal(nth(&kept, TIMELINE_PYTHON, 1)->end_ns, cut_ns);
	assert_string_equal(arg_of(nth(&kept, TIMELINE_PYTHON, 1), TIMELINE_ARG_END)->text, "not seen");
	assert_int_equal(nth(&kept, TIMELINE_RANGE, 0)->end_ns, cut_ns);
	kept_free(&kept);
	trace_cut_free(cut.of);
	model_free(model);
}

/* ---- NVTX -------------------------------------------------------------------------------------------------------- */

/* Ranges on two threads, the second of which is met first. */
static void ranges_keep_row_and_number_over_parts(void **state)
{
	struct log_builder log;
	struct model *model;

	python_log_begin(&log);
	log_process(&log, PID, 1, 5, 1, 0x30c, "python3", "", "", "");
	log_launch(&log, PID, PID, 1 * MS, 1, 1);
	log_launch(&log, PID, TID, 2 * MS, 1, 2);
	log_batch(&log, PID, PID, 49 * MS);
	add_range(&log, TID, GPT_AGENT_RANGE_PUSHED, 8, 0, "other thread", "library");
	add_range(&log, PID, GPT_AGENT_RANGE_PUSHED, 10, 0, "outer", "");
	add_range(&log, PID, GPT_AGENT_RANGE_PUSHED, 11, 0, "inner", "");
	add_range(&log, PID, GPT_AGENT_RANGE_MARK, 12, 0, "mark", "");
	add_range(&log, PID, GPT_AGENT_RANGE_POPPED, 13, 0, "", "");
	add_range(&log, PID, GPT_AGENT_RANGE_STARTED, 14, 1, "first", "");
	add_range(&log, PID, GPT_AGENT_RANGE_STARTED, 15, 2, "second", "");
	add_range(&log, PID, GPT_AGENT_RANGE_ENDED, 16, 1, "", "");
	add_range(&log, PID, GPT_AGENT_RANGE_STARTED, 17, 3, "third, where the first was", "");
	add_range(&log, PID, GPT_AGENT_RANGE_STARTED, 18, 4, "fourth", "library");
	add_range(&log, PID, GPT_AGENT_RANGE_POPPED, 20, 0, "", "");
	add_range(&log, PID, GPT_AGENT_RANGE_PUSHED, 21, 0, "outer again", "");
	add_range(&log, TID, GPT_AGENT_RANGE_POPPED, 30, 0, "", "library");
	log_end(&log, 50 * MS);
	model = model_of(&log);
	assert_int_equal(model->range_count, 9);
	assert_same_events(model, -1);
	model_free(model);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/* Returns this many parts, then an error. */
struct broken {
	struct trace trace;
	struct trace *of;
	uint32_t parts;
};

static const struct model *broken_next(struct trace *trace)
{
	struct broken *broken = (struct broken *)trace;

	if (broken->parts--)
		return trace_next(broken->of);
	trace->error = -EIO;
	return NULL;
}

static const struct model *broken_first(struct trace *trace)
{
	struct broken *broken = (struct broken *)trace;

	if (broken->parts--)
		return trace_first(broken->of);
	trace->error = -EIO;
	return NULL;
}

static const struct trace_kind kind_broken = {.first = broken_first, .next = broken_next};

static void a_trace_that_cannot_be_read_to_its_end_makes_no_file(void **state)
{
	struct model *model = sample_model(1, 3);
	struct trace *cut = trace_cut_each(model, 5);
	struct broken broken = {.trace = {.kind = &kind_broken}, .of = cut, .parts = 0};

	assert_null(timeline_new(&broken.trace, -1));
	assert_int_equal(broken.trace.error, -EIO);
	broken = (struct broken){.trace = {.kind = &kind_broken}, .of = cut, .parts = 2};
	assert_null(chrome_text_of(&broken.trace, -1));
	assert_int_equal(broken.trace.error, -EIO);
	trace_cut_free(cut);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_of_one_process_has_the_same_events_however_it_is_cut),
		cmocka_unit_test(a_run_of_two_processes_has_the_same_numbers_however_it_is_cut),
		cmocka_unit_test(waits_off_the_cpu_are_the_same_however_a_run_is_cut),
		cmocka_unit_test(samples_of_the_cpu_are_the_same_however_a_run_is_cut),
		cmocka_unit_test(a_part_without_anything_changes_nothing),
		cmocka_unit_test(operations_beyond_all_rows_are_counted_once),
		cmocka_unit_test(an_arrow_to_a_later_part_is_that_parts),
		cmocka_unit_test(functions_from_stacks_go_on_over_parts),
		cmocka_unit_test(traced_functions_go_on_over_parts),
		cmocka_unit_test(what_is_open_when_the_last_part_ends_goes_until_there),
		cmocka_unit_test(ranges_keep_row_and_number_over_parts),
		cmocka_unit_test(a_trace_that_cannot_be_read_to_its_end_makes_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
