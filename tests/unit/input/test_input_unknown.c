/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Values of GPU work that another tool's file does not have are shown as unknown, never as 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "database_builder.h"
#include "export/export.h"
#include "report/report.h"
#include "report/sums/activities.h"

#define KERNEL "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add\",\"pid\":0,\"tid\":7,\"ts\":10,\"dur\":5,\"args\":{"
#define COPY                                                                                                           \
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> Device)\",\"pid\":0,\"tid\":7,"        \
	"\"ts\":20,\"dur\":5,\"args\":{"

static const char bare[] = "[" KERNEL "}}," COPY "}}]";
static const char reported[] = "[" KERNEL "\"registers per thread\":0,\"shared memory\":64,\"grid\":[4,2,1],\"block\":"
			       "[128,1,1]}}," COPY "\"bytes\":0}}]";

/* nsys tables without the requested columns, and with an empty one. */
static const char *const of_nsys[] = {
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"INSERT INTO StringIds VALUES (1,'add')",
	"CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
	"streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, gridX INTEGER, gridY "
	"INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, registersPerThread INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10,15,0,1,7,5," NSYS_PID ",1,4,2,1,128,1,1,NULL)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
	"streamId INTEGER, correlationId INTEGER, globalPid INTEGER, copyKind INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (20,25,0,1,7,6," NSYS_PID ",1)",
	NULL,
};

/* The text of a list or a table; the caller frees it. Closes the trace. */
static char *print_said(struct trace *trace, const struct table_format *format, const char *table)
{
	struct report_options options = {.format = format, .table = table};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(strcmp(table, "gpu_trace") ? report_write(out, trace, &options)
						    : report_write_activities(out, trace, &options, LIST_GPU_TRACE),
			 0);
	fclose(out);
	two_pass_trace_close(trace);
	return text;
}

static void assert_said(struct trace *trace, const struct table_format *format, const char *table, const char *expected)
{
	char *text = print_said(trace, format, table);

	if (!strstr(text, expected))
		fail_msg("%s\nis not in\n%s", expected, text);
	free(text);
}

static struct trace *open_text(const char *text)
{
	return open_file(file_of_bytes(text, strlen(text)), &in_one);
}

static void a_kernel_and_a_copy_without_numbers_have_none_in_csv(void **state)
{
	assert_said(open_text(bare), &table_format_csv, "gpu_trace", "\n0,5000,,,,,,,,0,0,7,add,kernel,,,,,,,");
	assert_said(open_text(bare), &table_format_csv, "gpu_trace",
		    "\n10000,5000,,,,,,Pinned,Device,0,0,7,[CUDA memcpy HtoD],memcpy,,,,,,,");
}

static void they_are_null_in_json_and_a_dash_on_the_page(void **state)
{
	assert_said(open_text(bare), &table_format_json, "gpu_trace",
		    "\"registers\": null, \"static_shared_bytes\": null");
	assert_said(open_text(bare), NULL, "gpu_trace", "  -              -      -          -");
}

static void a_zero_that_the_file_has_stays_a_zero(void **state)
{
	assert_said(open_text(reported), &table_format_csv, "gpu_trace",
		    "\n0,5000,0,,64,,,,,0,0,7,add,kernel,4,2,1,128,1,1,");
	assert_said(open_text(reported), &table_format_csv, "gpu_trace", "\n10000,5000,,,,0,0,Pinned,Device,");
}

static void a_database_without_a_column_or_a_value_has_none(void **state)
{
	assert_said(open_database(of_nsys), &table_format_csv, "gpu_trace",
		    "\n0,5,,,,,,,,0,1,7,add,kernel,4,2,1,128,1,1,");
	assert_said(open_database(of_nsys), &table_format_csv, "gpu_trace",
		    "\n10,5,,,,,,Unknown,Unknown,0,1,7,[CUDA memcpy HtoD],");
}

static void copies_of_unknown_size_have_no_sum_and_no_rate(void **state)
{
	assert_said(open_text(bare), &table_format_csv, "copies", "\n5000,,1,,,Host to Device,");
	assert_said(open_text(reported), &table_format_csv, "copies", "\n5000,0,1,0,,Host to Device,");
}

/* Exports to a gputrace file and opens that. */
static struct trace *open_exported(const char *format)
{
	struct export_options options = {.process = -1};
	struct trace *trace = open_text(bare);
	int fd = file_of_bytes("", 0);

	assert_int_equal(export_write(fd, export_format_by_name(format), trace, &options), 0);
	two_pass_trace_close(trace);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return open_file(fd, &in_one);
}

static void files_that_are_made_of_it_do_not_have_them_either(void **state)
{
	const unsigned of_kernel =
		MODEL_GPU_NO_LAUNCH | MODEL_GPU_NO_REGISTERS | MODEL_GPU_NO_SHARED | MODEL_GPU_NO_LOCAL;

	for (int i = 0; i < 2; i++) {
		struct trace *trace = open_exported(i ? "sqlite" : "json");
		const struct model *model = trace_first(trace);

		assert_int_equal(model->gpu_count, 2);
		assert_int_equal(model->gpu[0].unknown & of_kernel, of_kernel);
		assert_int_equal(model->gpu[1].unknown & MODEL_GPU_NO_BYTES, MODEL_GPU_NO_BYTES);
		two_pass_trace_close(trace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_and_a_copy_without_numbers_have_none_in_csv),
		cmocka_unit_test(they_are_null_in_json_and_a_dash_on_the_page),
		cmocka_unit_test(a_zero_that_the_file_has_stays_a_zero),
		cmocka_unit_test(a_database_without_a_column_or_a_value_has_none),
		cmocka_unit_test(copies_of_unknown_size_have_no_sum_and_no_rate),
		cmocka_unit_test(files_that_are_made_of_it_do_not_have_them_either),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
