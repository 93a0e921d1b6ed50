/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python and native stacks: the meaning of an address depends on the place in the log. */
#include "model_of.h"

#define A 0x7f0000001000ull
#define B 0x7f0000002000ull

static void add_stack(struct log_builder *log, uint64_t id, uint64_t code, int32_t lasti)
{
	log_stack(log, PID, id, 1, &(struct gpt_pyframe){.code = code, .lasti = lasti});
}

static void a_call_has_its_python_stack_innermost_first(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/train.py", 10);
	log_function(&log, PID, B, "Block.forward", "/src/model.py", 40);
	log_stack_truncated(&log, PID, 5, 2, (struct gpt_pyframe[]){{.code = B, .lasti = 4}, {.code = A, .lasti = 20}});
	log_launch(&log, PID, TID, 100, 5, 1);
	model = model_of(&log);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_OK);
	assert_int_equal(model->stacks[model->calls[0].stack].depth, 2);
	assert_int_equal(model->stacks[model->calls[0].stack].missing, MODEL_MISSING_UNKNOWN);
	assert_int_equal(model->stacks[model->calls[0].stack].gap, 2);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "Block.forward (/src/model.py:42)");
	assert_string_equal(frame_text(model, model->calls[0].stack, 1), "main (/src/train.py:20)");
	assert_int_equal(model->codes[0].first_line, 10);
	assert_true(model->codes[0].described);
	model_free(model);
}

static void a_frame_that_has_not_started_is_on_the_first_line(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_code(&log, PID, A, "gen", NULL, "/src/a.py", 10, GPT_LINES_LNOTAB, "", 0);
	add_stack(&log, 1, A, -1);
	model = model_of(&log);
	assert_string_equal(frame_text(model, 0, 0), "gen (/src/a.py:10)");
	model_free(model);
}

static void cells_of_a_notebook_are_numbered_as_the_trace_meets_them(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "<module>", "/tmp/ipykernel_812/2903183.py", 1);
	log_function(&log, PID, B, "<module>", "/tmp/ipykernel_812/77.py", 1);
	log_function(&log, PID, A + 8, "f", "/tmp/ipykernel_812/2903183.py", 5);
	log_function(&log, PID, B + 8, "g", "/tmp/ipykernel_812/setup.py", 5);
	log_stack_truncated(&log, PID, 5, 4,
			    (struct gpt_pyframe[]){{.code = A}, {.code = B}, {.code = A + 8}, {.code = B + 8}});
	log_launch(&log, PID, TID, 100, 5, 1);
	model = model_of(&log);
	assert_string_equal(frame_text(model, 0, 0), "<module> (/tmp/ipykernel_812/cell 1:1)");
	assert_string_equal(frame_text(model, 0, 1), "<module> (/tmp/ipykernel_812/cell 2:1)");
	assert_string_equal(frame_text(model, 0, 2), "f (/tmp/ipykernel_812/cell 1:5)");
	assert_string_equal(frame_text(model, 0, 3), "g (/tmp/ipykernel_812/setup.py:5)");
	model_free(model);
}

static void a_stack_without_a_line_is_no_line_in_the_receipt(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/train.py", 10);
	/* the table is longer than gputrace reads, so none of it was sent */
	log_put(&log, GPT_CODE,
		&(struct gpt_code){.code = B,
				   .pid = PID,
				   .first_line = 1,
				   .filename_bytes = 4,
				   .filename_kind = 1,
				   .linetable = GPT_LINES_LNOTAB,
				   .linetable_bytes = 300 << 10},
		sizeof(struct gpt_code), "a.py\0\0\0", 8);
	add_stack(&log, 1, A, 4);
	add_stack(&log, 2, B, 4);
	log_launch(&log, PID, TID, 100, 1, 1);
	log_launch(&log, PID, TID, 101, 2, 2);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.launches_with_stack, 2);
	assert_int_equal(model_source(model)->receipt.launches_with_line, 1);
	model_free(model);
}

static void an_address_means_the_latest_code_object_before_the_stack(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "old", "/src/a.py", 10);
	add_stack(&log, 1, A, 0);
	log_function(&log, PID, A, "new", "/src/b.py", 20);
	add_stack(&log, 2, A, 0);
	log_launch(&log, PID, TID, 100, 2, 1);
	log_launch(&log, PID, TID, 101, 1, 2); /* an old stack keeps its meaning */
	model = model_of(&log);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "new (/src/b.py:20)");
	assert_string_equal(frame_text(model, model->calls[1].stack, 0), "old (/src/a.py:10)");
	model_free(model);
}

static void a_dead_code_object_is_not_described_by_its_past(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "old", "/src/a.py", 10);
	log_code_dead(&log, (struct gpt_code_dead){.code = A, .pid = PID});
	add_stack(&log, 1, A, 0);
	model = model_of(&log);
	assert_string_equal(frame_text(model, 0, 0), "? (:0)");
	assert_false(model->codes[model->frames[model->stack_frames[0]].code].described);
	model_free(model);
}

static void two_processes_have_their_own_addresses_and_stack_ids(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, 1, A, "one", "/src/a.py", 10);
	log_function(&log, 2, A, "two", "/src/b.py", 20);
	log_stack(&log, 2, 9, 1, &(struct gpt_pyframe){.code = A});
	log_stack(&log, 1, 9, 1, &(struct gpt_pyframe){.code = A});
	log_launch(&log, 1, 1, 100, 9, 1);
	log_launch(&log, 2, 2, 101, 9, 1);
	model = model_of(&log);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "one (/src/a.py:10)");
	assert_string_equal(frame_text(model, model->calls[1].stack, 0), "two (/src/b.py:20)");
	model_free(model);
}

static void exec_forgets_code_stacks_and_correlation_ids(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "before", "/src/a.py", 10);
	add_stack(&log, 9, A, 0);
	log_launch(&log, PID, PID, 100, 9, 1);
	log_process_event(&log, GPT_EXEC, PID, 0, 110, "after");
	log_launch(&log, PID, PID, 120, 9, 1);
	add_stack(&log, 10, A, 0);
	log_launch(&log, PID, PID, 130, 10, 2);
	log_batch(&log, PID, PID, 200);
	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 140, .end_wall_ns = 150, .corr = 1});
	model = model_of(&log);
	assert_int_equal(model->process_count, 1);
	assert_string_equal(model->processes[0].name, "after");
	assert_int_equal(model->call_count, 3);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "before (/src/a.py:10)");
	assert_int_equal(model->calls[1].stack, NONE);
	assert_int_equal(model->calls[1].stack_state, GPT_STACK_LOST);
	assert_string_equal(frame_text(model, model->calls[2].stack, 0), "? (:0)");
	assert_int_equal(model->gpu[0].call, 1);
	model_free(model);
}

static void the_reason_for_no_stack_is_kept(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	for (uint8_t reason = 0; reason <= GPT_STACK_STATES; reason++)
		log_call(&log,
			 (struct gpt_call){
				 .time_ns = reason, .pid = PID, .tid = TID, .api = CUDA_LAUNCH, .stack_state = reason});
	model = model_of(&log);
	for (uint8_t reason = GPT_STACK_NO_PYTHON; reason <= GPT_STACK_LOST; reason++)
		assert_int_equal(model->calls[reason].stack_state, reason);
	/* a state with a stack, but no stack: it was lost */
	assert_int_equal(model->calls[GPT_STACK_OK].stack_state, GPT_STACK_LOST);
	assert_int_equal(model->calls[GPT_STACK_BACKWARD].stack_state, GPT_STACK_LOST);
	assert_int_equal(model->calls[GPT_STACK_NOT_RECORDED].stack_state, GPT_STACK_NOT_RECORDED);
	assert_int_equal(model->calls[GPT_STACK_FILTERED].stack_state, GPT_STACK_FILTERED);
	assert_int_equal(model->calls[GPT_STACK_LOWERED].stack_state, GPT_STACK_LOWERED);
	assert_int_equal(model->calls[GPT_STACK_STATES].stack_state, GPT_STACK_UNREADABLE);
	assert_int_equal(model_source(model)->receipt.calls_with_stack, 0);
	model_free(model);
}

static void backward_work_stands_under_the_stack_of_its_caller(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "train", "/src/a.py", 10);
	add_stack(&log, 1, A, 4);
	log_call(&log, (struct gpt_call){.time_ns = 5,
					 .pid = PID,
					 .tid = TID,
					 .stack_id = 1,
					 .corr = 1,
					 .api = CUDA_LAUNCH,
					 .stack_state = GPT_STACK_BACKWARD});
	model = model_of(&log);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_BACKWARD);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "train (/src/a.py:12)");
	assert_int_equal(model_source(model)->receipt.calls_with_stack, 1);
	assert_int_equal(model_source(model)->receipt.launches_with_stack, 1);
	model_free(model);
}

static void frames_that_the_interpreter_pushes_for_itself_are_left_out(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/a.py", 10);
	log_code(&log, PID, B, "__init__", "__init__", "__init__", 0, GPT_LINES_LOCATIONS, "", 0);
	log_stack(&log, PID, 1, 2, (struct gpt_pyframe[]){{.code = A, .lasti = 0}, {.code = B, .lasti = 2}});
	log_stack(&log, PID, 2, 1, &(struct gpt_pyframe){.code = B, .lasti = 2});
	log_launch(&log, PID, TID, 100, 1, 1);
	log_launch(&log, PID, TID, 101, 2, 2);
	model = model_of(&log);
	assert_int_equal(model->stacks[model->calls[0].stack].depth, 1);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "main (/src/a.py:10)");
	assert_int_equal(model->calls[1].stack, NONE);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void a_stack_with_what_is_no_code_object_in_it_is_none(void **state)
{
	const struct gpt_pyframe astray[] = {{.code = A, .lasti = 4}, {.code = B, .lasti = 8}};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/train.py", 10);
	log_code(&log, PID, B, NULL, NULL, NULL, 0, 0, NULL, 0); /* not even its type is right */
	log_stack(&log, PID, 5, 2, astray);
	log_stack(&log, PID, 6, 1, astray);
	log_launch(&log, PID, TID, 100, 5, 1);
	log_launch(&log, PID, TID, 101, 6, 2);
	model = model_of(&log);
	assert_int_equal(model->calls[0].stack, NONE);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_UNREADABLE);
	assert_string_equal(frame_text(model, model->calls[1].stack, 0), "main (/src/train.py:12)");
	assert_int_equal(model_source(model)->receipt.launches_with_stack, 1);
	model_free(model);
}

static void equal_stacks_and_frames_are_one(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, 1, A, "f", "/src/a.py", 10);
	log_function(&log, 2, B, "f", "/src/a.py", 10); /* the same function in another process */
	log_stack(&log, 1, 1, 2, (struct gpt_pyframe[]){{.code = A, .lasti = 2}, {.code = A, .lasti = 4}});
	log_stack(&log, 1, 2, 2, (struct gpt_pyframe[]){{.code = A, .lasti = 3}, {.code = A, .lasti = 5}});
	log_stack(&log, 2, 1, 2, (struct gpt_pyframe[]){{.code = B, .lasti = 2}, {.code = B, .lasti = 4}});
	log_stack_truncated(&log, 2, 2, 2, (struct gpt_pyframe[]){{.code = B, .lasti = 2}, {.code = B, .lasti = 4}});
	model = model_of(&log);
	assert_int_equal(model->code_count, 1);
	assert_int_equal(model->frame_count, 2);
	assert_int_equal(model->stack_count, 2); /* a truncated stack does not equal a whole one */
	assert_int_equal(model->stack_frame_count, 4);
	model_free(model);
}

/*
 * The form in which bpf/ sends a stack that is too deep: code A inside, code B outside, `missing` frames between them.
 */
static void log_deep_stack(struct log_builder *log, uint64_t id, int32_t missing)
{
	struct gpt_pyframe frames[GPT_PYSTACK_MAX_FRAMES];
	uint32_t gap = GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES - 1;

	for (uint32_t i = 0; i < GPT_PYSTACK_MAX_FRAMES; i++)
		frames[i] = (struct gpt_pyframe){.code = i < gap ? A : B, .lasti = 4};
	frames[gap] = (struct gpt_pyframe){.lasti = missing};
	log_stack_truncated(log, PID, id, GPT_PYSTACK_MAX_FRAMES, frames);
	log_launch(log, PID, TID, 100 + id, id, (uint32_t)id);
}

static void a_stack_that_is_too_deep_keeps_both_ends(void **state)
{
	struct log_builder log;
	const struct model_stack *stack;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "inner", "/src/train.py", 10);
	log_function(&log, PID, B, "outer", "/src/train.py", 40);
	log_deep_stack(&log, 1, 872);
	log_deep_stack(&log, 2, 873);
	model = model_of(&log);
	stack = &model->stacks[model->calls[0].stack];
	assert_int_equal(stack->depth, 127);
	assert_int_equal(stack->missing, 872);
	assert_int_equal(stack->gap, 95);
	assert_string_equal(frame_text(model, model->calls[0].stack, 94), "inner (/src/train.py:12)");
	assert_string_equal(frame_text(model, model->calls[0].stack, 95), "outer (/src/train.py:42)");
	assert_int_not_equal(model->calls[0].stack, model->calls[1].stack);
	model_free(model);
}

static void a_frame_without_code_is_a_gap_only_where_one_can_be(void **state)
{
	const struct gpt_pyframe frames[] = {{.code = A, .lasti = 4}, {.lasti = 7}, {.code = A, .lasti = 6}};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/train.py", 10);
	log_stack(&log, PID, 1, 3, frames);
	log_launch(&log, PID, TID, 100, 1, 1);
	log_stack_truncated(&log, PID, 2, 3, frames);
	log_launch(&log, PID, TID, 200, 2, 2);
	model = model_of(&log);
	assert_int_equal(model->stacks[model->calls[0].stack].missing, 0);
	assert_int_equal(model->stacks[model->calls[0].stack].depth, 3);
	assert_int_equal(model->stacks[model->calls[1].stack].missing, MODEL_MISSING_UNKNOWN);
	model_free(model);
}

static void a_frame_that_has_not_begun_is_left_out(void **state)
{
	const struct gpt_code record = {.code = B,
					.pid = PID,
					.first_line = 40,
					.name_bytes = 8,
					.name_kind = 1,
					.linetable = GPT_LINES_LOCATIONS,
					.first_traceable = 6};
	const struct gpt_pyframe frames[] = {
		{.code = B, .lasti = 4}, {.code = B, .lasti = 6}, {.code = A, .lasti = 20}};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_function(&log, PID, A, "main", "/src/train.py", 10);
	log_put(&log, GPT_CODE, &record, sizeof(record), "with_del", 8);
	log_stack(&log, PID, 1, 3, frames);
	log_launch(&log, PID, TID, 100, 1, 1);
	model = model_of(&log);
	assert_int_equal(model->stacks[model->calls[0].stack].depth, 2);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "with_del (:0)");
	model_free(model);
}

static void a_second_description_may_come_after_the_first_was_needed(void **state)
{
	const uint8_t table[] = {2, 1};
	struct gpt_code_lines event = {.code = A, .pid = PID, .bytes = sizeof(table)};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_code(&log, PID, A, "f", NULL, "/src/a.py", 10, GPT_LINES_LNOTAB, table, sizeof(table));
	add_stack(&log, 1, A, 2);
	log_put(&log, GPT_CODE_LINES, &event, sizeof(event), table, sizeof(table));
	event.offset = 1;
	log_put(&log, GPT_CODE_LINES, &event, sizeof(event), table, sizeof(table));
	model = model_of(&log);
	assert_string_equal(frame_text(model, 0, 0), "f (/src/a.py:11)");
	assert_int_equal(model_source(model)->receipt.bad_records, 1); /* the record that is longer than the table */
	model_free(model);
}

/* As when two threads meet a code object at once and both send it, while a third already knows it. */
static void a_code_object_described_again_keeps_its_lines_until_the_new_ones_are_whole(void **state)
{
	const uint8_t table[] = {2, 1}, other[] = {2, 5};
	const struct gpt_code again = {.code = A,
				       .pid = PID,
				       .first_line = 10,
				       .name_bytes = 1,
				       .name_kind = 1,
				       .filename_bytes = 5,
				       .filename_kind = 1,
				       .linetable = GPT_LINES_LNOTAB,
				       .linetable_bytes = sizeof(other)};
	const char text[16] = "f\0\0\0\0\0\0\0/a.py";
	struct gpt_code_lines lines = {.code = A, .pid = PID, .bytes = 1};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_code(&log, PID, A, "f", NULL, "/a.py", 10, GPT_LINES_LNOTAB, table, sizeof(table));
	add_stack(&log, 1, A, 2);
	log_put(&log, GPT_CODE, &again, sizeof(again), text, sizeof(text));
	add_stack(&log, 2, A, 2);
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), other, 1);
	add_stack(&log, 3, A, 2);
	lines.offset = 1;
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), other + 1, 1);
	add_stack(&log, 4, A, 2);
	model = model_of(&log);
	assert_int_equal(model->stack_count, 2); /* the first three are equal */
	assert_string_equal(frame_text(model, 0, 0), "f (/a.py:11)");
	assert_string_equal(frame_text(model, 1, 0), "f (/a.py:15)");
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void a_table_begun_by_one_description_is_completed_by_the_next(void **state)
{
	const uint8_t table[] = {2, 1};
	struct gpt_code_lines lines = {.code = A, .pid = PID, .offset = 1, .bytes = 1};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	for (int i = 0; i < 2; i++) {
		const struct gpt_code head = {
			.code = A, .pid = PID, .first_line = 10, .linetable = GPT_LINES_LNOTAB, .linetable_bytes = 2};
		const struct gpt_code_lines first = {.code = A, .pid = PID, .bytes = 1};

		log_put(&log, GPT_CODE, &head, sizeof(head), NULL, 0);
		if (!i)
			log_put(&log, GPT_CODE_LINES, &first, sizeof(first), table, 1);
	}
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), table + 1, 1);
	add_stack(&log, 1, A, 2);
	model = model_of(&log);
	assert_int_equal(model->frames[model->stack_frames[0]].line, 11);
	model_free(model);
}

static void impossible_stacks_are_bad(void **state)
{
	struct gpt_pyframe frames[GPT_PYSTACK_MAX_FRAMES + 1] = {{0}};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_stack(&log, PID, 0, 1, frames);
	log_stack(&log, PID, 1, 0, frames);
	log_stack(&log, PID, 2, GPT_PYSTACK_MAX_FRAMES + 1, frames);
	log_stack(&log, PID, 3, GPT_PYSTACK_MAX_FRAMES, frames);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, 3);
	assert_int_equal(model->stack_count, 1);
	model_free(model);
}

static void the_qualified_name_is_preferred(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_code(&log, PID, 1, "f", "C.f", "a.py", 1, GPT_LINES_LNOTAB, "", 0);
	log_code(&log, PID, 2, "g", NULL, "a.py", 1, GPT_LINES_LNOTAB, "", 0);
	log_code(&log, PID, 3, NULL, NULL, "a.py", 1, GPT_LINES_LNOTAB, "", 0);
	log_code(&log, PID, 4, "h", NULL, NULL, 1, GPT_LINES_LNOTAB, "", 0);
	model = model_of(&log);
	assert_string_equal(model->codes[0].name, "C.f");
	assert_string_equal(model->codes[1].name, "g");
	assert_string_equal(model->codes[2].name, "?");
	assert_false(model->codes[2].described);
	assert_string_equal(model->codes[2].file, "a.py");
	assert_string_equal(model->codes[3].file, "");
	model_free(model);
}

static void a_name_that_was_truncated_ends_with_a_mark(void **state)
{
	const char file[8] = "a.py";
	struct gpt_code code = {.hdr.flags = GPT_CODE_TRUNCATED,
				.code = A,
				.pid = PID,
				.name_bytes = GPT_CODE_NAME_MAX,
				.name_kind = 2,
				.filename_bytes = 4,
				.filename_kind = 1,
				.linetable = GPT_LINES_LOCATIONS};
	uint16_t names[GPT_CODE_NAME_MAX / 2 + sizeof(file) / 2];
	char expected[2 * GPT_CODE_NAME_MAX] = "";
	struct log_builder log;
	struct model *model;

	for (size_t i = 0; i < GPT_CODE_NAME_MAX / 2; i++) {
		names[i] = 0xfc;
		strcat(expected, "\xc3\xbc");
	}
	memcpy(names + GPT_CODE_NAME_MAX / 2, file, sizeof(file));
	log_begin(&log, 0, 0);
	log_put(&log, GPT_CODE, &code, sizeof(code), names, sizeof(names));
	add_stack(&log, 1, A, -1);
	model = model_of(&log);
	assert_string_equal(model->codes[0].name, strcat(expected, "..."));
	assert_string_equal(model->codes[0].file, "a.py");
	model_free(model);
}

static void a_line_table_larger_than_one_record_is_put_together(void **state)
{
	enum { ENTRIES = GPT_CODE_LINES_CHUNK };
	uint8_t table[2 * ENTRIES];
	struct log_builder log;
	struct model *model;

	for (int i = 0; i < ENTRIES; i++) {
		table[2 * i] = 0x80 | 13 << 3;
		table[2 * i + 1] = i ? 2 : 0;
	}
	log_begin(&log, 0, 0);
	log_code(&log, PID, A, "f", NULL, "a.py", 1, GPT_LINES_LOCATIONS, table, sizeof(table));
	add_stack(&log, 1, A, 2 * 4000);
	model = model_of(&log);
	assert_string_equal(frame_text(model, 0, 0), "f (a.py:4001)");
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void lines_after_a_lost_chunk_are_unknown_and_not_wrong(void **state)
{
	const uint8_t entry[] = {0x80 | 13 << 3, 2};
	struct gpt_code code = {
		.code = A, .pid = PID, .first_line = 1, .linetable = GPT_LINES_LOCATIONS, .linetable_bytes = 6};
	struct gpt_code_lines lines = {.code = A, .pid = PID, .bytes = 2};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_put(&log, GPT_CODE, &code, sizeof(code), NULL, 0);
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), entry, 2);
	lines.offset = 4;
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), entry, 2);
	add_stack(&log, 1, A, 0);
	add_stack(&log, 2, A, 2);
	model = model_of(&log);
	assert_int_equal(model->frames[model->stack_frames[0]].line, 2);
	assert_int_equal(model->frames[model->stack_frames[1]].line, 0);
	model_free(model);
}

static void native_stacks_are_named_and_demangled(void **state)
{
	struct log_builder log;
	struct model *model;
	const struct model_native *native;

	log_begin(&log, 0, 0);
	log_native_stack(&log, PID, 3, 4, (uint64_t[]){0x10, 0x20, 0x30, 0x40});
	log_call(&log, (struct gpt_call){.pid = PID, .tid = TID, .native_id = 3, .api = CUDA_LAUNCH, .stack_state = 1});
	/* symbols are reported later, when there was time to look them up */
	log_native_sym(&log, PID, 0x10, "_ZN2at6native4gemmEPfi", "/usr/lib/libtorch.so");
	log_native_sym(&log, PID, 0x20, "main", "/usr/bin/x");
	log_native_sym(&log, PID, 0x30, "", "/usr/lib/libcublas.so.13");
	log_native_sym(&log, PID + 1, 0x40, "other_process", "");
	model = model_of(&log);
	native = &model->natives[model->calls[0].native];
	assert_int_equal(native->depth, 4);
	assert_string_equal(model->strings[model->native_frames[native->first]], "at::native::gemm(float*, int)");
	assert_string_equal(model->strings[model->native_frames[native->first + 1]], "main");
	assert_string_equal(model->strings[model->native_frames[native->first + 2]], "[libcublas.so.13]");
	assert_string_equal(model->strings[model->native_frames[native->first + 3]], "[unknown]");
	model_free(model);
}

/* ---- modules of PyTorch -------------------------------------------------------------------------------------- */

#define ROOT 0x7f0000010000ull
#define LAYER 0x7f0000020000ull

static void add_stack_of_modules(struct log_builder *log, uint64_t id, uint64_t innermost, uint32_t generation)
{
	log_stack_of_modules(log, PID, id, 2, (struct gpt_pyframe[]){{.code = B, .lasti = 4}, {.code = A}}, 2,
			     (struct gpt_stack_module[]){{.module = innermost, .generation = generation},
							 {.module = ROOT, .frame = 1, .generation = 1}});
}

static void begin_with_functions(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_function(log, PID, A, "main", "/src/train.py", 10);
	log_function(log, PID, B, "Block.forward", "/src/model.py", 40);
}

#define TEXT_OF_LAYER "layers.1\0Block\0Net\0\0layers.7\0head;\x1b[1m"
#define TEXT_OF_ROOT "\0Net\0Net\0"

static void a_stack_has_the_modules_that_were_called_outermost_first(void **state)
{
	struct log_builder log;
	struct model *model;
	const struct model_module *module;
	const struct model_stack *stack;

	begin_with_functions(&log);
	log_module(&log,
		   &(struct gpt_module){
			   .module = ROOT, .root = ROOT, .pid = PID, .generation = 1, .root_number = 2, .names = 1},
		   TEXT_OF_ROOT, sizeof(TEXT_OF_ROOT));
	add_stack_of_modules(&log, 5, LAYER, 3);
	log_launch(&log, PID, TID, 100, 5, 1);
	log_module(&log,
		   &(struct gpt_module){
			   .module = LAYER, .root = ROOT, .pid = PID, .generation = 3, .root_number = 2, .names = 3},
		   TEXT_OF_LAYER, sizeof(TEXT_OF_LAYER)); /* a name may come after the first stack */
	model = model_of(&log);
	stack = &model->stacks[model->calls[0].stack];
	assert_int_equal(stack->depth, 2);
	assert_string_equal(frame_text(model, model->calls[0].stack, 0), "Block.forward (/src/model.py:42)");
	assert_int_equal(stack->module_count, 2);
	module = model_stack_module(model, stack, 0);
	assert_string_equal(module->name, "");
	assert_string_equal(module->class, "Net");
	assert_string_equal(module->unnamed, "");
	assert_int_equal(module->root, 2);
	module = model_stack_module(model, stack, 1);
	assert_string_equal(module->name, "layers.1");
	assert_string_equal(module->class, "Block");
	assert_string_equal(module->root_class, "Net");
	assert_null(strchr(module->other_names, 0x1b));
	assert_memory_equal(module->other_names, "layers.7, head;", 15);
	assert_int_equal(module->names, 3);
	assert_int_equal(module->process, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void the_same_lines_in_other_modules_are_another_stack(void **state)
{
	static const uint64_t addresses[] = {LAYER, LAYER + 64, LAYER, LAYER};
	static const uint32_t generations[] = {1, 1, 2, 1}; /* 2: the address was freed and used again */
	struct log_builder log;
	struct model *model;

	begin_with_functions(&log);
	for (uint64_t i = 0; i < 4; i++) {
		add_stack_of_modules(&log, 5 + i, addresses[i], generations[i]);
		log_launch(&log, PID, TID, 100 + i, 5 + i, 1 + (uint32_t)i);
	}
	log_stack(&log, PID, 9, 2, (struct gpt_pyframe[]){{.code = B, .lasti = 4}, {.code = A}});
	log_launch(&log, PID, TID, 104, 9, 5);
	log_module(&log, &(struct gpt_module){.module = LAYER, .pid = PID, .generation = 2, .names = 1}, TEXT_OF_LAYER,
		   sizeof(TEXT_OF_LAYER));
	model = model_of(&log);
	assert_int_equal(model->stack_count, 4);
	assert_int_equal(model->module_count, 4);
	assert_int_equal(model->calls[0].stack, model->calls[3].stack);
	assert_int_equal(model->stacks[model->calls[4].stack].module_count, 0);
	for (int i = 0; i < 4; i++) {
		const struct model_stack *stack = &model->stacks[model->calls[i].stack];
		const struct model_module *module = model_stack_module(model, stack, 1);

		assert_string_equal(module->name, i == 2 ? "layers.1" : "");
		assert_string_equal(module->unnamed, i == 2 ? "" : "it was not read");
	}
	model_free(model);
}

static void impossible_modules_are_bad(void **state)
{
	static const struct gpt_stack_module bad[] = {
		{.module = 0}, {.module = LAYER, .frame = 1}, {.module = LAYER, .frame = -1}};
	struct log_builder log;
	struct model *model;

	begin_with_functions(&log);
	for (uint64_t i = 0; i < 3; i++)
		log_stack_of_modules(&log, PID, 5 + i, 1, (struct gpt_pyframe[]){{.code = A}}, 1, &bad[i]);
	log_end(&log, 200);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, 3);
	assert_int_equal(model->stack_count + model->module_count, 0);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_its_python_stack_innermost_first),
		cmocka_unit_test(a_frame_that_has_not_started_is_on_the_first_line),
		cmocka_unit_test(cells_of_a_notebook_are_numbered_as_the_trace_meets_them),
		cmocka_unit_test(a_stack_without_a_line_is_no_line_in_the_receipt),
		cmocka_unit_test(an_address_means_the_latest_code_object_before_the_stack),
		cmocka_unit_test(a_dead_code_object_is_not_described_by_its_past),
		cmocka_unit_test(two_processes_have_their_own_addresses_and_stack_ids),
		cmocka_unit_test(exec_forgets_code_stacks_and_correlation_ids),
		cmocka_unit_test(the_reason_for_no_stack_is_kept),
		cmocka_unit_test(backward_work_stands_under_the_stack_of_its_caller),
		cmocka_unit_test(frames_that_the_interpreter_pushes_for_itself_are_left_out),
		cmocka_unit_test(a_stack_with_what_is_no_code_object_in_it_is_none),
		cmocka_unit_test(equal_stacks_and_frames_are_one),
		cmocka_unit_test(a_stack_that_is_too_deep_keeps_both_ends),
		cmocka_unit_test(a_frame_without_code_is_a_gap_only_where_one_can_be),
		cmocka_unit_test(a_frame_that_has_not_begun_is_left_out),
		cmocka_unit_test(a_second_description_may_come_after_the_first_was_needed),
		cmocka_unit_test(a_code_object_described_again_keeps_its_lines_until_the_new_ones_are_whole),
		cmocka_unit_test(a_table_begun_by_one_description_is_completed_by_the_next),
		cmocka_unit_test(impossible_stacks_are_bad),
		cmocka_unit_test(the_qualified_name_is_preferred),
		cmocka_unit_test(a_name_that_was_truncated_ends_with_a_mark),
		cmocka_unit_test(a_line_table_larger_than_one_record_is_put_together),
		cmocka_unit_test(lines_after_a_lost_chunk_are_unknown_and_not_wrong),
		cmocka_unit_test(native_stacks_are_named_and_demangled),
		cmocka_unit_test(a_stack_has_the_modules_that_were_called_outermost_first),
		cmocka_unit_test(the_same_lines_in_other_modules_are_another_stack),
		cmocka_unit_test(impossible_modules_are_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
