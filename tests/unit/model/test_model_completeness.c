/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How complete a trace is: what counts against it, by how much, and when it is 100 %. */
#include "model_of.h"

#define GRAPH_LAUNCH GPT_API(GPT_DOMAIN_RUNTIME, 311)
#define OTHER (PID + 100)

static struct log_builder builder;

/* Two launches with their kernels, 1 and 2, in a process whose agent records from 100 on; nothing is missing yet. */
static struct log_builder *begin_log(const char *agent)
{
	log_begin(&builder, 0, 0);
	log_session_asks(&builder, "0", agent);
	log_batch(&builder, PID, TID, 100);
	log_agent_ready(&builder, "kernels");
	for (uint32_t corr = 1; corr <= 2; corr++) {
		log_launch(&builder, PID, TID, 200 + corr, 0, corr);
		log_batch(&builder, PID, TID, 900);
		log_agent_kernel(&builder,
				 (struct gpt_agent_kernel){.start_wall_ns = 300, .end_wall_ns = 310, .corr = corr});
	}
	return &builder;
}

static struct model *end_with(uint32_t counter, uint64_t count)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {0};

	counters[counter] = count;
	log_end_with(&builder, &(struct gpt_end){.time_ns = 1000, .reason = GPT_END_DURATION}, counters);
	return model_of(&builder);
}

static void check_share(uint32_t counter, uint64_t count, uint32_t thousandths)
{
	struct model *model = end_with(counter, count);

	assert_int_equal(model_completeness(model), thousandths);
	model_free(model);
}

static void a_trace_of_which_all_is_known_is_complete(void **state)
{
	begin_log("auto");
	check_share(GPT_COUNTER_NESTED, 5, MODEL_COMPLETE);
}

static void launches_of_a_process_without_an_agent_count_against_it(void **state)
{
	struct model *model;

	begin_log("auto");
	log_launch(&builder, OTHER, OTHER, 250, 0, 0);
	log_launch(&builder, OTHER, OTHER, 260, 0, 0);
	model = end_with(0, 0);
	assert_int_equal(model_completeness(model), 50000);
	assert_int_equal(model_source(model)->receipt.launches_no_agent, 2);
	assert_int_equal(model_source(model)->receipt.launches_agent_away, 0);
	assert_int_equal(model_launches_meant(model), 4);
	assert_int_equal(model_source(model)->receipt.launches_expected, 2);
	model_free(model);
}

static void launches_before_the_agent_recorded_count_against_it(void **state)
{
	struct model *model;

	begin_log("auto");
	log_launch(&builder, PID, TID, 50, 0, 0);
	log_launch(&builder, PID, TID, 60, 0, 0);
	model = end_with(0, 0);
	assert_int_equal(model_completeness(model), 50000);
	assert_int_equal(model_source(model)->receipt.launches_agent_away, 2);
	assert_int_equal(launch_fate(model, &model->calls[0]), LAUNCH_AWAY);
	assert_int_equal(launch_fate(model, &model->calls[2]), LAUNCH_WHOLE);
	model_free(model);
}

static void nothing_is_missing_where_no_gpu_times_were_asked_for(void **state)
{
	log_begin(&builder, 0, 0);
	log_session_asks(&builder, "0", "off");
	log_launch(&builder, PID, TID, 50, 0, 0);
	check_share(0, 0, MODEL_COMPLETE);
}

static void where_they_were_and_no_agent_came_nothing_is_there(void **state)
{
	static const char *const asked[] = {"auto", "require"};

	for (size_t i = 0; i < 2; i++) {
		log_begin(&builder, 0, 0);
		log_session_asks(&builder, "0", asked[i]);
		log_launch(&builder, PID, TID, 50, 0, 0);
		check_share(0, 0, 0);
	}
}

static void a_log_that_does_not_say_what_was_asked_for_meant_them_if_an_agent_came(void **state)
{
	begin_log("");
	log_launch(&builder, OTHER, OTHER, 250, 0, 0);
	check_share(0, 0, 66666);
	log_begin(&builder, 0, 0);
	log_launch(&builder, PID, TID, 50, 0, 0);
	check_share(0, 0, MODEL_COMPLETE);
}

static void launch_graph_at(uint64_t time_ns, uint32_t corr, uint32_t graph, uint64_t first_node, unsigned nodes)
{
	log_call(&builder, (struct gpt_call){.time_ns = time_ns,
					     .pid = PID,
					     .tid = TID,
					     .corr = corr,
					     .api = GRAPH_LAUNCH,
					     .stack_state = GPT_STACK_NO_PYTHON});
	log_batch(&builder, PID, TID, 900);
	for (unsigned i = 0; i < nodes; i++)
		log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = 500,
								     .end_wall_ns = 510,
								     .corr = corr,
								     .graph = graph,
								     .graph_node = first_node + i});
}

static void launch_graph(uint32_t corr, uint32_t graph, uint64_t first_node, unsigned nodes)
{
	launch_graph_at(400 + corr, corr, graph, first_node, nodes);
}

static void a_graph_launch_with_fewer_operations_than_the_graph_has_counts_against_it(void **state)
{
	struct model *model;

	begin_log("auto");
	launch_graph(10, 7, 70, 3);
	launch_graph(11, 7, 71, 2); /* node 70 did not run */
	model = end_with(0, 0);
	assert_int_equal(model_source(model)->receipt.launches_short, 1);
	assert_int_equal(model_source(model)->receipt.launches_joined, 4);
	assert_int_equal(model->calls[3].nodes_missing, 1);
	assert_int_equal(model_completeness(model), 75000);
	model_free(model);
}

static void nodes_are_counted_over_all_launches_of_a_graph(void **state)
{
	struct model *model;

	begin_log("auto");
	launch_graph(10, 7, 70, 2);
	launch_graph(11, 7, 71, 2);
	model = end_with(0, 0);
	assert_int_equal(model_source(model)->receipt.launches_short, 2);
	assert_int_equal(model_completeness(model), 50000);
	model_free(model);
}

static void graphs_of_other_processes_and_other_ids_are_others(void **state)
{
	begin_log("auto");
	launch_graph(10, 7, 70, 3);
	launch_graph(11, 8, 71, 2);
	launch_graph(12, 7, 70, 3);
	log_process_event(&builder, GPT_EXEC, PID, 0, 430, "again");
	launch_graph_at(450, 10, 7, 70, 1);
	check_share(0, 0, MODEL_COMPLETE);
}

static void a_node_that_runs_several_times_is_one(void **state)
{
	begin_log("auto");
	launch_graph(10, 7, 70, 2);
	launch_graph(10, 7, 70, 2); /* a loop in a graph */
	launch_graph(11, 7, 70, 2);
	check_share(0, 0, MODEL_COMPLETE);
}

static void a_launch_whose_stack_was_lost_counts_once(void **state)
{
	begin_log("auto");
	log_call(&builder, (struct gpt_call){.time_ns = 250,
					     .pid = PID,
					     .tid = TID,
					     .corr = 2 + 1,
					     .api = CUDA_LAUNCH,
					     .stack_state = GPT_STACK_LOST});
	log_batch(&builder, PID, TID, 900);
	log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = 300, .end_wall_ns = 310, .corr = 3});
	check_share(GPT_COUNTER_STACKS_LOST, 1, 66666);
}

static void a_lost_batch_is_a_launch_without_times_where_no_launch_lacks_them(void **state)
{
	begin_log("auto");
	check_share(GPT_COUNTER_BATCHES_LOST, 1, 50000);
	begin_log("auto");
	log_launch(&builder, PID, TID, 250, 0, 3); /* its kernel was in that batch */
	log_launch(&builder, PID, TID, 260, 0, 4);
	check_share(GPT_COUNTER_BATCHES_LOST, 1, 50000);
	begin_log("auto");
	check_share(GPT_COUNTER_BATCHES_LOST, UINT64_MAX, 0);
}

static void a_lost_stack_counts_where_no_call_lacks_it(void **state)
{
	begin_log("auto");
	check_share(GPT_COUNTER_CODE_LOST, 1, 50000);
	log_begin(&builder, 0, 0);
	log_session_asks(&builder, "0", "off");
	log_launch(&builder, PID, TID, 50, 0, 0);
	log_launch(&builder, PID, TID, 60, 0, 0);
	check_share(GPT_COUNTER_STACKS_LOST, 1, 50000);
}

static void a_lost_call_is_one_more_launch(void **state)
{
	begin_log("auto");
	check_share(GPT_COUNTER_CALLS_LOST, 2, 50000);
	begin_log("auto");
	check_share(GPT_COUNTER_THREADS_FULL, 1, 66666);
	begin_log("auto");
	check_share(GPT_COUNTER_CALLS_LOST, UINT64_MAX, 0);
}

static void a_kernel_that_could_not_be_timed_counts_against_it(void **state)
{
	begin_log("auto");
	log_launch(&builder, PID, TID, 250, 0, 3);
	log_batch(&builder, PID, TID, 900);
	log_agent_kernel(&builder, (struct gpt_agent_kernel){.corr = 3});
	check_share(0, 0, 66666);
}

/* A copy of 4 bytes, which no share counts. */
static void copy_at(uint64_t start_ns, uint8_t stack_state)
{
	log_call(&builder, (struct gpt_call){.time_ns = 250,
					     .pid = PID,
					     .tid = TID,
					     .corr = 3,
					     .api = GPT_API(GPT_DOMAIN_RUNTIME, 41),
					     .origin = GPT_ORIGIN_AGENT,
					     .stack_state = stack_state});
	log_batch(&builder, PID, TID, 900);
	log_agent_memcpy(&builder,
			 (struct gpt_agent_memcpy){
				 .start_wall_ns = start_ns, .end_wall_ns = start_ns, .corr = 3, .bytes = 4, .kind = 1});
}

static void nothing_is_complete_beside_a_copy_without_a_time_or_a_stack_not_recorded(void **state)
{
	begin_log("auto");
	copy_at(320, GPT_STACK_NO_PYTHON);
	check_share(0, 0, MODEL_COMPLETE);
	begin_log("auto");
	copy_at(0, GPT_STACK_NO_PYTHON);
	check_share(0, 0, MODEL_COMPLETE - 1);
	begin_log("auto");
	copy_at(320, GPT_STACK_LOWERED);
	check_share(0, 0, MODEL_COMPLETE - 1);
}

static void nothing_is_complete_beside_a_loss_of_whatever_kind(void **state)
{
	static const uint32_t counters[] = {GPT_COUNTER_OTHER_LOST, GPT_COUNTER_PYEVENT_LOST, GPT_COUNTER_PYCALLS_LOST};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		begin_log("auto");
		check_share(counters[i], 2, MODEL_COMPLETE - 1);
	}
	log_begin(&builder, 0, 0); /* also where nothing was seen at all */
	check_share(GPT_COUNTER_OTHER_LOST, 1, MODEL_COMPLETE - 1);
}

static void a_kernel_whose_launch_was_not_seen_is_something_that_is_not_known(void **state)
{
	begin_log("auto");
	log_batch(&builder, PID, TID, 900);
	log_agent_kernel(&builder, (struct gpt_agent_kernel){.start_wall_ns = 300, .end_wall_ns = 310, .corr = 77});
	check_share(0, 0, MODEL_COMPLETE - 1);
}

static void a_truncated_log_is_not_complete(void **state)
{
	struct model *model;

	begin_log("auto");
	model = model_of(&builder);
	assert_int_equal(model_completeness(model), MODEL_COMPLETE - 1);
	model_free(model);
}

static void what_is_nearly_complete_is_not_rounded_up(void **state)
{
	begin_log("auto");
	for (uint32_t corr = 3; corr <= 300000; corr++) {
		log_launch(&builder, PID, TID, 200 + corr, 0, corr);
		log_batch(&builder, PID, TID, 900);
		if (corr < 300000)
			log_agent_kernel(&builder, (struct gpt_agent_kernel){
							   .start_wall_ns = 300, .end_wall_ns = 310, .corr = corr});
	}
	check_share(0, 0, 99999);
}

static void the_least_completeness_is_as_it_was_asked_for(void **state)
{
	static const struct {
		const char *text;
		uint32_t thousandths;
	} asked[] = {{"99900", 99900}, {"100000", 100000}, {"0", 0}, {"100001", 0}, {"99900x", 0}, {"", 0}};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		struct model *model;

		log_begin(&builder, 0, 0);
		log_session_asks(&builder, asked[i].text, "auto");
		model = end_with(0, 0);
		assert_int_equal(model->min_complete, asked[i].thousandths);
		model_free(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_trace_of_which_all_is_known_is_complete),
		cmocka_unit_test(launches_of_a_process_without_an_agent_count_against_it),
		cmocka_unit_test(launches_before_the_agent_recorded_count_against_it),
		cmocka_unit_test(nothing_is_missing_where_no_gpu_times_were_asked_for),
		cmocka_unit_test(where_they_were_and_no_agent_came_nothing_is_there),
		cmocka_unit_test(a_log_that_does_not_say_what_was_asked_for_meant_them_if_an_agent_came),
		cmocka_unit_test(a_graph_launch_with_fewer_operations_than_the_graph_has_counts_against_it),
		cmocka_unit_test(nodes_are_counted_over_all_launches_of_a_graph),
		cmocka_unit_test(graphs_of_other_processes_and_other_ids_are_others),
		cmocka_unit_test(a_node_that_runs_several_times_is_one),
		cmocka_unit_test(a_launch_whose_stack_was_lost_counts_once),
		cmocka_unit_test(a_lost_batch_is_a_launch_without_times_where_no_launch_lacks_them),
		cmocka_unit_test(a_lost_stack_counts_where_no_call_lacks_it),
		cmocka_unit_test(a_lost_call_is_one_more_launch),
		cmocka_unit_test(a_kernel_that_could_not_be_timed_counts_against_it),
		cmocka_unit_test(nothing_is_complete_beside_a_copy_without_a_time_or_a_stack_not_recorded),
		cmocka_unit_test(nothing_is_complete_beside_a_loss_of_whatever_kind),
		cmocka_unit_test(a_kernel_whose_launch_was_not_seen_is_something_that_is_not_known),
		cmocka_unit_test(a_truncated_log_is_not_complete),
		cmocka_unit_test(what_is_nearly_complete_is_not_rounded_up),
		cmocka_unit_test(the_least_completeness_is_as_it_was_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
