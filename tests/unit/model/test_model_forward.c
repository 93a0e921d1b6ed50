/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which forward op made a node of a backward pass, and which launches are in the node. */
#include "forward_log.h"
#include "model/tables/forward_ops.h"

/* The node of the n-th call with the line of its forward op, as "AddBackward0 of model.py:20". */
static const char *node_of(const struct model *model, uint32_t index)
{
	static char text[256];
	const struct model_call *call = &model->calls[index];
	const struct model_stack *stack;

	if (call->node == NONE) {
		assert_int_equal(call->forward, NONE);
		return "none";
	}
	if (call->forward == NONE) {
		snprintf(text, sizeof(text), "%s", model->strings[call->node]);
		return text;
	}
	stack = &model->stacks[call->forward];
	snprintf(text, sizeof(text), "%s of %u", model->strings[call->node],
		 model->frames[model->stack_frames[stack->first]].line);
	return text;
}

static void a_node_has_the_line_of_the_forward_op_that_made_it(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_layer(&forward, "aten::add", 120, 130, 8, 21);
	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "AddBackward0", 200, 210, 8, FORWARD_THREAD);
	forward_log_launch(&forward, 225, 1);
	forward_log_node(&forward, "MmBackward0", 220, 230, 7, FORWARD_THREAD);
	forward_log_launch(&forward, 235, 1);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "AddBackward0 of 21");
	assert_string_equal(node_of(model, 1), "MmBackward0 of 20");
	assert_string_equal(node_of(model, 2), "none");
	model_free(model);
}

static void of_several_ops_with_one_number_the_one_that_began_last_made_the_node(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::detach", 90, 95, 7, 18); /* makes no node, and has the next node's number */
	forward_log_layer(&forward, "aten::addmm", 105, 109, 7, 21);
	forward_log_layer(&forward, "aten::linear", 100, 110, 7, 20); /* ends later, and is reported later */
	forward_log_layer(&forward, "aten::relu", 120, 130, 8, 22);
	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "AddmmBackward0", 200, 210, 7, FORWARD_THREAD);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "AddmmBackward0 of 21");
	model_free(model);
}

static void a_number_is_that_of_a_thread(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_op(
		&forward, "aten::mm",
		(struct gpt_agent_op){.start_ns = 120, .end_ns = 130, .sequence = 7, .thread = 3, .tid = TID + 1}, 21);
	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "MmBackward0", 200, 210, 7, FORWARD_THREAD);
	forward_log_launch(&forward, 225, 1);
	forward_log_node(&forward, "MmBackward0", 220, 230, 7, 3);
	forward_log_launch(&forward, 245, 1);
	forward_log_node(&forward, "MmBackward0", 240, 250, 7, 4);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "MmBackward0 of 20");
	assert_string_equal(node_of(model, 1), "MmBackward0 of 21");
	assert_string_equal(node_of(model, 2), "MmBackward0");
	model_free(model);
}

static void a_node_that_runs_twice_has_its_line_twice(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	for (uint64_t time_us = 200; time_us < 400; time_us += 100) {
		forward_log_launch(&forward, time_us + 5, 1);
		forward_log_node(&forward, "MmBackward0", time_us, time_us + 10, 7, FORWARD_THREAD);
	}
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "MmBackward0 of 20");
	assert_string_equal(node_of(model, 1), "MmBackward0 of 20");
	model_free(model);
}

static void python_that_a_node_runs_keeps_its_own_line(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "Checkpoint", 100, 110, 7, 20);
	forward_log_call(&forward, ENGINE, 205, 1, forward_log_stack(&forward, "forward", 30), GPT_STACK_OK);
	forward_log_call(&forward, ENGINE, 207, 1, forward_log_stack(&forward, "step", STEP_LINE), GPT_STACK_OK);
	forward_log_node(&forward, "CheckpointBackward", 200, 210, 7, FORWARD_THREAD);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "none");
	assert_string_equal(node_of(model, 1), "CheckpointBackward of 20"); /* only the frames below the node */
	model_free(model);
}

/* As in checkpointing: a node computes its forward pass again and runs the nodes that this makes. */
static void of_a_forward_that_a_node_computes_again_nodes_have_the_line(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "Checkpoint", 100, 110, 7, 20);
	forward_log_op(&forward, "aten::mm",
		       (struct gpt_agent_op){
			       .start_ns = 205, .end_ns = 209, .sequence = 7, .thread = ENGINE_THREAD, .tid = ENGINE},
		       31);
	forward_log_launch(&forward, 215, 1);
	forward_log_node(&forward, "MmBackward0", 212, 218, 7, ENGINE_THREAD);
	forward_log_launch(&forward, 225, 1);
	forward_log_node(&forward, "CheckpointBackward", 200, 230, 7, FORWARD_THREAD);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "MmBackward0 of 31");
	assert_string_equal(node_of(model, 1), "CheckpointBackward of 20");
	model_free(model);
}

static void what_the_engine_does_around_a_node_is_the_nodes(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_node(&forward, "MmBackward0", 205, 210, 7, FORWARD_THREAD);
	forward_log_launch(&forward, 215, 1);
	forward_log_op(&forward, "autograd::engine::evaluate_function: MmBackward0",
		       (struct gpt_agent_op){
			       .start_ns = 200, .end_ns = 220, .sequence = -1, .thread = ENGINE_THREAD, .tid = ENGINE},
		       0);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "MmBackward0 of 20");
	model_free(model);
}

/* CopySlices of the op with number 7, around that op's own node. */
static void add_copy_slices(struct forward_log *forward, uint64_t start_us, int64_t sequence)
{
	forward_log_launch(forward, start_us + 3, 1);
	forward_log_launch(forward, start_us + 11, 1);
	forward_log_node(forward, "MulBackward0", start_us + 10, start_us + 15, 7, FORWARD_THREAD);
	forward_log_launch(forward, start_us + 20, 1);
	forward_log_node(forward, "CopySlices", start_us + 2, start_us + 25, sequence, FORWARD_THREAD);
	forward_log_launch(forward, start_us + 27, 1);
	forward_log_op(forward, "autograd::engine::evaluate_function: CopySlices",
		       (struct gpt_agent_op){.start_ns = start_us,
					     .end_ns = start_us + 30,
					     .sequence = -1,
					     .thread = ENGINE_THREAD,
					     .tid = ENGINE},
		       0);
}

static void a_node_around_another_of_the_same_op_has_its_line(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mul_", 100, 110, 7, 20);
	forward_log_layer(&forward, "aten::linear", 120, 130, 11, 21);
	forward_log_launch(&forward, 145, 1);
	forward_log_node(&forward, "AsStridedBackward0", 140, 150, 10, FORWARD_THREAD); /* of no op */
	add_copy_slices(&forward, 200, 9);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "AsStridedBackward0");
	assert_string_equal(node_of(model, 1), "CopySlices of 20");
	assert_string_equal(node_of(model, 2), "MulBackward0 of 20");
	assert_string_equal(node_of(model, 3), "CopySlices of 20");
	assert_string_equal(node_of(model, 4), "CopySlices of 20");
	model_free(model);
}

static void a_node_around_that_of_another_op_has_no_line(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mul_", 100, 110, 7, 20);
	forward_log_layer(&forward, "aten::linear", 120, 130, 8, 21);
	add_copy_slices(&forward, 200, 9);
	add_copy_slices(&forward, 300, 7 + 17); /* too far off to be of the same op */
	model = forward_log_end(&forward);
	for (uint32_t i = 0; i < 8; i += 4) {
		assert_string_equal(node_of(model, i), "CopySlices");
		assert_string_equal(node_of(model, i + 1), "MulBackward0 of 20");
		assert_string_equal(node_of(model, i + 2), "CopySlices");
	}
	model_free(model);
}

static void a_node_whose_forward_op_was_not_seen_has_no_line(void **state)
{
	struct forward_log forward = forward_log_begin();
	struct model *model;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 0);
	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "MmBackward0", 200, 210, 7, FORWARD_THREAD);
	forward_log_launch(&forward, 225, 1);
	forward_log_node(&forward, "AccumulateGrad", 220, 230, -1, FORWARD_THREAD);
	model = forward_log_end(&forward);
	assert_string_equal(node_of(model, 0), "MmBackward0");
	assert_string_equal(node_of(model, 1), "AccumulateGrad");
	assert_int_equal(model->forwards_forgotten, 0);
	model_free(model);
}

static void the_latest_million_of_a_threads_numbers_are_kept_and_what_is_not_is_counted(void **state)
{
	struct forward_ops ops = {0};
	struct model_op forward = {.torch_thread = 1}, node = {.forward_thread = 1};

	for (uint32_t i = 0; i <= FORWARD_NUMBERS_MAX; i++) {
		forward.sequence = i;
		forward.stack = i;
		forward_ops_note(&ops, 1, &forward);
	}
	node.sequence = FORWARD_NUMBERS_MAX;
	assert_int_equal(forward_ops_find(&ops, 1, &node), FORWARD_NUMBERS_MAX);
	node.sequence = 1;
	assert_int_equal(forward_ops_find(&ops, 1, &node), 1);
	assert_int_equal(ops.forgotten, 0);
	node.sequence = 0;
	assert_int_equal(forward_ops_find(&ops, 1, &node), NONE);
	assert_int_equal(ops.forgotten, 1);
	node.sequence = FORWARD_NUMBERS_MAX + 1; /* this number was never seen */
	assert_int_equal(forward_ops_find(&ops, 1, &node), NONE);
	assert_int_equal(ops.forgotten, 1);
	assert_int_equal(forward_ops_find(&ops, 2, &node), NONE);
	forward_ops_free(&ops);
}

static void numbers_and_threads_that_a_target_makes_up_take_no_more_memory(void **state)
{
	struct forward_ops ops = {0};
	struct model_op forward = {.stack = 1};

	for (uint64_t i = 1; i <= 100000; i++) {
		forward.torch_thread = i;
		forward.sequence = (int64_t)(i << 40);
		forward_ops_note(&ops, 1, &forward);
		forward.torch_thread = i % 8 + 1;
		forward.sequence = (int64_t)(i << 20);
		forward_ops_note(&ops, 1, &forward);
	}
	assert_true(ops.room <= 8u << 20);
	forward_ops_free(&ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_has_the_line_of_the_forward_op_that_made_it),
		cmocka_unit_test(of_several_ops_with_one_number_the_one_that_began_last_made_the_node),
		cmocka_unit_test(a_number_is_that_of_a_thread),
		cmocka_unit_test(a_node_that_runs_twice_has_its_line_twice),
		cmocka_unit_test(python_that_a_node_runs_keeps_its_own_line),
		cmocka_unit_test(of_a_forward_that_a_node_computes_again_nodes_have_the_line),
		cmocka_unit_test(what_the_engine_does_around_a_node_is_the_nodes),
		cmocka_unit_test(a_node_around_another_of_the_same_op_has_its_line),
		cmocka_unit_test(a_node_around_that_of_another_op_has_no_line),
		cmocka_unit_test(a_node_whose_forward_op_was_not_seen_has_no_line),
		cmocka_unit_test(the_latest_million_of_a_threads_numbers_are_kept_and_what_is_not_is_counted),
		cmocka_unit_test(numbers_and_threads_that_a_target_makes_up_take_no_more_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
