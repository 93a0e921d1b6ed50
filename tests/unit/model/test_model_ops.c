/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PyTorch's ops in the model: their order and nesting, and the op in which a call was made. */
#include "model/collectives.h"
#include "model_of.h"
#include "model/op_inputs.h"

static void begin_log(struct log_builder *log)
{
	static const char *const names[] = {"", "outer", "inner", "other", "last"};

	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(log, PID, TID, 900);
	for (uint32_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
		log_agent_op_name(log, i, names[i]);
}

enum { OUTER = 1, INNER, OTHER, LAST, TEXT };

static void add_op(struct log_builder *log, uint32_t name, uint64_t start_ns, uint64_t end_ns, uint8_t flags)
{
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = start_ns,
						 .end_ns = end_ns,
						 .sequence = -1,
						 .tid = TID,
						 .name = name,
						 .flags = flags});
}

/* All ops as "name start-end", with a star if the op overlaps, a plus if it is open. */
static void assert_ops(const struct model *model, const char *expected)
{
	char text[1024] = "";

	for (uint32_t i = 0; i < model->op_count; i++) {
		const struct model_op *item = &model->ops[i];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s %lu-%lu%s%s", i ? ", " : "",
			 item->name == NONE ? "?" : model->strings[item->name], (unsigned long)item->start_ns,
			 (unsigned long)item->end_ns, item->overlaps ? "*" : "", item->truncated ? "+" : "");
	}
	assert_string_equal(text, expected);
}

/* The name of the op in which the n-th call was made; "": none. */
static const char *op_of_call(const struct model *model, uint32_t call)
{
	uint64_t number = model->calls[call].op;

	for (uint32_t i = 0; number && i < model->op_count; i++)
		if (model->ops[i].number == number - 1)
			return model->strings[model->ops[i].name];
	assert_int_equal(number, 0);
	return "";
}

static void ops_come_by_begin_with_the_outer_one_first(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, INNER, 120, 130, 0);
	add_op(&log, OTHER, 130, 140, 0);
	add_op(&log, LAST, 120, 140, 0); /* encloses both, with the start of one and the end of the other */
	add_op(&log, OUTER, 110, 150, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "outer 110-150, last 120-140, inner 120-130, other 130-140");
	model_free(model);
}

static void each_thread_has_its_own(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, INNER, 120, 130, 0);
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 100, .end_ns = 125, .tid = TID + 1, .name = OTHER});
	add_op(&log, OUTER, 110, 150, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "outer 110-150, inner 120-130, other 100-125");
	assert_int_equal(model->threads[model->ops[2].thread].tid, TID + 1);
	assert_int_equal(model->threads[model->ops[0].thread].ops, 2);
	model_free(model);
}

static void what_a_record_says_of_an_op_is_kept(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 100,
						  .end_ns = 120,
						  .sequence = 77,
						  .handle = 5,
						  .thread = 2,
						  .forward_thread = 1,
						  .tid = TID,
						  .name = INNER,
						  .scope = GPT_AGENT_OP_BACKWARD_FUNCTION});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->op_count, 1);
	assert_int_equal(model->ops[0].sequence, 77);
	assert_int_equal(model->ops[0].handle, 5);
	assert_int_equal(model->ops[0].torch_thread, 2);
	assert_int_equal(model->ops[0].forward_thread, 1);
	assert_int_equal(model->ops[0].scope, GPT_AGENT_OP_BACKWARD_FUNCTION);
	model_free(model);
}

#define INPUTS "[[4], []] [\"float\", \"Scalar\"] [[1], []] [\"\", \"1\"]"

static const char *inputs_of(const struct model *model, uint32_t op)
{
	return model->ops[op].inputs == NONE ? NULL : model->strings[model->ops[op].inputs];
}

static void inputs_of_an_op_are_those_that_its_number_stands_for(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_op_inputs(&log, 9, INPUTS);
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 100, .end_ns = 120, .tid = TID, .name = INNER});
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 130,
						  .end_ns = 140,
						  .tid = TID,
						  .name = INNER,
						  .inputs = 9 | GPT_AGENT_NAME_OF_INPUTS});
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 150,
						  .end_ns = 160,
						  .tid = TID,
						  .name = INNER,
						  .inputs = 8 | GPT_AGENT_NAME_OF_INPUTS});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_null(inputs_of(model, 0));
	assert_string_equal(inputs_of(model, 1), INPUTS);
	assert_null(inputs_of(model, 2)); /* 8 was never described */
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void inputs_that_are_no_arrays_are_counted_and_left_out(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_op_inputs(&log, 9, "[] [] []");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 130,
						  .end_ns = 140,
						  .tid = TID,
						  .name = INNER,
						  .inputs = 9 | GPT_AGENT_NAME_OF_INPUTS});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_null(inputs_of(model, 0));
	assert_int_equal(model_source(model)->receipt.bad_records, 1);
	model_free(model);
}

static bool is_inputs(const char *text)
{
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];

	return op_inputs_split(text, strlen(text), parts);
}

static void inputs_have_four_parts(void **state)
{
	static const char text[] = "[[2, 3], [[1], []]] [\"float\", \"TensorList\"] [[3, 1], [[1], []]] [\"\", \"\"]";
	struct op_inputs_part_text parts[OP_INPUTS_PARTS];

	assert_true(op_inputs_split(text, sizeof(text) - 1, parts));
	assert_memory_equal(parts[OP_INPUTS_DIMS].text, "[[2, 3], [[1], []]]", parts[OP_INPUTS_DIMS].size);
	assert_memory_equal(parts[OP_INPUTS_TYPES].text, "[\"float\", \"TensorList\"]", parts[OP_INPUTS_TYPES].size);
	assert_memory_equal(parts[OP_INPUTS_STRIDES].text, "[[3, 1], [[1], []]]", parts[OP_INPUTS_STRIDES].size);
	assert_memory_equal(parts[OP_INPUTS_CONCRETE].text, "[\"\", \"\"]", parts[OP_INPUTS_CONCRETE].size);
	assert_true(is_inputs("[] [] [] []"));
	assert_true(is_inputs("[[-1]] [\"\"] [[0]] [\"-1e+20\"]"));
}

static void what_could_not_stand_in_a_json_file_is_no_inputs(void **state)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"[] [] [] [] ",
		"[] [] [] []]",
		"[[[[1]]]] [] [] []", /* deeper than a list of tensors */
		"[1] [] [] []",	      /* a number in place of an input */
		"[[01]] [] [] []",    /* not a number in JSON */
		"[[1,]] [] [] []",
		"[[1] [] [] []",
		"[\"a\"] [] [] []",
		"[] [float] [] []",
		"[] [[\"float\"]] [] []",
		"[] [] [] [\"a\\\"]", /* an escape */
		"[] [] [] [\"a\n\"]",
		"[] [] [] [\"a]",
		"[[-]] [] [] []",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		if (is_inputs(wrong[i]))
			fail_msg("taken: %s", wrong[i]);
}

#define SEPARATOR GPT_COLLECTIVE_SEPARATOR
#define COLLECTIVE                                                                                                     \
	"all_reduce" SEPARATOR "0" SEPARATOR "default_pg" SEPARATOR "[0, 1]" SEPARATOR "[8]" SEPARATOR "[8]" SEPARATOR \
	"8" SEPARATOR "8" SEPARATOR "6" SEPARATOR "1" SEPARATOR "2" SEPARATOR "-1" SEPARATOR "-1" SEPARATOR            \
	"-1" SEPARATOR "0" SEPARATOR "1"

/* The expected number is the one that PyTorch 2.15 made for the same group. */
static void an_op_may_stand_for_a_collective(void **state)
{
	const struct model_collective *found;
	struct collective collective;
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_batch(&log, PID, TID, 900);
	log_agent_op_name(&log, TEXT, COLLECTIVE);
	add_op(&log, OUTER, 100, 200, 0);
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 110,
						  .end_ns = 150,
						  .tid = TID,
						  .name = INNER,
						  .collective = TEXT,
						  .collective_sequence = 11});
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->collective_count, 1);
	assert_null(model_collective_of(model, 1 + model->ops[0].number));
	found = model_collective_of(model, 1 + model->ops[1].number);
	assert_non_null(found);
	assert_int_equal(found->sequence, 11);
	assert_true(collective_read(&collective, model->strings[found->params]));
	assert_string_equal(collective.fields[GPT_COLLECTIVE_NAME], "all_reduce");
	assert_string_equal(collective.fields[GPT_COLLECTIVE_RANKS], "[0, 1]");
	assert_string_equal(collective_dtype(&collective), "Float");
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_GROUP_SIZE], 2);
	assert_true(collective_id(&collective, found->sequence) == 2297668041578268078u);
	model_free(model);
}

static int by_value(const void *left, const void *right)
{
	uint64_t a, b;

	memcpy(&a, left, sizeof(a));
	memcpy(&b, right, sizeof(b));
	return (a > b) - (a < b);
}

/* In torch.profiler, some collectives share a number. */
static void no_two_collectives_of_a_group_have_one_key(void **state)
{
	static uint64_t keys[300000];
	const size_t count = sizeof(keys) / sizeof(keys[0]);
	struct collective collective;

	assert_true(collective_read(&collective, COLLECTIVE));
	for (size_t i = 0; i < count; i++)
		keys[i] = collective_key(&collective, (int64_t)i);
	qsort(keys, count, sizeof(keys[0]), by_value);
	for (size_t i = 1; i < count; i++)
		assert_true(keys[i] != keys[i - 1]);
}

static void what_is_no_collective_is_not_read(void **state)
{
	static const char *const texts[] = {
		"",
		"all_reduce",
		COLLECTIVE SEPARATOR,
		COLLECTIVE SEPARATOR "1",
		COLLECTIVE "x",
		COLLECTIVE "00000000000000000000",
	};
	struct collective collective;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(collective_read(&collective, texts[i]));
}

static void named_op(struct log_builder *log, uint32_t name, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_op(log, &(struct gpt_agent_op){.start_ns = start_ns,
						 .end_ns = end_ns,
						 .sequence = -1,
						 .tid = TID,
						 .name = name,
						 .scope = GPT_AGENT_OP_USER_SCOPE});
}

static void a_call_is_of_an_op_before_it_is_of_what_the_program_named(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, OUTER, 100, 200, 0);
	named_op(&log, INNER, 110, 150);
	named_op(&log, LAST, 220, 250);
	log_launch(&log, PID, TID, 120, 0, 1);
	log_launch(&log, PID, TID, 230, 0, 2);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->calls[0].op, 1 + model->ops[0].number);
	assert_int_equal(model->calls[1].op, 1 + model->ops[2].number);
	model_free(model);
}

/* A sampled stack of one frame, for the op with this number. */
static void stack_taken(struct log_builder *log, uint64_t number, uint64_t time_ns, uint32_t line)
{
	uint64_t code = 0xc0de00 + 16 * (uint64_t)line;

	log_function(log, PID, code, "forward", "/src/layers.py", line - 3);
	log_stack(log, PID, code + 1, 1, (struct gpt_pyframe[]){{.code = code, .lasti = 6}});
	log_stack_at(log, (struct gpt_stack_at){.time_ns = time_ns,
						.stack_id = code + 1,
						.number = number,
						.pid = PID,
						.tid = TID,
						.what = GPT_STACK_OF_OP});
}

static void an_op_has_the_stack_that_was_taken_for_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	stack_taken(&log, 1, 109, 10);
	stack_taken(&log, 2, 119, 20);
	log_batch(&log, PID, TID, 900);
	log_agent_op(&log,
		     &(struct gpt_agent_op){.start_ns = 120, .end_ns = 130, .tid = TID, .name = INNER, .stack = 2});
	log_agent_op(&log,
		     &(struct gpt_agent_op){.start_ns = 110, .end_ns = 150, .tid = TID, .name = OUTER, .stack = 1});
	log_agent_op(&log,
		     &(struct gpt_agent_op){.start_ns = 160, .end_ns = 170, .tid = TID, .name = OTHER, .stack = 3});
	add_op(&log, LAST, 180, 190, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_string_equal(frame_text(model, model->ops[0].stack, 0), "forward (/src/layers.py:10)");
	assert_string_equal(frame_text(model, model->ops[1].stack, 0), "forward (/src/layers.py:20)");
	assert_int_equal(model->ops[2].stack, NONE);
	assert_int_equal(model->ops[3].stack, NONE);
	model_free(model);
}

static void a_stack_of_long_before_an_op_is_not_its_own(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	stack_taken(&log, 1, 100, 10);
	stack_taken(&log, 2, 2000000000, 20);
	log_batch(&log, PID, TID, 2500000000);
	log_agent_op(&log,
		     &(struct gpt_agent_op){
			     .start_ns = 2000000000, .end_ns = 2000000010, .tid = TID, .name = OUTER, .stack = 1});
	log_agent_op(&log,
		     &(struct gpt_agent_op){
			     .start_ns = 2000000020, .end_ns = 2000000030, .tid = TID, .name = INNER, .stack = 2});
	log_agent_op(&log,
		     &(struct gpt_agent_op){
			     .start_ns = 1000000000, .end_ns = 1000000010, .tid = TID, .name = OTHER, .stack = 2});
	log_end(&log, 3000000000);
	model = model_of(&log);
	assert_int_equal(model->ops[0].stack, NONE);
	assert_int_equal(model->ops[1].stack, NONE);
	assert_int_not_equal(model->ops[2].stack, NONE);
	model_free(model);
}

static void an_evaluation_has_the_number_of_the_node_inside_of_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_op_name(&log, LAST + 1, "autograd::engine::evaluate_function: AddmmBackward0");
	add_op(&log, OTHER, 115, 118, 0);
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 110,
						  .end_ns = 120,
						  .sequence = 77,
						  .forward_thread = 1,
						  .tid = TID,
						  .name = INNER,
						  .scope = GPT_AGENT_OP_BACKWARD_FUNCTION});
	add_op(&log, LAST + 1, 105, 120, 0);
	add_op(&log, LAST + 1, 130, 140, 0); /* nothing inside */
	add_op(&log, OTHER, 140, 150, 0);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->op_count, 5);
	assert_int_equal(model->ops[0].sequence, 77);
	assert_int_equal(model->ops[0].forward_thread, 1);
	assert_int_equal(model->ops[3].sequence, -1);
	model_free(model);
}

static void a_call_is_of_the_innermost_op_that_was_open(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, INNER, 120, 130, 0);
	add_op(&log, OUTER, 110, 150, 0);
	log_launch(&log, PID, TID, 105, 0, 1);
	log_launch(&log, PID, TID, 115, 0, 2);
	log_launch(&log, PID, TID, 120, 0, 3);
	log_launch(&log, PID, TID + 1, 125, 0, 4);
	log_launch(&log, PID, TID, 130, 0, 5);
	log_launch(&log, PID, TID, 150, 0, 6);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_string_equal(op_of_call(model, 0), "");
	assert_string_equal(op_of_call(model, 1), "outer");
	assert_string_equal(op_of_call(model, 2), "inner");
	assert_string_equal(op_of_call(model, 3), "");
	assert_string_equal(op_of_call(model, 4), "outer");
	assert_string_equal(op_of_call(model, 5), "");
	model_free(model);
}

static void an_asynchronous_op_is_no_part_of_the_nesting(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, INNER, 120, 130, 0);
	add_op(&log, LAST, 125, 170, GPT_AGENT_OP_ASYNC);
	add_op(&log, OUTER, 110, 150, 0);
	log_launch(&log, PID, TID, 126, 0, 1);
	log_launch(&log, PID, TID, 160, 0, 2);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "outer 110-150, inner 120-130, last 125-170*");
	assert_string_equal(op_of_call(model, 0), "inner");
	assert_string_equal(op_of_call(model, 1), "");
	model_free(model);
}

static void one_that_begins_in_another_and_ends_after_it_overlaps_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, OUTER, 110, 150, 0);
	add_op(&log, INNER, 120, 170, 0);
	log_launch(&log, PID, TID, 130, 0, 1);
	log_launch(&log, PID, TID, 160, 0, 2);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "outer 110-150, inner 120-170*");
	assert_string_equal(op_of_call(model, 0), "outer");
	assert_string_equal(op_of_call(model, 1), "");
	model_free(model);
}

static void an_op_that_was_reported_while_open_is_there_once(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, OUTER, 110, 115, GPT_AGENT_OP_OPEN);
	add_op(&log, INNER, 120, 130, 0);
	add_op(&log, OUTER, 110, 140, GPT_AGENT_OP_OPEN);
	add_op(&log, OUTER, 110, 150, 0);
	add_op(&log, LAST, 200, 250, GPT_AGENT_OP_OPEN);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "outer 110-150, inner 120-130, last 200-1000+");
	model_free(model);
}

static void an_open_op_goes_no_further_than_known_where_ops_were_lost(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, LAST, 200, 250, GPT_AGENT_OP_OPEN);
	log_agent_ops(&log, GPT_AGENT_OPS_STOPPED, 3, "");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "last 200-250+");
	assert_int_equal(model_source(model)->receipt.ops_lost, 3);
	model_free(model);
}

static void an_open_op_goes_no_further_than_its_process(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, LAST, 200, 250, GPT_AGENT_OP_OPEN);
	log_process_event(&log, GPT_EXIT, PID, 0, 500, "python3");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "last 200-500+");
	model_free(model);
}

static void an_open_op_goes_no_further_than_ops_were_observed(void **state)
{
	const struct gpt_agent_ops left = {.time_ns = 600, .state = GPT_AGENT_OPS_STOPPED};
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, LAST, 200, 250, GPT_AGENT_OP_OPEN);
	log_put(&log, GPT_AGENT_OPS, &left, sizeof(left), "", 0); /* another gputrace asked for ops, and has left */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "last 200-600+");
	model_free(model);
}

static void losses_of_sessions_add_up(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_ops(&log, GPT_AGENT_OPS_OBSERVING, 0, "");
	log_agent_ops(&log, GPT_AGENT_OPS_OBSERVING, 5, "");
	log_agent_ops(&log, GPT_AGENT_OPS_STOPPED, 7, "");
	log_agent_ops(&log, GPT_AGENT_OPS_OBSERVING, 0, "");
	log_agent_ops(&log, GPT_AGENT_OPS_STOPPED, 2, "");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.ops_lost, 9);
	assert_int_equal(model->processes[0].ops_state, GPT_AGENT_OPS_OBSERVING);
	model_free(model);
}

static void why_ops_are_refused_is_known(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_ops(&log, GPT_AGENT_OPS_REFUSED, 0, "PyTorch 2.99 is not known");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->processes[0].ops_state, GPT_AGENT_OPS_REFUSED);
	assert_string_equal(model->processes[0].ops_detail, "PyTorch 2.99 is not known");
	model_free(model);
}

static void what_does_not_make_sense_is_counted_and_left_out(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_op(&log, OUTER, 150, 110, 0);    /* ends before it begins */
	add_op(&log, OUTER, 110, 901, 0);    /* ends after it was reported */
	add_op(&log, OUTER, 5, 30, 0);	     /* before this trace: not bad */
	add_op(&log, LAST + 1, 200, 210, 0); /* its name was never described */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_ops(model, "? 200-210");
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ops_come_by_begin_with_the_outer_one_first),
		cmocka_unit_test(each_thread_has_its_own),
		cmocka_unit_test(what_a_record_says_of_an_op_is_kept),
		cmocka_unit_test(inputs_of_an_op_are_those_that_its_number_stands_for),
		cmocka_unit_test(inputs_that_are_no_arrays_are_counted_and_left_out),
		cmocka_unit_test(inputs_have_four_parts),
		cmocka_unit_test(what_could_not_stand_in_a_json_file_is_no_inputs),
		cmocka_unit_test(an_op_has_the_stack_that_was_taken_for_it),
		cmocka_unit_test(a_stack_of_long_before_an_op_is_not_its_own),
		cmocka_unit_test(an_op_may_stand_for_a_collective),
		cmocka_unit_test(no_two_collectives_of_a_group_have_one_key),
		cmocka_unit_test(what_is_no_collective_is_not_read),
		cmocka_unit_test(a_call_is_of_an_op_before_it_is_of_what_the_program_named),
		cmocka_unit_test(an_evaluation_has_the_number_of_the_node_inside_of_it),
		cmocka_unit_test(a_call_is_of_the_innermost_op_that_was_open),
		cmocka_unit_test(an_asynchronous_op_is_no_part_of_the_nesting),
		cmocka_unit_test(one_that_begins_in_another_and_ends_after_it_overlaps_it),
		cmocka_unit_test(an_op_that_was_reported_while_open_is_there_once),
		cmocka_unit_test(an_open_op_goes_no_further_than_known_where_ops_were_lost),
		cmocka_unit_test(an_open_op_goes_no_further_than_its_process),
		cmocka_unit_test(an_open_op_goes_no_further_than_ops_were_observed),
		cmocka_unit_test(losses_of_sessions_add_up),
		cmocka_unit_test(why_ops_are_refused_is_known),
		cmocka_unit_test(what_does_not_make_sense_is_counted_and_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
