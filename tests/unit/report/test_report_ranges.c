/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GPU time by NVTX range in the report. */
#include "model_of.h"

#include "report_of.h"
#include "whole_trace.h"

#define ENGINE (TID + 5) /* the thread of an autograd engine */

static uint32_t corr;

static void add_range(struct log_builder *log, uint16_t what, uint64_t time_us, uint32_t tid, const char *name)
{
	log_agent_range(log, &(struct gpt_agent_range){.time_ns = time_us * 1000, .tid = tid, .what = what}, name, "");
}

static void push_range(struct log_builder *log, uint64_t time_us, uint32_t tid, const char *name)
{
	add_range(log, GPT_AGENT_RANGE_PUSHED, time_us, tid, name);
}

static void pop_range(struct log_builder *log, uint64_t time_us, uint32_t tid)
{
	add_range(log, GPT_AGENT_RANGE_POPPED, time_us, tid, "");
}

/* A launch whose kernel runs for `ns`; the outermost frame of stack 1 is train(), of stack 2 load(). */
static void add_launch(struct log_builder *log, uint64_t time_us, uint32_t tid, uint64_t stack, uint8_t stack_state,
		       uint64_t ns)
{
	log_call(log, (struct gpt_call){.time_ns = time_us * 1000,
					.pid = PID,
					.tid = tid,
					.corr = ++corr,
					.api = CUDA_LAUNCH,
					.origin = GPT_ORIGIN_AGENT,
					.stack_id = stack,
					.stack_state = stack_state});
	log_batch(log, PID, TID, 900000);
	log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = time_us * 1000 + 100,
							.end_wall_ns = time_us * 1000 + 100 + ns,
							.corr = corr,
							.name = 1});
}

static void begin_log(struct log_builder *log)
{
	log_begin(log, 10, 0);
	corr = 0;
	log_function(log, PID, 0x100, "train", "/src/train.py", 10);
	log_function(log, PID, 0x200, "load", "/src/load.py", 10);
	log_stack(log, PID, 1, 1, (struct gpt_pyframe[]){{.code = 0x100, .lasti = 0}});
	log_stack(log, PID, 2, 1, (struct gpt_pyframe[]){{.code = 0x200, .lasti = 0}});
	log_batch(log, PID, TID, 900000);
	log_agent_name(log, 1, "kernel");
}

/* The range's row of the table is "GPU time, share, operations, ranges, time they were open". */
static void assert_row(const char *text, const char *name, const char *cells)
{
	char row[512], *section = strstr(text, "GPU time by NVTX range"), *at = NULL;
	const char *end;

	assert_non_null(section);
	snprintf(row, sizeof(row), "%s  %s\n", cells, name);
	at = strstr(section, row);
	end = strstr(section, "\n\n");
	if (!at || at > end) {
		print_error("%s\n", text);
		fail_msg("no '%s'", row);
	}
}

static void a_range_has_what_was_launched_while_it_was_open_on_that_thread(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 100, TID, "step");
	push_range(&log, 110, TID, "forward");
	pop_range(&log, 120, TID);
	pop_range(&log, 130, TID);
	add_launch(&log, 90, TID, 1, GPT_STACK_OK, 1000);
	add_launch(&log, 105, TID, 1, GPT_STACK_OK, 2000);
	add_launch(&log, 115, TID, 1, GPT_STACK_OK, 3000);
	add_launch(&log, 116, TID + 1, 1, GPT_STACK_OK, 4000);
	add_launch(&log, 125, TID, 1, GPT_STACK_OK, 6000); /* forward is over */
	text = report_of(&log);
	assert_row(text, "step", "11.0     68.8    3       1  30.0 us");
	assert_row(text, "forward", "3.0     18.8    1       1  10.0 us");
	assert_non_null(strstr(text, "31.3 % of GPU time was launched outside of all ranges"));
	free(text);
}

static void a_name_within_itself_counts_once(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 100, TID, "block");
	push_range(&log, 110, TID, "block");
	add_launch(&log, 115, TID, 1, GPT_STACK_OK, 3000);
	text = report_of(&log);
	assert_row(text, "block", "3,000    100.0    1       2  1.8 ms");
	free(text);
}

static void operators_that_pytorch_numbers_are_one_row(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 100, TID, "aten::mm, seq = 1, op_id = 4");
	pop_range(&log, 110, TID);
	push_range(&log, 120, TID, "aten::mm, op_id = 9");
	pop_range(&log, 130, TID);
	add_launch(&log, 105, TID, 1, GPT_STACK_OK, 1000);
	add_launch(&log, 125, TID, 1, GPT_STACK_OK, 2000);
	text = report_of(&log);
	assert_row(text, "aten::mm", "3,000    100.0    2       2  20.0 us");
	free(text);
}

static void a_backward_pass_counts_for_the_thread_that_waits_for_it(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 80, TID + 1, "loading");
	push_range(&log, 100, TID, "backward");
	add_launch(&log, 90, TID, 1, GPT_STACK_OK, 1000);
	add_launch(&log, 91, TID + 1, 2, GPT_STACK_OK, 1000);
	add_launch(&log, 110, ENGINE, 1, GPT_STACK_BACKWARD, 6000);
	text = report_of(&log);
	assert_row(text, "backward", "6,000     75.0    1       1  900.0 us");
	assert_row(text, "loading", "1,000     12.5    1       1  920.0 us");
	free(text);
}

static void of_two_that_can_have_called_backward_it_is_neither(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 80, TID + 1, "one");
	push_range(&log, 85, TID, "two");
	add_launch(&log, 90, TID, 1, GPT_STACK_OK, 1000);
	add_launch(&log, 91, TID + 1, 1, GPT_STACK_OK, 1000);
	add_launch(&log, 110, ENGINE, 1, GPT_STACK_BACKWARD, 6000);
	text = report_of(&log);
	assert_row(text, "one", "1,000     12.5    1       1  920.0 us");
	assert_non_null(strstr(text, "75.0 % of GPU time was launched outside of all ranges"));
	free(text);
}

static void ranges_beyond_what_is_followed_are_reported(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	for (unsigned i = 0; i < 300; i++)
		push_range(&log, 10, TID, "deep");
	add_launch(&log, 90, TID, 1, GPT_STACK_OK, 1000);
	text = report_of(&log);
	assert_non_null(strstr(text, "\n  44 ranges are not in this table: 256 others were open on their thread\n"));
	free(text);
}

static void ranges_without_gpu_work_have_a_table_longest_first(void **state)
{
	struct log_builder log;
	char *text;

	begin_log(&log);
	push_range(&log, 100, TID, "short");
	pop_range(&log, 110, TID);
	push_range(&log, 200, TID, "long");
	pop_range(&log, 400, TID);
	push_range(&log, 500, TID, "short");
	pop_range(&log, 510, TID);
	text = report_of(&log);
	assert_non_null(strstr(text, "\nNVTX ranges   how long they were open\n"
				     "  ranges      open  range\n"
				     "       1  200.0 us  long\n"
				     "       2   20.0 us  short\n"));
	assert_null(strstr(text, "outside of all ranges"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_range_has_what_was_launched_while_it_was_open_on_that_thread),
		cmocka_unit_test(a_name_within_itself_counts_once),
		cmocka_unit_test(operators_that_pytorch_numbers_are_one_row),
		cmocka_unit_test(a_backward_pass_counts_for_the_thread_that_waits_for_it),
		cmocka_unit_test(ranges_beyond_what_is_followed_are_reported),
		cmocka_unit_test(of_two_that_can_have_called_backward_it_is_neither),
		cmocka_unit_test(ranges_without_gpu_work_have_a_table_longest_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
