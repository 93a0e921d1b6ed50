/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Collections, imports and Python calls: matching ends with starts, and what the lists and the report make of them. */
#include "model_of.h"

#define A 0x7f0000001000ull
#define B 0x7f0000002000ull
#define END 100000

static void add_collection(struct log_builder *log, uint64_t time_ns, uint64_t frame, int64_t generation, bool ends)
{
	struct gpt_pyevent event = {.time_ns = time_ns,
				    .pid = PID,
				    .tid = TID,
				    .frame = frame,
				    .value = generation,
				    .kind = GPT_PYEVENT_GC,
				    .ends = ends};

	log_put(log, GPT_PYEVENT, &event, sizeof(event), NULL, 0);
}

static void add_import(struct log_builder *log, uint64_t time_ns, uint64_t frame, const char *name)
{
	struct gpt_pyevent event = {.time_ns = time_ns,
				    .pid = PID,
				    .tid = TID,
				    .frame = frame,
				    .value = -1,
				    .kind = GPT_PYEVENT_IMPORT,
				    .ends = !name,
				    .name_bytes = name ? (uint32_t)strlen(name) : 0};

	log_put(log, GPT_PYEVENT, &event, sizeof(event), name, event.name_bytes);
}

static void add_call(struct log_builder *log, uint32_t tid, uint64_t time_ns, uint64_t frame, uint64_t code)
{
	struct gpt_pycall record = {.time_ns = time_ns, .pid = PID, .tid = tid, .code = code, .frame = frame};

	log_put(log, GPT_PYCALL, &record, sizeof(record), NULL, 0);
}

static void begin_log(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_function(log, PID, A, "outer", "/src/train.py", 10);
	log_function(log, PID, B, "inner", "/src/train.py", 40);
}

static void assert_call(const struct model *model, uint32_t index, const char *name, uint64_t start_ns, uint64_t end_ns)
{
	assert_true(index < model->pycall_count);
	assert_string_equal(model->codes[model->pycalls[index].code].name, name);
	assert_int_equal(model->pycalls[index].start_ns, start_ns);
	assert_int_equal(model->pycalls[index].end_ns, end_ns);
}

static void a_collection_lasts_from_its_begin_to_its_end(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_collection(&log, 100, 0x9000, 2, false);
	add_collection(&log, 350, 0x9000, -1, true);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspan_count, 1);
	assert_int_equal(model->pyspans[0].kind, MODEL_SPAN_GC);
	assert_int_equal(model->pyspans[0].generation, 2);
	assert_int_equal(model->pyspans[0].start_ns, 100);
	assert_int_equal(model->pyspans[0].end_ns, 350);
	assert_false(model->pyspans[0].truncated);
	assert_int_equal(model->threads[model->pyspans[0].thread].tid, TID);
	model_free(model);
}

static void imports_nest_and_have_names(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_import(&log, 100, 0x9000, "outer");
	add_import(&log, 200, 0x8000, "outer.inner");
	add_collection(&log, 210, 0x7000, 0, false);
	add_collection(&log, 220, 0x7000, -1, true);
	add_import(&log, 300, 0x8000, NULL);
	add_import(&log, 400, 0x9000, NULL);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspan_count, 3);
	assert_string_equal(model->strings[model->pyspans[0].name], "outer");
	assert_int_equal(model->pyspans[0].end_ns, 400);
	assert_string_equal(model->strings[model->pyspans[1].name], "outer.inner");
	assert_int_equal(model->pyspans[1].end_ns, 300);
	assert_int_equal(model->pyspans[2].end_ns, 220);
	model_free(model);
}

static void a_name_is_read_as_the_interpreter_has_it(void **state)
{
	struct gpt_pyevent event = {.time_ns = 1,
				    .pid = PID,
				    .tid = TID,
				    .frame = 0x9000,
				    .kind = GPT_PYEVENT_IMPORT,
				    .name_kind = 2,
				    .name_bytes = 4};
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_put(&log, GPT_PYEVENT, &event, sizeof(event), (const uint16_t[]){0x3b1, 'b'}, 4);
	log_end(&log, END);
	model = model_of(&log);
	assert_string_equal(model->strings[model->pyspans[0].name], "\xce\xb1"
								    "b");
	model_free(model);
}

static void an_end_without_its_begin_ends_nothing(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_collection(&log, 50, 0x9000, -1, true);
	add_import(&log, 100, 0x8000, "a");
	add_collection(&log, 150, 0x8000, -1, true); /* the same frame, another kind */
	add_import(&log, 200, 0x8000, NULL);
	add_call(&log, TID, 300, 0x9000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspan_count, 1);
	assert_int_equal(model->pyspans[0].end_ns, 200);
	assert_int_equal(model->pycall_count, 0);
	assert_int_equal(model_source(model)->receipt.python_unpaired, 0);
	model_free(model);
}

static void an_end_whose_begin_was_lost_does_not_end_what_is_around_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_import(&log, 100, 0x9000, "a");
	add_import(&log, 150, 0x8000, NULL);
	add_import(&log, 200, 0x9000, NULL);
	add_call(&log, TID, 300, 0x9000, A);
	add_call(&log, TID, 350, 0x8000, 0);
	add_call(&log, TID, 400, 0x9000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspans[0].end_ns, 200);
	assert_call(model, 0, "outer", 300, 400);
	model_free(model);
}

static void what_has_not_ended_is_truncated_at_the_end_of_the_trace(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_import(&log, 100, 0x8000, "a");
	add_call(&log, TID, 300, 0x7000, A);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspans[0].end_ns, END);
	assert_true(model->pyspans[0].truncated);
	assert_call(model, 0, "outer", 300, END);
	assert_true(model->pycalls[0].truncated);
	model_free(model);
}

static void a_process_that_ends_takes_what_is_open_with_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 300, 0x7000, A);
	log_process_event(&log, GPT_EXIT, PID, 0, 900, "python3");
	log_end(&log, END);
	model = model_of(&log);
	assert_call(model, 0, "outer", 300, 900);
	model_free(model);
}

static void another_program_begins_with_nothing_open(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 300, 0x7000, A);
	log_process_event(&log, GPT_EXEC, PID, 0, 400, "python3");
	log_function(&log, PID, A, "later", "/src/b.py", 1);
	add_call(&log, TID, 500, 0x7000, A);
	add_call(&log, TID, 600, 0x7000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pycall_count, 2);
	assert_call(model, 0, "outer", 300, 400);
	assert_call(model, 1, "later", 500, 600);
	assert_int_equal(model_source(model)->receipt.python_unpaired, 0);
	model_free(model);
}

static void calls_are_ordered_by_thread_and_begin(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 100, 0x9000, A);
	add_call(&log, TID + 1, 110, 0x5000, B);
	add_call(&log, TID, 120, 0x8000, B);
	add_call(&log, TID + 1, 130, 0x5000, 0);
	add_call(&log, TID, 140, 0x8000, 0);
	add_call(&log, TID, 150, 0x9000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pycall_count, 3);
	assert_call(model, 0, "outer", 100, 150);
	assert_call(model, 1, "inner", 120, 140);
	assert_call(model, 2, "inner", 110, 130);
	assert_int_equal(model->threads[0].first_pycall, 0);
	assert_int_equal(model->threads[0].pycalls, 2);
	assert_int_equal(model->threads[1].first_pycall, 2);
	assert_int_equal(model->threads[1].pycalls, 1);
	model_free(model);
}

/* The second call's frame is where the first one's was, or above: the first is over, at an unknown time. */
static void a_call_whose_end_was_lost_is_left_out_and_counted(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 100, 0x9000, A);
	add_call(&log, TID, 120, 0x8000, B);
	add_call(&log, TID, 140, 0x8000, B);
	add_call(&log, TID, 150, 0x8000, 0);
	add_call(&log, TID, 160, 0x7000, B);
	add_call(&log, TID, 190, 0x9000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pycall_count, 2);
	assert_call(model, 0, "outer", 100, 190);
	assert_call(model, 1, "inner", 140, 150);
	assert_int_equal(model_source(model)->receipt.python_unpaired, 2);
	model_free(model);
}

static void calls_are_numbered_as_they_began_without_those_left_out(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 100, 0x9000, A);
	add_call(&log, TID, 110, 0x8000, B); /* its end is lost */
	add_call(&log, TID + 1, 120, 0x9000, A);
	add_call(&log, TID, 140, 0x8000, B);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pycall_count, 3);
	assert_int_equal(model->pycalls[0].number, 0);
	assert_int_equal(model->pycalls[1].number, 2);
	assert_int_equal(model->pycalls[2].number, 1);
	model_free(model);
}

static void a_code_object_no_one_described_is_unknown(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 100, 0x9000, 0xdead);
	log_end(&log, END);
	model = model_of(&log);
	assert_string_equal(model->codes[model->pycalls[0].code].name, "?");
	model_free(model);
}

static void impossible_events_are_bad_records(void **state)
{
	const struct gpt_pyevent events[] = {
		{.pid = PID, .tid = TID, .kind = 0},
		{.pid = PID, .tid = TID, .kind = 3},
		{.pid = PID, .tid = TID, .kind = GPT_PYEVENT_IMPORT, .name_bytes = 9},
		{.pid = PID, .tid = TID, .kind = GPT_PYEVENT_IMPORT, .name_bytes = UINT32_MAX},
		{.pid = PID, .tid = TID, .kind = GPT_PYEVENT_IMPORT, .name_kind = 3, .name_bytes = 3},
		{.pid = PID, .tid = TID, .kind = GPT_PYEVENT_IMPORT, .name_kind = 4, .name_bytes = 6},
	};
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		log_put(&log, GPT_PYEVENT, &events[i], sizeof(events[i]), "12345678", 8);
	log_end(&log, END);
	model = model_of(&log);
	assert_int_equal(model->pyspan_count, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, sizeof(events) / sizeof(events[0]));
	model_free(model);
}

static void an_end_before_its_begin_makes_no_slice_of_ages(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_call(&log, TID, 500, 0x9000, A);
	add_call(&log, TID, 400, 0x9000, 0);
	log_end(&log, END);
	model = model_of(&log);
	assert_call(model, 0, "outer", 500, 500);
	model_free(model);
}

static void records_lost_in_the_kernel_are_lost_in_the_receipt(void **state)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {[GPT_COUNTER_PYEVENT_LOST] = 3, [GPT_COUNTER_PYCALLS_LOST] = 4};
	struct gpt_end end = {.time_ns = END, .reason = GPT_END_DURATION, .counters_count = GPT_COUNTER_COUNT};
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_end_with(&log, &end, counters);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.lost, 7);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_collection_lasts_from_its_begin_to_its_end),
		cmocka_unit_test(imports_nest_and_have_names),
		cmocka_unit_test(a_name_is_read_as_the_interpreter_has_it),
		cmocka_unit_test(an_end_without_its_begin_ends_nothing),
		cmocka_unit_test(an_end_whose_begin_was_lost_does_not_end_what_is_around_it),
		cmocka_unit_test(what_has_not_ended_is_truncated_at_the_end_of_the_trace),
		cmocka_unit_test(a_process_that_ends_takes_what_is_open_with_it),
		cmocka_unit_test(another_program_begins_with_nothing_open),
		cmocka_unit_test(calls_are_ordered_by_thread_and_begin),
		cmocka_unit_test(a_call_whose_end_was_lost_is_left_out_and_counted),
		cmocka_unit_test(calls_are_numbered_as_they_began_without_those_left_out),
		cmocka_unit_test(a_code_object_no_one_described_is_unknown),
		cmocka_unit_test(impossible_events_are_bad_records),
		cmocka_unit_test(an_end_before_its_begin_makes_no_slice_of_ages),
		cmocka_unit_test(records_lost_in_the_kernel_are_lost_in_the_receipt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
