/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Synchronisations in the model: their call, their device, the recording of their event. */
#include "model_of.h"

#define RECORD_API GPT_API(GPT_DOMAIN_RUNTIME, 135) /* cudaEventRecord */
#define WAIT_API GPT_API(GPT_DOMAIN_RUNTIME, 137)   /* cudaEventSynchronize */

static void add_call(struct log_builder *log, uint64_t time_ns, uint32_t corr, uint16_t api)
{
	log_call(log, (struct gpt_call){.time_ns = time_ns,
					.pid = PID,
					.tid = TID,
					.corr = corr,
					.api = api,
					.origin = GPT_ORIGIN_AGENT,
					.stack_state = GPT_STACK_NO_PYTHON});
}

static void add_wait(struct log_builder *log, uint32_t corr, uint32_t kind, uint32_t event, uint64_t event_record,
		     uint64_t start_ns)
{
	log_agent_sync(log, (struct gpt_agent_sync){.start_wall_ns = start_ns,
						    .end_wall_ns = start_ns + 50,
						    .corr = corr,
						    .kind = kind,
						    .context = 1,
						    .stream = kind == GPT_AGENT_SYNC_STREAM ? 7 : UINT32_MAX,
						    .event = event,
						    .event_record = event_record});
}

static void add_event(struct log_builder *log, uint32_t corr, uint32_t stream, uint32_t event, uint64_t event_record)
{
	log_agent_event(
		log,
		(struct gpt_agent_event){
			.corr = corr, .context = 1, .stream = stream, .event = event, .event_record = event_record});
}

static const struct model_sync *sync_of(const struct model *model, uint32_t corr)
{
	for (uint32_t i = 0; i < model->sync_count; i++)
		if (model->syncs[i].corr == corr)
			return &model->syncs[i];
	fail_msg("no synchronisation of call %u", corr);
	return NULL;
}

static void a_wait_meets_its_call_in_any_order(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 500);
	add_wait(&log, 2, GPT_AGENT_SYNC_STREAM, UINT32_MAX, 0, 210);
	add_wait(&log, 9, GPT_AGENT_SYNC_CONTEXT, UINT32_MAX, 0, 110); /* its call was not seen */
	add_call(&log, 300, 1, WAIT_API);
	add_call(&log, 200, 2, GPT_API(GPT_DOMAIN_RUNTIME, 131));
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->sync_count, 2);
	assert_int_equal(model->syncs[0].call, NONE); /* sorted by time */
	assert_int_equal(model->calls[sync_of(model, 2)->call].corr, 2);
	assert_int_equal(sync_of(model, 2)->start_ns, 210);
	assert_int_equal(sync_of(model, 2)->end_ns, 260);
	assert_int_equal(sync_of(model, 2)->stream, 7);
	assert_int_equal(sync_of(model, 9)->stream, NONE);
	model_free(model);
}

static void an_event_is_the_one_recorded_last_before_the_wait(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	add_call(&log, 100, 1, RECORD_API);
	add_call(&log, 110, 2, RECORD_API);
	add_call(&log, 200, 3, WAIT_API);
	add_call(&log, 300, 4, RECORD_API);
	add_call(&log, 400, 5, WAIT_API);
	add_call(&log, 410, 6, WAIT_API);
	log_batch(&log, PID, TID, 500);
	add_wait(&log, 3, GPT_AGENT_SYNC_EVENT, 21, 0, 201);
	add_wait(&log, 5, GPT_AGENT_SYNC_STREAM_WAITS_EVENT, 21, 0, 401);
	add_wait(&log, 6, GPT_AGENT_SYNC_EVENT, 23, 0, 411); /* never recorded */
	add_event(&log, 4, 8, 21, 0);
	add_event(&log, 1, 7, 21, 0);
	add_event(&log, 2, 9, 22, 0); /* another event */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->calls[sync_of(model, 3)->recorded_by].corr, 1);
	assert_int_equal(sync_of(model, 3)->recorded_on, 7);
	assert_int_equal(model->calls[sync_of(model, 5)->recorded_by].corr, 4);
	assert_int_equal(sync_of(model, 5)->recorded_on, 8);
	assert_int_equal(sync_of(model, 6)->recorded_by, NONE);
	assert_int_equal(sync_of(model, 6)->recorded_on, NONE);
	model_free(model);
}

static void a_number_of_the_recording_is_believed_before_time_is(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	add_call(&log, 100, 1, RECORD_API);
	add_call(&log, 150, 2, RECORD_API);
	add_call(&log, 200, 3, WAIT_API);
	add_call(&log, 250, 4, WAIT_API);
	log_batch(&log, PID, TID, 500);
	add_event(&log, 1, 7, 21, 1001);
	add_event(&log, 2, 8, 21, 1002);
	add_wait(&log, 3, GPT_AGENT_SYNC_EVENT, 21, 1001, 201);
	add_wait(&log, 4, GPT_AGENT_SYNC_EVENT, 21, 900, 251); /* recorded before the trace began */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->calls[sync_of(model, 3)->recorded_by].corr, 1);
	assert_int_equal(sync_of(model, 4)->recorded_by, NONE);
	model_free(model);
}

static void the_device_is_that_of_the_context(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	add_call(&log, 100, 1, WAIT_API);
	add_call(&log, 200, 2, WAIT_API);
	log_batch(&log, PID, TID, 500);
	add_wait(&log, 1, GPT_AGENT_SYNC_CONTEXT, UINT32_MAX, 0, 101);
	log_agent_context(&log, (struct gpt_agent_context){.context = 1, .device = 3});
	log_batch(&log, PID + 1, TID + 1, 500); /* context 1 is unknown in that process */
	add_wait(&log, 2, GPT_AGENT_SYNC_CONTEXT, UINT32_MAX, 0, 201);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(sync_of(model, 1)->device, 3);
	assert_int_equal(sync_of(model, 2)->device, NONE);
	model_free(model);
}

static void waits_that_make_no_sense_are_counted(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 500);
	add_wait(&log, 1, 5, 0, 0, 100); /* no such kind */
	add_wait(&log, 2, UINT32_MAX, 0, 0, 100);
	add_wait(&log, 3, GPT_AGENT_SYNC_CONTEXT, 0, 0, -20ull); /* ends before it begins */
	add_wait(&log, 4, GPT_AGENT_SYNC_CONTEXT, 0, 0, 1ull << 60);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->sync_count, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_meets_its_call_in_any_order),
		cmocka_unit_test(an_event_is_the_one_recorded_last_before_the_wait),
		cmocka_unit_test(a_number_of_the_recording_is_believed_before_time_is),
		cmocka_unit_test(the_device_is_that_of_the_context),
		cmocka_unit_test(waits_that_make_no_sense_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
