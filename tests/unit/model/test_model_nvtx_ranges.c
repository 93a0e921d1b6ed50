/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX ranges in the model: pairing, and what happens when an end is missing. */
#include "model_of.h"

#define MARK GPT_AGENT_RANGE_MARK
#define PUSH GPT_AGENT_RANGE_PUSHED
#define POP GPT_AGENT_RANGE_POPPED
#define START GPT_AGENT_RANGE_STARTED
#define END GPT_AGENT_RANGE_ENDED
#define LOST GPT_AGENT_RANGE_LOST

static void begin_log(struct log_builder *log)
{
	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(log, PID, TID, 900);
}

static void add_event(struct log_builder *log, uint16_t what, uint64_t time_ns, uint32_t tid, const char *name)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = time_ns, .tid = tid, .what = what}, name, "");
}

static void in_domain(struct log_builder *log, uint16_t what, uint64_t time_ns, const char *name, const char *domain)
{
	log_agent_range(log,
			&(struct gpt_agent_range){
				.time_ns = time_ns, .tid = TID, .what = what, .domain = *domain == 'b' ? 2 : 1},
			name, what == PUSH ? domain : "");
}

static void by_id(struct log_builder *log, uint16_t what, uint64_t time_ns, uint32_t tid, uint64_t id)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = time_ns, .id = id, .tid = tid, .what = what},
			what == START ? "started" : "", "");
}

/* The only range with this name. */
static const struct model_span *range_of(const struct model *model, const char *name)
{
	const struct model_span *found = NULL;

	for (uint32_t i = 0; i < model->range_count; i++)
		if (!strcmp(model->strings[model->ranges[i].name], name)) {
			assert_null(found);
			found = &model->ranges[i];
		}
	assert_non_null(found);
	return found;
}

static void assert_range(const struct model *model, const char *name, uint64_t start_ns, uint64_t end_ns,
			 bool truncated)
{
	const struct model_span *range = range_of(model, name);

	assert_int_equal(range->start_ns, start_ns);
	assert_int_equal(range->end_ns, end_ns);
	assert_int_equal(range->truncated, truncated);
}

static void a_pop_ends_what_its_thread_pushed_last(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, POP, 90, TID, ""); /* its push was before the trace */
	add_event(&log, PUSH, 100, TID, "outer");
	add_event(&log, PUSH, 110, TID + 1, "elsewhere");
	add_event(&log, PUSH, 120, TID, "inner");
	add_event(&log, POP, 130, TID, "");
	add_event(&log, POP, 140, TID, "");
	add_event(&log, POP, 150, TID + 1, "");
	add_event(&log, MARK, 160, TID, "moment");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 4);
	assert_range(model, "outer", 100, 140, false);
	assert_range(model, "inner", 120, 130, false);
	assert_range(model, "elsewhere", 110, 150, false);
	assert_range(model, "moment", 160, 160, false);
	assert_int_equal(model->threads[range_of(model, "elsewhere")->thread].tid, TID + 1);
	assert_int_equal(model->threads[range_of(model, "inner")->thread].ranges, 3);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void domains_have_stacks_of_their_own(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	in_domain(&log, PUSH, 100, "first", "a");
	in_domain(&log, PUSH, 110, "second", "b");
	in_domain(&log, POP, 120, "", "a");
	in_domain(&log, POP, 130, "", "b");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_range(model, "first", 100, 120, false);
	assert_range(model, "second", 110, 130, false);
	assert_string_equal(model->strings[range_of(model, "second")->domain], "b");
	model_free(model);
}

static void a_started_range_ends_on_any_thread(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	by_id(&log, END, 90, TID, 7); /* started before the trace */
	by_id(&log, START, 100, TID, 7);
	by_id(&log, END, 150, TID + 1, 7);
	by_id(&log, END, 160, TID, 7); /* a second end */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 1);
	assert_range(model, "started", 100, 150, false);
	assert_int_equal(model->threads[range_of(model, "started")->thread].tid, TID);
	model_free(model);
}

static void what_is_not_ended_ends_with_its_program(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 100, TID, "before exec");
	log_process_event(&log, GPT_EXEC, PID, 0, 920, "other");
	log_batch(&log, PID, TID, 960);
	add_event(&log, POP, 930, TID, ""); /* its push was in the process image before */
	add_event(&log, PUSH, 940, TID, "after exec");
	log_batch(&log, PID + 1, PID + 1, 970);
	add_event(&log, PUSH, 950, PID + 1, "to the end");
	log_process_event(&log, GPT_EXIT, PID, 0, 980, "other");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_range(model, "before exec", 100, 920, true);
	assert_range(model, "after exec", 940, 980, true);
	assert_range(model, "to the end", 950, 1000, true);
	model_free(model);
}

static void where_some_were_lost_nothing_is_known_of_that_time(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 100, TID, "done");
	add_event(&log, POP, 110, TID, "");
	add_event(&log, PUSH, 120, TID, "outer");
	add_event(&log, PUSH, 130, TID, "inner");
	add_event(&log, PUSH, 310, TID, "meanwhile");
	add_event(&log, POP, 320, TID, "");
	add_event(&log, POP, 330, TID, ""); /* ends inner, or outer if inner's own pop was lost? */
	by_id(&log, START, 340, TID, 1);
	by_id(&log, END, 350, TID, 1); /* with an id there is no doubt */
	log_agent_range(&log, &(struct gpt_agent_range){.time_ns = 300, .id = 3, .what = LOST}, "", "");
	log_batch(&log, PID, TID, 990);
	add_event(&log, PUSH, 910, TID, "later");
	add_event(&log, POP, 920, TID, "");
	add_event(&log, POP, 930, TID, "");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_range(model, "done", 100, 110, false);
	assert_range(model, "outer", 120, 300, true);
	assert_range(model, "inner", 130, 300, true);
	assert_range(model, "started", 340, 350, false);
	assert_range(model, "later", 910, 920, false);
	assert_int_equal(model->range_count, 5); /* meanwhile is not among them */
	assert_int_equal(model_source(model)->receipt.ranges_lost, 3);
	assert_int_equal(model_source(model)->receipt.lost, 3);
	model_free(model);
}

static void a_thread_is_known_though_all_its_ranges_were_lost(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 310, TID + 1, "meanwhile");
	log_agent_range(&log, &(struct gpt_agent_range){.time_ns = 300, .id = 3, .what = LOST}, "", "");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 0);
	assert_int_equal(model->threads[model->thread_count - 1].tid, TID + 1);
	model_free(model);
}

static void ranges_are_numbered_as_they_began(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 100, TID, "of the first thread");
	add_event(&log, MARK, 110, TID + 1, "of another");
	add_event(&log, MARK, 120, TID, "of the first again");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(range_of(model, "of the first thread")->number, 0);
	assert_int_equal(range_of(model, "of another")->number, 1);
	assert_int_equal(range_of(model, "of the first again")->number, 2);
	model_free(model);
}

static void times_that_cannot_be_are_bad_records(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 901, TID, "after its batch");
	add_event(&log, PUSH, 200, TID, "outer");
	add_event(&log, PUSH, 300, TID, "inner");
	add_event(&log, POP, 400, TID, "");
	add_event(&log, POP, 350, TID, ""); /* times of a thread do not go back: taken as 400 */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 2);
	assert_range(model, "outer", 200, 400, false);
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

/* The trace begins at 10; the agent has had starts and ends before that. */
static void what_was_open_when_the_trace_began_is_in_it_from_then_on(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 2, TID, "to the end");
	add_event(&log, PUSH, 3, TID, "outer");
	add_event(&log, PUSH, 4, TID, "over");
	add_event(&log, MARK, 5, TID, "moment");
	add_event(&log, POP, 6, TID, "");
	add_event(&log, PUSH, 6, TID, "until it began");
	add_event(&log, PUSH, 4, TID + 1, "of a thread with nothing else");
	add_event(&log, POP, 5, TID + 1, "");
	by_id(&log, START, 7, TID, 1);
	by_id(&log, START, 7, TID, 2);
	by_id(&log, END, 8, TID + 1, 2);
	add_event(&log, POP, 10, TID, "");
	add_event(&log, PUSH, 20, TID, "inner");
	add_event(&log, POP, 30, TID, "");
	add_event(&log, POP, 40, TID, ""); /* outer */
	by_id(&log, END, 50, TID, 1);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 4);
	assert_range(model, "to the end", 10, 1000, true);
	assert_range(model, "outer", 10, 40, false);
	assert_range(model, "started", 10, 50, false);
	assert_range(model, "inner", 20, 30, false);
	assert_true(range_of(model, "outer")->before && range_of(model, "to the end")->before);
	assert_false(range_of(model, "inner")->before);
	assert_int_equal(model->threads[range_of(model, "outer")->thread].ranges, 4);
	for (uint32_t i = 0; i < model->thread_count; i++)
		assert_int_not_equal(model->threads[i].tid, TID + 1);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

/* Which range a pop before the trace ended is not known where some were lost: the agent was left by an earlier trace.
 */
static void what_was_open_before_a_loss_before_the_trace_is_not_in_it(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_event(&log, PUSH, 2, TID, "before");
	log_agent_range(&log, &(struct gpt_agent_range){.time_ns = 4, .id = 3, .what = LOST}, "", "");
	log_batch(&log, PID, TID, 950);
	add_event(&log, PUSH, 920, TID, "later");
	add_event(&log, POP, 930, TID, "");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->range_count, 1);
	assert_range(model, "later", 920, 930, false);
	model_free(model);
}

static void a_thread_is_found_by_its_number_in_its_own_namespace(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 900);
	log_agent_api(&log,
		      (struct gpt_agent_api){.start_ns = 100, .end_ns = 110, .corr = 1, .api = CUDA_LAUNCH, .tid = 7});
	add_event(&log, PUSH, 90, 7, "inside");
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->threads[range_of(model, "inside")->thread].tid, TID);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pop_ends_what_its_thread_pushed_last),
		cmocka_unit_test(domains_have_stacks_of_their_own),
		cmocka_unit_test(a_started_range_ends_on_any_thread),
		cmocka_unit_test(what_is_not_ended_ends_with_its_program),
		cmocka_unit_test(where_some_were_lost_nothing_is_known_of_that_time),
		cmocka_unit_test(a_thread_is_known_though_all_its_ranges_were_lost),
		cmocka_unit_test(ranges_are_numbered_as_they_began),
		cmocka_unit_test(times_that_cannot_be_are_bad_records),
		cmocka_unit_test(what_was_open_when_the_trace_began_is_in_it_from_then_on),
		cmocka_unit_test(what_was_open_before_a_loss_before_the_trace_is_not_in_it),
		cmocka_unit_test(a_thread_is_found_by_its_number_in_its_own_namespace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
