/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a recording cost the traced program: parts that add up, each with how it is known. */
#include <gputrace/log.h>

#include "analyze/sums/cost_account.h"
#include "analyzed.h"
#include "log_builder.h"
#include "whole_trace.h"

static struct model *read_model(struct log_builder *log)
{
	struct model *model;
	const char *why;
	int fd = log_fd(log);

	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	log_free(log);
	return model;
}

static void put_part(struct log_builder *log, enum gpt_cost_part part, enum gpt_cost_state state, uint64_t count,
		     uint64_t ns)
{
	log_cost(log, (struct gpt_cost){.part = part, .state = state, .count = count, .ns = ns});
}

static const struct cost_row *row_of(const struct cost_account *account, enum gpt_cost_part part)
{
	for (size_t i = 0; i < account->count; i++)
		if (account->rows[i].part == part)
			return &account->rows[i];
	return NULL;
}

/* The rows whose time is known add up to the whole. */
static void check_sum(const struct cost_account *account)
{
	uint64_t ns = 0, long_ns = 0;

	for (size_t i = 0; i < account->count; i++) {
		const struct cost_row *row = &account->rows[i];

		assert_true(row->state != GPT_COST_NOT_MEASURED || (!row->ns && !row->long_ns));
		assert_true(row->long_ns <= row->ns);
		ns += row->ns;
		long_ns += row->long_ns;
	}
	assert_int_equal(account->ns, ns);
	assert_int_equal(account->long_ns, long_ns);
}

static void a_log_that_says_nothing_of_its_cost_has_no_account(void **state)
{
	struct cost_account account;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_end(&log, 1000);
	model = read_model(&log);
	cost_account_make(&account, model);
	assert_false(account.is_known);
	assert_int_equal(account.count, 0);
	model_free(model);
}

static void the_parts_add_up_to_the_whole(void **state)
{
	struct cost_account account;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	put_part(&log, GPT_PART_IDLE, GPT_COST_MEASURED, 50, 5000);
	log_cost(&log, (struct gpt_cost){.part = GPT_PART_CALLS,
					 .state = GPT_COST_MEASURED,
					 .count = 100,
					 .ns = 200000,
					 .long_count = 1,
					 .long_ns = 60000});
	put_part(&log, GPT_PART_PROBE_ENTRIES, GPT_COST_CALIBRATED, 150, 105000);
	put_part(&log, GPT_PART_SAMPLES, GPT_COST_MEASURED, 10, 8000);
	put_part(&log, GPT_PART_INTERRUPT_ENTRIES, GPT_COST_ESTIMATED, 10, 10000);
	put_part(&log, (enum gpt_cost_part)30, GPT_COST_MEASURED, 1, 7); /* of a later gputrace */
	log_cost(&log, (struct gpt_cost){.hdr.flags = GPT_COST_THREAD,
					 .state = GPT_COST_MEASURED,
					 .pid = 7,
					 .tid = 8,
					 .count = 55,
					 .ns = 90000,
					 .span_ns = 1000000});
	log_end(&log, 2000000);
	model = read_model(&log);
	cost_account_make(&account, model);
	assert_true(account.is_known);
	check_sum(&account);
	assert_int_equal(account.ns, 5000 + 200000 + 105000 + 8000 + 10000 + 7);
	assert_int_equal(account.long_ns, 60000);
	assert_int_equal(account.count, 7);
	assert_int_equal(row_of(&account, GPT_PART_CHANGES)->state, GPT_COST_NOT_MEASURED);
	assert_string_equal(row_of(&account, GPT_PART_CALLS)->name, "calls");
	assert_string_equal(row_of(&account, (enum gpt_cost_part)30)->name, "unknown");
	assert_null(row_of(&account, GPT_PART_CUPTI_OWN)); /* there was no agent */
	/* Of its 55 runs 50 are calls at 700 ns and 5 samples at 1,000, as those of the whole are. */
	assert_int_equal(account.thread.tid, 8);
	assert_int_equal(account.thread_entries_ns, 50 * 700 + 5 * 1000);
	assert_int_equal(account.span_ns, 2000000);
	model_free(model);
}

static struct model *agent_model(uint64_t program_ns, struct gpt_agent_stats stats)
{
	struct log_builder log;

	log_begin(&log, 0, 0);
	log_batch(&log, 7, 7, 100);
	log_agent_hello(&log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "", "");
	log_batch(&log, 7, 7, 900);
	log_agent_stats(&log, stats);
	if (program_ns) {
		put_part(&log, GPT_PART_AGENT_CALLS, GPT_COST_MEASURED, 1600, program_ns);
		put_part(&log, GPT_PART_BATCHES, GPT_COST_MEASURED, 400, 1);
		put_part(&log, GPT_PART_AGENT_ENTRIES, GPT_COST_CALIBRATED, 2000, 1000000);
	}
	log_end(&log, 1000000);
	return read_model(&log);
}

static void what_the_programs_take_inside_a_callback_is_not_counted_twice(void **state)
{
	const struct gpt_agent_stats stats = {
		.callbacks_timed = 100, .callbacks_timed_ns = 200000, .callbacks_long = 1, .callbacks_long_ns = 70000};
	struct model *model = agent_model(1600000, stats);
	const struct cost_row *row;
	struct cost_account account;

	cost_account_make(&account, model);
	row = row_of(&account, GPT_PART_CALLBACKS);
	assert_non_null(row);
	assert_int_equal(row->state, GPT_COST_SAMPLED);
	assert_int_equal(row->count, 1600);
	/* 2,000 ns a call, of which the program took 1,000 and the way into it 500; and one that took long */
	assert_int_equal(row->ns, 1600 * 500 + 70000);
	assert_int_equal(row->long_ns, 70000);
	check_sum(&account);
	model_free(model);
}

static void callbacks_that_seem_shorter_than_what_is_in_them_take_nothing(void **state)
{
	struct model *model =
		agent_model(1600000, (struct gpt_agent_stats){.callbacks_timed = 100, .callbacks_timed_ns = 100});
	struct cost_account account;

	cost_account_make(&account, model);
	assert_int_equal(row_of(&account, GPT_PART_CALLBACKS)->ns, 0);
	check_sum(&account);
	model_free(model);
}

/* The agent's numbers are the target's. */
static void times_beyond_all_measure_are_the_largest(void **state)
{
	struct model *model =
		agent_model(1, (struct gpt_agent_stats){.callbacks_timed = 1, .callbacks_timed_ns = UINT64_MAX - 1});
	struct cost_account account;

	cost_account_make(&account, model);
	assert_int_equal(row_of(&account, GPT_PART_CALLBACKS)->ns, 1000000000000000000 - 1 - 800000);
	check_sum(&account);
	model_free(model);
}

static void what_nothing_measures_has_a_row_that_says_so(void **state)
{
	static const enum gpt_cost_part unknown[] = {GPT_PART_CALLBACKS, GPT_PART_AGENT_THREADS, GPT_PART_CUPTI_OWN,
						     GPT_PART_STOPS,	 GPT_PART_CHANGES,	 GPT_PART_OPS};
	struct model *model = agent_model(1600000, (struct gpt_agent_stats){});
	struct cost_account account;

	cost_account_make(&account, model);
	assert_null(row_of(&account, GPT_PART_OPS)); /* there is no PyTorch */
	model->processes[0].ops_state = GPT_AGENT_OPS_OBSERVING;
	cost_account_make(&account, model);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_non_null(row_of(&account, unknown[i]));
		assert_int_equal(row_of(&account, unknown[i])->state, GPT_COST_NOT_MEASURED);
	}
	check_sum(&account);
	model_free(model);
}

static void without_bpf_the_callbacks_are_what_is_known(void **state)
{
	struct model *model =
		agent_model(0, (struct gpt_agent_stats){.callbacks_timed = 10, .callbacks_timed_ns = 20000});
	struct cost_account account;

	model_source(model)->receipt.calls = 160;
	cost_account_make(&account, model);
	assert_true(account.is_known);
	assert_int_equal(row_of(&account, GPT_PART_CALLBACKS)->ns, 320000);
	assert_int_equal(account.ns, 320000);
	assert_null(row_of(&account, GPT_PART_CHANGES));
	assert_int_equal(account.thread.count, 0);
	model_free(model);
}

/* A log with a cost that begins at 1000, of a recording that began at start_ns; 0: the log does not say. */
static bool is_of_longer(uint64_t start_ns, uint32_t flags)
{
	struct cost_account account;
	struct log_builder log;
	struct model *model;
	const char *why;
	int fd;

	log_begin(&log, 1000, 0);
	if (start_ns)
		log_start(&log, (struct gpt_start){.time_ns = start_ns, .ready_ns = start_ns});
	put_part(&log, GPT_PART_CALLS, GPT_COST_MEASURED, 60, 60000);
	log_end(&log, 2000);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(pwrite(fd, &flags, sizeof(flags), offsetof(struct gpt_log_header, flags)), sizeof(flags));
	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	cost_account_make(&account, model);
	assert_true(account.is_known);
	model_free(model);
	return account.is_of_longer;
}

/* As the last file of --rotate, or what a flight recorder has kept. */
static void a_log_of_the_end_of_a_recording_has_the_cost_of_all_of_it(void **state)
{
	assert_true(is_of_longer(0, GPT_LOG_PART));
	assert_true(is_of_longer(900, GPT_LOG_PART));
	assert_false(is_of_longer(1000, GPT_LOG_PART));
	assert_false(is_of_longer(1000, 0));
	assert_false(is_of_longer(0, 0)); /* of a version that had no such record */
}

static void a_cost_that_makes_no_sense_is_a_bad_record(void **state)
{
	static const struct gpt_cost bad[] = {
		{.part = GPT_PART_COUNT, .state = GPT_COST_MEASURED},
		{.part = GPT_PART_CALLS, .state = 0},
		{.part = GPT_PART_CALLS, .state = GPT_COST_SAMPLED + 1},
		{.part = GPT_PART_CALLS, .state = GPT_COST_MEASURED, .ns = 1, .long_ns = 2},
		{.part = GPT_PART_CALLS, .state = GPT_COST_MEASURED, .count = 1, .long_count = 2},
	};
	struct cost_account account;
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		log_cost(&log, bad[i]);
	log_end(&log, 1000);
	model = read_model(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, sizeof(bad) / sizeof(bad[0]));
	cost_account_make(&account, model);
	assert_false(account.is_known);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_log_that_says_nothing_of_its_cost_has_no_account),
		cmocka_unit_test(the_parts_add_up_to_the_whole),
		cmocka_unit_test(what_the_programs_take_inside_a_callback_is_not_counted_twice),
		cmocka_unit_test(callbacks_that_seem_shorter_than_what_is_in_them_take_nothing),
		cmocka_unit_test(times_beyond_all_measure_are_the_largest),
		cmocka_unit_test(what_nothing_measures_has_a_row_that_says_so),
		cmocka_unit_test(without_bpf_the_callbacks_are_what_is_known),
		cmocka_unit_test(a_log_of_the_end_of_a_recording_has_the_cost_of_all_of_it),
		cmocka_unit_test(a_cost_that_makes_no_sense_is_a_bad_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
