/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NCCL's launches, from the log to the model: the operation they stand for, and the call that has it. */
#include <gputrace/nccl.h>

#include "model/collectives.h"
#include "model_of.h"

#define COMM_ID 0x1234

static struct gpt_nccl all_reduce(uint64_t time_ns)
{
	return (struct gpt_nccl){
		.time_ns = time_ns,
		.comm = 0x5000,
		.comm_id = COMM_ID,
		.count = 1000,
		.sequence = 3,
		.pid = PID,
		.tid = TID,
		.calls = 1,
		.rank = 1,
		.ranks = 4,
		.function = GPT_NCCL_ALL_REDUCE,
		.dtype = 7,
	};
}

/* A log with this record followed by one launch at 100. */
static struct model *model_with(const struct gpt_nccl *nccl)
{
	struct log_builder log;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_nccl(&log, *nccl);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_end(&log, 1000);
	return model_of(&log);
}

static const struct model_collective *of_first_call(const struct model *model)
{
	assert_int_equal(model->call_count, 1);
	return model_collective_of_call(model, &model->calls[0]);
}

static void assert_collective(const struct gpt_nccl *nccl, const char *name, int64_t in, int64_t out, const char *dtype)
{
	struct model *model = model_with(nccl);
	const struct model_collective *found = of_first_call(model);
	struct collective collective;

	assert_non_null(found);
	assert_true(collective_read(&collective, model->strings[found->params]));
	assert_string_equal(collective.fields[GPT_COLLECTIVE_NAME], name);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_IN_ELEMENTS], in);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_OUT_ELEMENTS], out);
	assert_string_equal(collective_dtype(&collective), dtype);
	model_free(model);
}

static void a_launch_knows_what_nccl_was_called_for(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);
	struct model *model = model_with(&nccl);
	const struct model_collective *found = of_first_call(model);
	struct collective collective;

	assert_non_null(found);
	assert_int_equal(found->sequence, 3);
	assert_true(collective_read(&collective, model->strings[found->params]));
	assert_string_equal(collective.fields[GPT_COLLECTIVE_GROUP], "nccl:0000000000001234");
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_RANK], 1);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_GROUP_SIZE], 4);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_POINT_TO_POINT], 0);
	model_free(model);
	assert_collective(&nccl, "allreduce", 1000, 1000, "Float");
}

static void assert_pairs(const struct gpt_nccl *nccl, uint64_t sends, uint64_t receives, bool incomplete)
{
	struct model *model = model_with(nccl);
	const struct model_collective *found = of_first_call(model);

	assert_non_null(found);
	assert_int_equal(found->sends, sends);
	assert_int_equal(found->receives, receives);
	assert_int_equal(found->pairs_are_incomplete, incomplete);
	model_free(model);
}

static void sends_and_receives_have_their_other_ranks(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);

	assert_pairs(&nccl, 0, 0, false);
	nccl.function = GPT_NCCL_SEVERAL;
	nccl.calls = nccl.pairs = 3;
	nccl.sends = 5;
	nccl.receives = 8;
	assert_pairs(&nccl, 5, 8, false);
	nccl.more_pairs = 1; /* with a rank that has no bit */
	assert_pairs(&nccl, 5, 8, true);
	nccl.more_pairs = 0;
	nccl.calls = 4; /* one is a collective */
	assert_pairs(&nccl, 5, 8, true);
	nccl.calls = 3;
	nccl.comm = 0; /* of several communicators */
	assert_pairs(&nccl, 5, 8, true);
}

/* As before the ranks of sends and receives were recorded; what follows it in the log is no part of it. */
static void an_older_record_has_no_other_ranks(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);
	const struct model_collective *found;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_put(&log, GPT_NCCL, &nccl, offsetof(struct gpt_nccl, sends), NULL, 0);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_end(&log, 1000);
	model = model_of(&log);
	found = of_first_call(model);
	assert_non_null(found);
	assert_int_equal(found->sequence, 3);
	assert_int_equal(found->sends, 0);
	assert_int_equal(found->receives, 0);
	assert_false(found->pairs_are_incomplete);
	model_free(model);
}

static void another_time_or_thread_is_another_launch(void **state)
{
	struct gpt_nccl nccl = all_reduce(99);
	struct model *model = model_with(&nccl);

	assert_null(of_first_call(model));
	model_free(model);
	nccl = all_reduce(100);
	nccl.tid = TID + 1;
	model = model_with(&nccl);
	assert_null(of_first_call(model));
	model_free(model);
}

static void elements_go_in_and_come_out_as_the_function_has_them(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);

	nccl.function = GPT_NCCL_ALL_GATHER;
	assert_collective(&nccl, "allgather", 1000, 4000, "Float");
	nccl.function = GPT_NCCL_REDUCE_SCATTER;
	assert_collective(&nccl, "reduce_scatter", 4000, 1000, "Float");
	nccl.function = GPT_NCCL_ALL_TO_ALL;
	assert_collective(&nccl, "all_to_all", 4000, 4000, "Float");
	nccl.function = GPT_NCCL_GATHER;
	assert_collective(&nccl, "gather", 1000, -1, "Float");
	nccl.function = GPT_NCCL_SCATTER;
	assert_collective(&nccl, "scatter", -1, 1000, "Float");
	nccl.function = GPT_NCCL_RECV;
	nccl.dtype = 9;
	assert_collective(&nccl, "recv", 1000, 1000, "BFloat16");
}

static void what_is_not_one_number_is_not_known(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);

	nccl.function = GPT_NCCL_SEVERAL;
	nccl.count = -1;
	nccl.dtype = -1;
	assert_collective(&nccl, "coalesced", -1, -1, "UNKNOWN_SCALAR");
	nccl = all_reduce(100);
	nccl.function = GPT_NCCL_ALL_GATHER;
	nccl.ranks = 0;
	assert_collective(&nccl, "allgather", 1000, -1, "Float");
	nccl.ranks = 4;
	nccl.count = INT64_MAX;
	assert_collective(&nccl, "allgather", INT64_MAX, -1, "Float");
}

static void a_communicator_that_was_there_before_has_no_number_that_others_share(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);
	const struct model_collective *found;
	struct collective collective;
	struct model *model;

	nccl.comm_id = 0;
	model = model_with(&nccl);
	found = of_first_call(model);
	assert_non_null(found);
	assert_int_equal(found->sequence, -1);
	assert_true(collective_read(&collective, model->strings[found->params]));
	assert_string_equal(collective.fields[GPT_COLLECTIVE_GROUP], "0x5000");
	model_free(model);
}

static void numbers_that_cannot_be_are_not_taken(void **state)
{
	struct gpt_nccl nccl = all_reduce(100);
	const struct model_collective *found;
	struct collective collective;
	struct model *model;

	nccl.ranks = nccl.rank = INT32_MAX;
	nccl.dtype = 127;
	model = model_with(&nccl);
	found = of_first_call(model);
	assert_non_null(found);
	assert_true(collective_read(&collective, model->strings[found->params]));
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_GROUP_SIZE], -1);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_RANK], -1);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_DTYPE], -1);
	model_free(model);
	nccl.function = GPT_NCCL_GROUP_END; /* it launches, but is no operation */
	model = model_with(&nccl);
	assert_null(of_first_call(model));
	assert_int_equal(model_source(model)->receipt.bad_records, 1);
	model_free(model);
	nccl.function = GPT_NCCL_FUNCTIONS; /* of a later version */
	model = model_with(&nccl);
	assert_null(of_first_call(model));
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

#define SEPARATOR GPT_COLLECTIVE_SEPARATOR

static void what_pytorch_says_of_its_collective_counts_first(void **state)
{
	const struct gpt_nccl nccl = all_reduce(100);
	const struct model_collective *found;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_nccl(&log, nccl);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 900);
	log_agent_op_name(&log, 1, "record_param_comms");
	log_agent_op_name(&log, 2,
			  "all_reduce" SEPARATOR "0" SEPARATOR "default_pg" SEPARATOR "[0, 1]" SEPARATOR "[]" SEPARATOR
			  "[]" SEPARATOR "8" SEPARATOR "8" SEPARATOR "6" SEPARATOR "1" SEPARATOR "2" SEPARATOR
			  "-1" SEPARATOR "-1" SEPARATOR "-1" SEPARATOR "0" SEPARATOR "1");
	log_agent_op(&log, &(struct gpt_agent_op){.start_ns = 90,
						  .end_ns = 150,
						  .tid = TID,
						  .name = 1,
						  .collective = 2,
						  .collective_sequence = 11});
	log_end(&log, 1000);
	model = model_of(&log);
	found = of_first_call(model);
	assert_non_null(found);
	assert_int_equal(found->sequence, 11);
	assert_int_equal(found->op, model->calls[0].op);
	model_free(model);
}

static void launches_that_come_out_of_order_are_found(void **state)
{
	struct log_builder log;
	struct model *model;

	log_begin(&log, 10, 0);
	log_process(&log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	for (uint64_t time_ns = 500; time_ns >= 100; time_ns -= 100) {
		struct gpt_nccl nccl = all_reduce(time_ns);

		nccl.count = (int64_t)time_ns;
		log_nccl(&log, nccl);
	}
	for (uint32_t i = 1; i <= 5; i++)
		log_launch(&log, PID, TID, i * 100, 0, i);
	log_end(&log, 1000);
	model = model_of(&log);
	assert_int_equal(model->call_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		const struct model_collective *found = model_collective_of_call(model, &model->calls[i]);
		struct collective collective;

		assert_non_null(found);
		assert_true(collective_read(&collective, model->strings[found->params]));
		assert_int_equal(collective.numbers[GPT_COLLECTIVE_IN_ELEMENTS], model->calls[i].start_ns);
	}
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_knows_what_nccl_was_called_for),
		cmocka_unit_test(sends_and_receives_have_their_other_ranks),
		cmocka_unit_test(an_older_record_has_no_other_ranks),
		cmocka_unit_test(another_time_or_thread_is_another_launch),
		cmocka_unit_test(elements_go_in_and_come_out_as_the_function_has_them),
		cmocka_unit_test(what_is_not_one_number_is_not_known),
		cmocka_unit_test(a_communicator_that_was_there_before_has_no_number_that_others_share),
		cmocka_unit_test(numbers_that_cannot_be_are_not_taken),
		cmocka_unit_test(what_pytorch_says_of_its_collective_counts_first),
		cmocka_unit_test(launches_that_come_out_of_order_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
