/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory in the model: matching releases with allocations. */
#include "model_of.h"

#define DEVICE_MEMORY 3 /* CUPTI_ACTIVITY_MEMORY_KIND_DEVICE */

static void add_memory(struct log_builder *log, uint32_t corr, uint32_t operation, uint64_t address, uint64_t bytes,
		       uint64_t time_ns)
{
	log_agent_memory(log, (struct gpt_agent_memory){.time_wall_ns = time_ns,
							.address = address,
							.bytes = bytes,
							.corr = corr,
							.operation = operation,
							.kind = DEVICE_MEMORY});
}

static void a_release_has_the_size_of_its_allocation(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_call(&log, (struct gpt_call){.time_ns = 99,
					 .pid = PID,
					 .tid = TID,
					 .corr = 1,
					 .api = GPT_API(GPT_DOMAIN_RUNTIME, 20),
					 .stack_state = GPT_STACK_NO_PYTHON});
	log_batch(&log, PID, TID, 500);
	add_memory(&log, 3, GPT_AGENT_MEMORY_RELEASED, 0x1000, 0, 300); /* not in order of time */
	add_memory(&log, 1, GPT_AGENT_MEMORY_ALLOCATED, 0x1000, 64, 100);
	add_memory(&log, 2, GPT_AGENT_MEMORY_RELEASED, 0x9000, 32, 200); /* allocated before the trace */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->memory_count, 3);
	assert_int_equal(model->calls[model->memories[0].call].corr, 1);
	assert_int_equal(model->memories[0].other, 2);
	assert_int_equal(model->memories[1].other, NONE);
	assert_int_equal(model->memories[1].bytes, 32);
	assert_int_equal(model->memories[2].bytes, 64);
	assert_int_equal(model->memories[2].call, NONE);
	model_free(model);
}

static void an_address_that_is_used_again_is_another_block(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 500);
	add_memory(&log, 1, GPT_AGENT_MEMORY_ALLOCATED, 0x1000, 64, 100);
	add_memory(&log, 3, GPT_AGENT_MEMORY_ALLOCATED, 0x1000, 16, 200);
	add_memory(&log, 2, GPT_AGENT_MEMORY_RELEASED, 0x1000, 64, 200); /* the same tick of the clock */
	log_batch(&log, PID + 1, TID + 1, 500);
	add_memory(&log, 4, GPT_AGENT_MEMORY_RELEASED, 0x1000, 7, 300); /* the same address in another process */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->memories[0].other, 1);
	assert_true(model->memories[1].released);
	assert_int_equal(model->memories[2].other, NONE);
	assert_int_equal(model->memories[3].other, NONE);
	model_free(model);
}

static void memory_that_makes_no_sense_is_counted(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 500);
	add_memory(&log, 1, GPT_AGENT_MEMORY_ALLOCATED, 0x1000, UINT64_MAX, 100);
	add_memory(&log, 2, GPT_AGENT_MEMORY_ALLOCATED, 0x1000, 1, 1ull << 60);
	add_memory(&log, 3, 7, 0x1000, 1, 100); /* an operation of a later CUPTI */
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->memory_count, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 2);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_release_has_the_size_of_its_allocation),
		cmocka_unit_test(an_address_that_is_used_again_is_another_block),
		cmocka_unit_test(memory_that_makes_no_sense_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
