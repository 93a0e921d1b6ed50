/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of other tools' files: nothing that holds only for a program that gputrace can still trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report_of_file.h"
#include "report/lines/source_lines.h"

static int write_lines(FILE *out, struct trace *trace)
{
	return report_write_lines(out, trace, &(struct report_options){.width = 100}, &(struct lines_options){0});
}

static void of_a_file_without_cuda_calls_the_option_that_its_tool_lacked_is_named(void **state)
{
	char *text = said(write_report, "[" OP "]");

	assert_non_null(strstr(text, "No CUDA calls and no GPU work are in this file"));
	assert_non_null(strstr(text, "ProfilerActivity.CUDA"));
	assert_null(strstr(text, "doctor"));
	assert_null(strstr(text, "--duration"));
	free(text);
}

static void why_says_the_same_of_it(void **state)
{
	assert_says(write_why, "[" OP "]", "No CUDA calls and no GPU work are in this file");
	assert_says(write_why, "[" OP "," CALL "]", "1 CUDA call and no GPU work are in this file");
}

static void of_a_file_that_is_cut_no_option_is_named(void **state)
{
	static const char words[] = "1 CUDA call and no GPU work are in what could be read";
	char *text = said(write_why, "[" OP "," CALL ",");

	assert_non_null(strstr(text, words));
	assert_null(strstr(text, "ProfilerActivity"));
	free(text);
	assert_says(write_report, "[" OP "," CALL ",", "Copy the file again");
}

static void a_line_that_is_not_known_has_no_number(void **state)
{
	assert_says(write_lines, "[" FUNCTION "," CALL "," KERNEL "]", "\n       -   9,000  100.0");
}

static void a_file_of_torch_profiler_without_stacks_is_reported_which_option_has_them(void **state)
{
	char *text = said(write_report, "[" FUNCTION "," CALL "," KERNEL "]");

	assert_null(strstr(text, "with_stack"));
	free(text);
	assert_says(write_report, "[" CALL "," KERNEL "]", "with_stack=True");
}

static void no_word_of_gputrace_s_own_agent_is_said_of_it(void **state)
{
	char *text = said(write_report, "[" OP "," CALL "]");

	assert_non_null(strstr(text, "1 CUDA call and no GPU work are in this file"));
	assert_null(strstr(text, "agent"));
	assert_null(strstr(text, "doctor"));
	assert_null(strstr(text, "user of CUPTI"));
	free(text);
}

static void functions_count_where_their_lines_are_not_known(void **state)
{
	assert_says(write_report, "[" FUNCTION "," CALL "," KERNEL "]", "100.0 % of GPU time under a Python function");
	assert_says(write_report, "[" CALL "," KERNEL "]", "0.0 % of GPU time under a Python line");
}

static void the_name_of_a_gpu_is_whole(void **state)
{
	assert_says(write_report,
		    "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA RTX 6000 Ada Generation Laptop 16GB\"}],"
		    "\"traceEvents\":[" CALL "," KERNEL "]}",
		    "\nGPU 0  NVIDIA RTX 6000 Ada Generation Laptop 16GB\n");
}

static void one_record_is_said_in_the_singular(void **state)
{
	assert_says(write_report, "[" CALL "," KERNEL "," EVENT("cpu_op", "a", "\"now\"", "1", "") "]",
		    "\n  1 record that makes no sense: a time is missing or impossible\n");
}

static void paths_without_their_folder_are_of_libraries_by_their_first_part(void **state)
{
	char *text =
		said(write_report, "[" EVENT("python_function", "multiprocessing/spawn.py(122): spawn_main", "1", "90",
					     "") "," EVENT("python_function", "train.py(10): main", "2", "80",
							   "") "," EVENT("python_function",
									 "transformers/models/a.py(3): "
									 "__call__",
									 "3", "70", "") "," CALL "," KERNEL "]");
	const char *own = strstr(text, "GPU time under lines of your own code"),
		   *next = own ? strstr(own, "\n\n") : NULL;

	assert_non_null(next);
	assert_non_null(memmem(own, (size_t)(next - own), "train.py", 8));
	assert_null(memmem(own, (size_t)(next - own), "spawn", 5));
	assert_null(memmem(own, (size_t)(next - own), "__call__", 8));
	free(text);
}

static void who_asks_the_gpu_is_advised_to_ask_less(void **state)
{
	assert_says(
		write_why,
		"[" CALL "," KERNEL
		"," EVENT("cuda_runtime", "cudaEventQuery", "40", "900", "\"correlation\":6") "," EVENT(
			"cuda_runtime", "cudaLaunchKernel", "950", "1",
			"\"cbid\":211,\"correlation\":7") ","
							  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,"
							  "\"tid\":7,\"ts\":952,\"dur\":9,"
							  "\"args\":{\"device\":0,\"stream\":7,\"correlation\":7}}]",
		"Ask less often");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_word_of_gputrace_s_own_agent_is_said_of_it),
		cmocka_unit_test(functions_count_where_their_lines_are_not_known),
		cmocka_unit_test(the_name_of_a_gpu_is_whole),
		cmocka_unit_test(one_record_is_said_in_the_singular),
		cmocka_unit_test(paths_without_their_folder_are_of_libraries_by_their_first_part),
		cmocka_unit_test(of_a_file_without_cuda_calls_the_option_that_its_tool_lacked_is_named),
		cmocka_unit_test(why_says_the_same_of_it),
		cmocka_unit_test(who_asks_the_gpu_is_advised_to_ask_less),
		cmocka_unit_test(of_a_file_that_is_cut_no_option_is_named),
		cmocka_unit_test(a_line_that_is_not_known_has_no_number),
		cmocka_unit_test(a_file_of_torch_profiler_without_stacks_is_reported_which_option_has_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
