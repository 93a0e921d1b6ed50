/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Operations of CUDA graphs: the captured call that each one comes from. */
#include "model_of.h"

#define GRAPH_LAUNCH GPT_API(GPT_DOMAIN_RUNTIME, 311)

enum { CAPTURED = 1, WITHOUT_STACK = 2, REPLAY = 3 }; /* correlation ids */

/* Three calls: one under capture with a stack, one without, and the launch of the graph. */
static void begin_log(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_function(log, PID, 0xc0de, "train", "/src/train.py", 10);
	log_stack(log, PID, 1, 1, (struct gpt_pyframe[]){{.code = 0xc0de, .lasti = 6}});
	log_launch(log, PID, TID, 900, 0, REPLAY); /* joined by identity, not by order */
	log_launch(log, PID, TID, 100, 1, CAPTURED);
	log_launch(log, PID, TID, 110, 0, WITHOUT_STACK);
	log_batch(log, PID, TID, 950);
}

static void add_node(struct log_builder *log, uint64_t id, uint64_t source, uint32_t corr)
{
	log_agent_graph_node(log, (struct gpt_agent_graph_node){.node = id, .source = source, .corr = corr});
}

static void add_run(struct log_builder *log, uint64_t graph_node, uint64_t start_ns)
{
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = start_ns,
							.end_wall_ns = start_ns + 10,
							.corr = REPLAY,
							.graph = graph_node ? 5 : 0,
							.graph_node = graph_node});
}

static void a_kernel_of_a_graph_is_put_on_the_line_that_was_captured(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_run(&log, 301, 1000); /* clone of a clone */
	add_run(&log, 999, 1020); /* captured before the trace */
	add_node(&log, 301, 201, 0);
	add_node(&log, 201, 101, 0);
	add_node(&log, 101, 0, CAPTURED);
	log_end(&log, 2000);
	model = model_of(&log);
	assert_int_equal(model->calls[model->gpu[0].captured_by].corr, CAPTURED);
	assert_int_equal(model->calls[gpu_attributed_call(model, &model->gpu[0])].corr, CAPTURED);
	assert_int_equal(model->calls[model->gpu[0].call].corr, REPLAY);
	assert_int_equal(model->gpu[1].captured_by, NONE);
	assert_int_equal(model->calls[gpu_attributed_call(model, &model->gpu[1])].corr, REPLAY);
	assert_int_equal(model_source(model)->receipt.graph_ns, 20);
	assert_int_equal(model_source(model)->receipt.graph_ns_captured, 10);
	assert_int_equal(model_source(model)->receipt.gpu_ns_with_line, 10);
	model_free(model);
}

static void without_a_stack_of_the_capture_the_replay_is_the_line(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_node(&log, 102, 0, WITHOUT_STACK);
	add_node(&log, 202, 102, 0);
	add_node(&log, 203, 103, 0); /* the source node was added by hand, not captured */
	add_run(&log, 202, 1000);
	add_run(&log, 203, 1020);
	log_end(&log, 2000);
	model = model_of(&log);
	assert_int_equal(model->calls[model->gpu[0].captured_by].corr, WITHOUT_STACK);
	assert_int_equal(model->calls[gpu_attributed_call(model, &model->gpu[0])].corr, REPLAY);
	assert_int_equal(model->gpu[1].captured_by, NONE);
	assert_int_equal(model_source(model)->receipt.graph_ns_captured, 0);
	model_free(model);
}

static void nodes_that_make_no_sense_end_nowhere(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_node(&log, 1, 2, 0);
	add_node(&log, 2, 1, 0); /* a cycle */
	add_node(&log, 0, 0, CAPTURED);
	add_node(&log, 7, 0, 0);
	add_run(&log, 1, 1000);
	add_run(&log, 0, 1020); /* not a graph */
	log_end(&log, 2000);
	model = model_of(&log);
	assert_int_equal(model->gpu[0].captured_by, NONE);
	assert_int_equal(model->gpu[1].captured_by, NONE);
	assert_int_equal(model_source(model)->receipt.graph_ns, 10);
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_of_a_graph_is_put_on_the_line_that_was_captured),
		cmocka_unit_test(without_a_stack_of_the_capture_the_replay_is_the_line),
		cmocka_unit_test(nodes_that_make_no_sense_end_nowhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
