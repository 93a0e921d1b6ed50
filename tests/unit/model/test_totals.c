/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What pass 1 collects for pass 2: whose calls there are, and whether correlation ids can stay unchanged. */
#include "model_of.h"

#include "chrome_lines.h"
#include "model/totals.h"

#define MS 1000000ull

static void ids_that_differ_do_not_repeat(void **state)
{
	struct corr_set set = {0};

	for (uint32_t corr = 1000; corr > 0; corr--)
		assert_true(corr_set_add(&set, corr + 0xfff0));
	assert_int_equal(set.highest, 1000 + 0xfff0);
	assert_false(set.repeated);
	corr_set_free(&set);
}

static void an_id_that_comes_again_is_noticed(void **state)
{
	struct corr_set set = {0};

	assert_true(corr_set_add(&set, 5));
	assert_true(corr_set_add(&set, 5 + (1u << CORR_SET_PAGE_BITS)));
	assert_false(corr_set_add(&set, 5));
	corr_set_free(&set);
}

static void ids_too_far_apart_cannot_be_said(void **state)
{
	struct corr_set set = {0};

	assert_true(corr_set_add(&set, 1));
	assert_false(corr_set_add(&set, CORR_SET_RANGE_MAX + 1));
	assert_true(set.repeated);
	assert_int_equal(set.highest, CORR_SET_RANGE_MAX + 1);
	corr_set_free(&set);
}

static void of_many_processes_with_ids_far_apart_memory_is_bounded(void **state)
{
	struct totals totals = {0};

	for (uint32_t process = 0; process < 40; process++)
		for (uint32_t i = 1; i <= 1024; i++)
			totals_add_call(&totals, process, i << CORR_SET_PAGE_BITS, false);
	assert_in_range(totals.pages, 1, 8192);
	totals_finish(&totals, 40);
	assert_false(totals.found.processes[0].corrs_repeat);
	assert_true(totals.found.processes[39].corrs_repeat);
	totals_free(&totals);
}

/* The totals of a log, and its Chrome trace as that of a long log. */
struct foreseen {
	struct model_totals totals;
	struct process_totals process;
	char *chrome;
};

static struct foreseen foresee_totals(struct log_builder *log)
{
	static const struct trace_division parts = {.chunk_records = 1, .part_events = 1};
	struct foreseen found;
	struct trace *trace;
	const char *why;
	int fd = log_fd(log);

	assert_int_equal(gpt_trace_open(fd, &parts, NULL, &trace, &why), 0);
	assert_true(trace_first(trace)->more);
	found.totals = *trace->part->totals;
	found.process = found.totals.processes[0];
	found.chrome = chrome_text_of(trace, -1);
	assert_non_null(found.chrome);
	gpt_trace_close(trace);
	close(fd);
	log_free(log);
	return found;
}

static void begin_log(struct log_builder *log)
{
	log_begin(log, 0, 0);
	log_process(log, PID, 1, 5, 1, 0x30c, "python3", "", "", "");
	log_stack(log, PID, 1, 0, NULL);
}

static void calls_keep_cuptis_ids_in_a_long_log(void **state)
{
	struct log_builder log;
	struct foreseen found;

	begin_log(&log);
	for (uint32_t i = 0; i < 20; i++)
		log_launch(&log, PID, PID, (10 + i) * MS, 0, 700 + i);
	log_end(&log, 50 * MS);
	found = foresee_totals(&log);
	assert_int_equal(found.totals.calls, 20);
	assert_true(found.process.has_calls);
	assert_false(found.process.has_gpu_work);
	assert_false(found.process.corrs_repeat);
	assert_int_equal(found.process.highest_corr, 719);
	assert_non_null(strstr(found.chrome, "\"correlation\":719"));
	assert_null(strstr(found.chrome, "\"cupti correlation\""));
	free(found.chrome);
}

/* CUPTI was shut down in between and started its count again. */
static void calls_with_an_id_of_long_before_get_new_ones_in_a_long_log(void **state)
{
	struct log_builder log;
	struct foreseen found;

	begin_log(&log);
	for (uint32_t i = 0; i < 20; i++)
		log_launch(&log, PID, PID, (10 + 2000 * i) * MS, 0, 700 + i % 10);
	log_end(&log, 50000 * MS);
	found = foresee_totals(&log);
	assert_true(found.process.corrs_repeat);
	assert_non_null(strstr(found.chrome, "\"correlation\":1,"));
	assert_non_null(strstr(found.chrome, "\"cupti correlation\":709"));
	free(found.chrome);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_that_differ_do_not_repeat),
		cmocka_unit_test(an_id_that_comes_again_is_noticed),
		cmocka_unit_test(ids_too_far_apart_cannot_be_said),
		cmocka_unit_test(of_many_processes_with_ids_far_apart_memory_is_bounded),
		cmocka_unit_test(calls_keep_cuptis_ids_in_a_long_log),
		cmocka_unit_test(calls_with_an_id_of_long_before_get_new_ones_in_a_long_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
