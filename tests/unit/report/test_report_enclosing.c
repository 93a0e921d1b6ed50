/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a launch was made, by other tools' files without Python: the innermost NVTX range or op. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "report_of_file.h"
#include "export/export.h"

#define STEP EVENT("user_annotation", "ProfilerStep#3", "10", "9", "")
#define NSYS_CALL(start, corr) "(" #start "," #start "+2," NSYS_TID "," #corr ",1,0)"
#define NSYS_KERNEL(start, corr) "(" #start "," #start "+10,0,1,7," #corr "," NSYS_PID ",2)"
#define NSYS_RANGE(from, to, type, name, domain) "(" #from "," #to "," #type ",'" name "'," NSYS_TID "," #domain ")"

/* One launch in each range, one outside of all. */
static const char *const launches_in_ranges[] = {
	"CREATE TABLE StringIds (id INT, value TEXT);"
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'gemm')",
	"CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, nameId INT, "
	"returnValue INT); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES " NSYS_CALL(40, 1) "," NSYS_CALL(
		70, 2) "," NSYS_CALL(252, 3) "," NSYS_CALL(310, 4) "," NSYS_CALL(425, 5) "," NSYS_CALL(600, 6),
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId INT, "
	"correlationId INT, globalPid INT, demangledName INT);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES " NSYS_KERNEL(45, 1) "," NSYS_KERNEL(75, 2) "," NSYS_KERNEL(
		260, 3) "," NSYS_KERNEL(320, 4) "," NSYS_KERNEL(430, 5) "," NSYS_KERNEL(610, 6),
	"CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, domainId INT);"
	"INSERT INTO NVTX_EVENTS VALUES " NSYS_RANGE(20, 100, 59, "forward", 0) "," NSYS_RANGE(
		30, 60, 59, "aten::mm, seq = 4", 0) "," NSYS_RANGE(250, 260, 59, "aten::mm, seq = 5", 0),
	"INSERT INTO NVTX_EVENTS VALUES " NSYS_RANGE(1, 2, 75, "NCCL", 9) "," NSYS_RANGE(
		300, 320, 59, "ncclAllReduce", 9) "," NSYS_RANGE(400, 420, 60, "over", 0) "," NSYS_RANGE(410, 430, 60,
													 "load", 0),
	NULL,
};

static int write_folded(FILE *out, struct trace *trace)
{
	const struct export_options options = {.process = -1};
	int fd = memfd_create("folded", MFD_CLOEXEC);
	FILE *folded;

	assert_int_equal(export_write(fd, export_format_by_name("folded"), trace, &options), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	folded = fdopen(fd, "r");
	for (int byte; (byte = fgetc(folded)) != EOF;)
		fputc(byte, out);
	return fclose(folded);
}

static void the_innermost_range_is_where_a_launch_was_made(void **state)
{
	static const char *const report[] = {"20        20  33.3      2  (in NVTX range aten::mm)",
					     "10        10  16.7      1  (in NVTX range forward)",
					     "10        10  16.7      1  (in NVTX range ncclAllReduce [NCCL])",
					     "10        10  16.7      1  (in NVTX range load)",
					     "10        10  16.7      1  (thread ?: Python stack not recorded)",
					     "0.0 % of GPU time under a Python line"};
	static const char *const why[] = {"(in NVTX range aten::mm): 1"};
	static const char *const folded[] = {";NVTX range aten::mm;cudaLaunchKernel;gemm 20",
					     ";NVTX range load;cudaLaunchKernel;gemm 10",
					     ";thread ? (stack not known);cudaLaunchKernel;gemm 10"};
	const struct {
		write_fn *write;
		const char *const *says;
		size_t count;
	} all[] = {{write_report, report, 6}, {write_why, why, 1}, {write_folded, folded, 3}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = said_of(all[i].write, open_database(launches_in_ranges));

		for (size_t j = 0; j < all[i].count; j++)
			if (!strstr(text, all[i].says[j]))
				fail_msg("not in it: %s\n%s", all[i].says[j], text);
		free(text);
	}
}

static void so_are_they_in_parts(void **state)
{
	assert_same_in_parts(launches_in_ranges);
}

static void an_op_is_where_a_launch_was_made_if_no_python_is_known(void **state)
{
	assert_says(write_report, "[" OP "," CALL "," KERNEL "]", "  (in op aten::add)\n");
	/* the profiler's step is no place in the program */
	assert_says(write_report, "[" STEP "," CALL "," KERNEL "]", "(thread ?: Python stack not recorded)");
	assert_says(write_report, "[" FUNCTION "," OP "," CALL "," KERNEL "]", "  a.py:3  f\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_range_is_where_a_launch_was_made),
		cmocka_unit_test(so_are_they_in_parts),
		cmocka_unit_test(an_op_is_where_a_launch_was_made_if_no_python_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
