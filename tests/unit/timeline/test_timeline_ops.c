/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PyTorch's ops in a timeline. */
#include "timeline_of.h"

#include "ops_log.h"
#include "timeline_check.h"

/* The slice with this name. */
static const struct kept_slice *slice_named(const struct kept *kept, const char *name)
{
	for (uint32_t i = 0; i < kept->slices.count; i++)
		if (!strcmp(kept->slices.items[i].name, name))
			return &kept->slices.items[i];
	fail_msg("no slice %s", name);
	return NULL;
}

static void an_op_has_its_times_and_arguments(void **state)
{
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);
	const struct kept_slice *op = slice_named(&kept, "aten::addmm");

	assert_int_equal(op->category, TIMELINE_OP);
	assert_int_equal(op->start_ns, 115000);
	assert_int_equal(op->end_ns, 148000);
	assert_int_equal(arg_of(op, TIMELINE_ARG_OP_SEQUENCE)->integer, 7);
	assert_int_equal(arg_of(op, TIMELINE_ARG_OP_FORWARD)->number, 0);
	assert_int_equal(arg_of(op, TIMELINE_ARG_OP_HANDLE)->number, 0);
	assert_int_equal(arg_of(op, TIMELINE_ARG_OP_INDEX)->number + 1, op->op);
	assert_null(arg_of(op, TIMELINE_ARG_END));
	assert_null(arg_of(slice_named(&kept, "aten::mm"), TIMELINE_ARG_OP_SEQUENCE));
	kept_free(&kept);
	model_free(model);
}

static void an_op_has_its_inputs_where_they_were_recorded(void **state)
{
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);
	const struct kept_slice *op = slice_named(&kept, "aten::addmm");

	assert_memory_equal(arg_of(op, TIMELINE_ARG_OP_DIMS)->json.text, "[[8], []] ", 10);
	assert_int_equal(arg_of(op, TIMELINE_ARG_OP_DIMS)->json.size, 9);
	assert_memory_equal(arg_of(op, TIMELINE_ARG_OP_CONCRETE)->json.text, "[\"\", \"0.5\"]", 12);
	assert_null(arg_of(slice_named(&kept, "aten::mm"), TIMELINE_ARG_OP_DIMS));
	kept_free(&kept);
	model_free(model);
}

static void what_a_program_named_is_of_another_category(void **state)
{
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);

	assert_int_equal(slice_named(&kept, "step \"1\"")->category, TIMELINE_NAMED_OP);
	assert_int_equal(count_of_category(&kept, TIMELINE_NAMED_OP), 1);
	assert_int_equal(count_of_category(&kept, TIMELINE_OP), 4);
	kept_free(&kept);
	model_free(model);
}

static void ops_and_calls_of_a_thread_share_its_track(void **state)
{
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);

	assert_int_equal(slice_named(&kept, "aten::addmm")->track, nth(&kept, TIMELINE_RUNTIME_CALL, 0)->track);
	assert_int_equal(slice_named(&kept, "aten::mm")->track, nth(&kept, TIMELINE_RUNTIME_CALL, 3)->track);
	kept_free(&kept);
	model_free(model);
}

static void calls_and_kernels_have_the_number_of_the_innermost_op(void **state)
{
	static const char *const names[] = {"aten::addmm", "aten::addmm", "step \"1\"", "aten::mm"};
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);

	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(nth(&kept, TIMELINE_RUNTIME_CALL, i)->op, slice_named(&kept, names[i])->op);
		assert_int_equal(nth(&kept, TIMELINE_KERNEL, i)->op, slice_named(&kept, names[i])->op);
	}
	assert_int_equal(nth(&kept, TIMELINE_RUNTIME_CALL, 4)->op, 0);
	assert_int_equal(nth(&kept, TIMELINE_KERNEL, 4)->op, 0);
	kept_free(&kept);
	model_free(model);
}

static void an_arrow_goes_from_the_innermost_forward_op_to_its_backward(void **state)
{
	struct model *model = ops_model();
	struct kept kept = keep(model, -1);
	const struct kept_slice *backward = slice_named(&kept, "AddmmBackward0");

	assert_int_not_equal(backward->link.number, 0);
	assert_int_equal(backward->link.from_ns, 115000);
	assert_int_equal(backward->link.from_track, slice_named(&kept, "aten::addmm")->track);
	assert_int_equal(slice_named(&kept, "aten::linear")->link.number, 0);
	assert_int_equal(slice_named(&kept, "aten::mm")->link.number, 0);
	kept_free(&kept);
	model_free(model);
}

static void a_forward_op_has_one_arrow(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct kept kept;
	uint32_t arrows = 0;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 270,
					       .end_ns = 280,
					       .name = 4,
					       .sequence = 7,
					       .thread = 2,
					       .forward_thread = 1,
					       .tid = ENGINE,
					       .scope = GPT_AGENT_OP_BACKWARD_FUNCTION});
	log_end(&ops.log, 1000000);
	model = model_of(&ops.log);
	kept = keep(model, -1);
	for (uint32_t i = 0; i < kept.slices.count; i++)
		arrows += kept.slices.items[i].link.number != 0;
	assert_int_equal(arrows, 1);
	kept_free(&kept);
	model_free(model);
}

static void functions_drawn_from_calls_stand_beside_ops(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct kept kept;

	log_function(&ops.log, PID, 0x100, "train", "/src/train.py", 10);
	log_stack(&ops.log, PID, 1, 1, (struct gpt_pyframe[]){{.code = 0x100, .lasti = 0}});
	log_launch(&ops.log, PID, TID, 121000, 1, 90);
	log_end(&ops.log, 1000000);
	model = model_of(&ops.log);
	kept = keep(model, -1);
	assert_int_equal(kept.timeline->tracks.items[slice_named(&kept, "train")->track].kind, TIMELINE_TRACK_PYTHON);
	assert_string_equal(label_of(&kept, slice_named(&kept, "train")->track), "thread 41231 Python");
	kept_free(&kept);
	model_free(model);
}

static void an_op_that_was_open_says_so(void **state)
{
	struct ops_log ops = ops_log_begin();
	struct model *model;
	struct kept kept;

	ops_log_op(&ops, (struct gpt_agent_op){.start_ns = 500, .end_ns = 600, .flags = GPT_AGENT_OP_OPEN});
	log_end(&ops.log, 1000000);
	model = model_of(&ops.log);
	kept = keep(model, -1);
	assert_string_equal(arg_of(slice_named(&kept, "(name not known)"), TIMELINE_ARG_END)->text, "not seen");
	kept_free(&kept);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_op_has_its_times_and_arguments),
		cmocka_unit_test(an_op_has_its_inputs_where_they_were_recorded),
		cmocka_unit_test(what_a_program_named_is_of_another_category),
		cmocka_unit_test(ops_and_calls_of_a_thread_share_its_track),
		cmocka_unit_test(calls_and_kernels_have_the_number_of_the_innermost_op),
		cmocka_unit_test(an_arrow_goes_from_the_innermost_forward_op_to_its_backward),
		cmocka_unit_test(a_forward_op_has_one_arrow),
		cmocka_unit_test(functions_drawn_from_calls_stand_beside_ops),
		cmocka_unit_test(an_op_that_was_open_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
