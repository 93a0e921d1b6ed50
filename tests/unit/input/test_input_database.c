/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Databases that no profiler writes are read as far as they make sense, and nothing in them is run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "idle_check.h"
#include "database_builder.h"

#define STRINGS                                                                                                        \
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"                               \
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'add')"
#define META "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)"
#define CALLS "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId, returnValue)"
#define KERNELS                                                                                                        \
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "          \
	"globalPid, "                                                                                                  \
	"demangledName)"

static void a_database_of_something_else_is_refused(void **state)
{
	static const char *const other[] = {"CREATE TABLE books (title TEXT)", NULL};
	char *why = refused(database_file(other));

	assert_non_null(strstr(why, "none that nsys, nvprof or gputrace wrote"));
	free(why);
}

/* rocpd's older form, and that of rocprofv3, where each table's name ends with the run's id. */
static void a_database_of_amd_s_profilers_is_named(void **state)
{
	static const char *const older[] = {"CREATE TABLE rocpd_api (id, pid, tid, start, end)", NULL};
	static const char *const newer[] = {"CREATE TABLE rocpd_kernel_dispatch_0000e2b4 (id, start, end)", NULL};
	static const char *const other[] = {"CREATE TABLE rocpda (id)", NULL};
	char *why[] = {refused(database_file(older)), refused(database_file(newer)), refused(database_file(other))};

	assert_non_null(strstr(why[0], "of AMD's profilers (rocpd)"));
	assert_non_null(strstr(why[0], "take a trace of torch.profiler"));
	assert_string_equal(why[1], why[0]);
	assert_non_null(strstr(why[2], "none that nsys, nvprof or gputrace wrote"));
	for (unsigned i = 0; i < 3; i++)
		free(why[i]);
}

static void what_only_begins_as_a_database_is_refused(void **state)
{
	unsigned char bytes[4096] = "SQLite format 3";
	char *why;

	for (size_t size = 16; size <= sizeof(bytes); size += 340) {
		memset(bytes + 16, 0xa5, sizeof(bytes) - 16);
		why = refused(file_of_bytes(bytes, size));
		assert_non_null(strstr(why, "SQLite database"));
		free(why);
	}
}

/* The last pages belong to the biggest table. */
static void cut_it_is_read_up_to_there_and_says_so(void **state)
{
	static const char *const many[] = {
		"PRAGMA page_size=1024",
		META,
		STRINGS,
		CALLS,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<2000) INSERT INTO "
		"CUPTI_ACTIVITY_KIND_RUNTIME SELECT i*10,i*10+5," NSYS_TID ",i,1,0 FROM n",
		NULL,
	};
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(many, &size);
	uint32_t some = 0;

	for (sqlite3_int64 cut = 1024; cut < size; cut += 1237) {
		struct trace *trace = NULL;
		char *why = NULL;
		int fd = file_of_bytes(bytes, (size_t)cut), err = foreign_trace_open(fd, &in_one, &trace, &why);

		close(fd);
		if (err) {
			assert_int_equal(err, -EPROTO);
			assert_non_null(why);
			free(why);
			continue;
		}
		assert_null(model_check(trace_first(trace)));
		assert_true(model_source(trace_first(trace))->receipt.truncated);
		some += trace_first(trace)->call_count > 0 && trace_first(trace)->call_count < 2000;
		two_pass_trace_close(trace);
	}
	assert_true(some > 10);
	sqlite3_free(bytes);
}

static void any_byte_may_be_wrong(void **state)
{
	static const char *const small[] = {
		"PRAGMA page_size=512",
		META,
		STRINGS,
		CALLS,
		KERNELS,
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,1,0)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5," NSYS_PID ",2)",
		NULL,
	};
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(small, &size);

	for (sqlite3_int64 at = 16; at < size; at++) {
		static const unsigned char values[] = {0, 0xff};

		for (size_t i = 0; i < sizeof(values); i++) {
			unsigned char was = bytes[at];
			struct trace *trace = NULL;
			char *why = NULL;
			int fd;

			bytes[at] = values[i];
			fd = file_of_bytes(bytes, (size_t)size);
			if (foreign_trace_open(fd, &in_one, &trace, &why)) {
				free(why);
			} else {
				assert_null(model_check(trace_first(trace)));
				two_pass_trace_close(trace);
			}
			close(fd);
			bytes[at] = was;
		}
	}
	sqlite3_free(bytes);
}

/* The values of a view or a generated column would be computed on every read. */
static void views_and_generated_columns_are_no_tables(void **state)
{
	static const char *const views[] = {
		META,
		STRINGS,
		"CREATE TABLE elsewhere (start, end, globalTid, correlationId, nameId, returnValue);"
		"INSERT INTO elsewhere VALUES (100,104," NSYS_TID ",5,1,0);"
		"CREATE VIEW CUPTI_ACTIVITY_KIND_RUNTIME AS SELECT * FROM elsewhere",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId, correlationId, "
		"demangledName, globalPid GENERATED ALWAYS AS (abs(start)));"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1509949440,1509949540,0,1,7,5,2)",
		NULL,
	};
	struct trace *trace = open_database(views);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count, 0);
	assert_int_equal(model->gpu_count, 1);
	assert_int_not_equal(model->processes[model->gpu[0].process].pid, 90); /* 1509949440 >> 24 */
	two_pass_trace_close(trace);
}

static void triggers_and_names_that_are_statements_do_nothing(void **state)
{
	static const char *const hostile[] = {
		META,
		STRINGS,
		CALLS,
		KERNELS,
		"CREATE TRIGGER t AFTER INSERT ON CUPTI_ACTIVITY_KIND_RUNTIME BEGIN DELETE FROM StringIds; END",
		"CREATE TABLE \"x\"\"; DROP TABLE StringIds; --\" (a)",
		"INSERT INTO StringIds VALUES (3,'\"; DROP TABLE StringIds; --')",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5," NSYS_PID ",3)",
		NULL,
	};
	struct trace *trace = open_database(hostile);
	const struct model *model = trace_first(trace);

	assert_string_equal(model->strings[model->gpu[0].name], "\"; DROP TABLE StringIds; --");
	two_pass_trace_close(trace);
}

static void the_file_is_not_written(void **state)
{
	static const char *const some[] = {
		META, STRINGS, CALLS, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,1,0)",
		NULL};
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(some, &size), *after;
	struct trace *trace = NULL;
	int fd = file_of_bytes(bytes, (size_t)size);
	struct stat stat;
	char *why;

	assert_int_equal(foreign_trace_open(fd, &in_one, &trace, &why), 0);
	two_pass_trace_close(trace);
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(stat.st_size, size);
	after = malloc((size_t)size);
	assert_int_equal(pread(fd, after, (size_t)size, 0), size);
	assert_memory_equal(after, bytes, (size_t)size);
	free(after);
	sqlite3_free(bytes);
	close(fd);
}

static void values_of_the_wrong_kind_are_as_none(void **state)
{
	static const char *const wrong[] = {
		META,
		STRINGS,
		CALLS,
		KERNELS,
		/*
		 * no time; text, blob, not a number, infinite; over an hour before the start; an end before its start
		 */
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (NULL,1," NSYS_TID ",5,1,0),('now',1," NSYS_TID
		",5,1,0),(x'00',1," NSYS_TID ",5,1,0),(0.0/0.0,1," NSYS_TID ",5,1,0),(9e999,1," NSYS_TID
		",5,1,0),(-3600000000001,1," NSYS_TID ",5,1,0),(100,99," NSYS_TID ",5,1,0),"
		"(9223372036854775807,9223372036854775807," NSYS_TID ",5,1,0),(100,104,-1,5,1,0)",
		/* a call without a known name, and a valid one */
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,77,0),(-100,104," NSYS_TID
		",'five',1,'x')",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,-1,'one',1e18,9223372036854775807,'',-5)",
		NULL,
	};
	struct trace *trace = open_database(wrong);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model_source(model)->receipt.bad_records, 9);
	assert_int_equal(model->call_count, 2);
	assert_string_equal(api_name(model->calls[1].api), "CUDA runtime call without a name");
	assert_int_equal(model->gpu_count, 1);
	two_pass_trace_close(trace);
	assert_same_in_parts(wrong);
}

static void ids_may_be_there_twice_and_texts_be_long(void **state)
{
	static const char *const twice[] = {
		META,
		"CREATE TABLE StringIds (id INTEGER, value TEXT);"
		"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel'),(1,'cudaMalloc'),(2,CAST(zeroblob(1000000) AS "
		"TEXT)),"
		"(3,printf('%.*c',1000000,'x'))",
		CALLS,
		KERNELS,
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,1,0),(200,204," NSYS_TID
		",5,1,0)",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5," NSYS_PID
		",2),(250,270,0,1,7,5," NSYS_PID ",3)",
		NULL,
	};
	struct trace *trace = open_database(twice);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count, 1); /* one correlation id is one call */
	assert_string_equal(api_name(model->calls[0].api), "cudaLaunchKernel");
	assert_int_equal(model->gpu_count, 2);
	two_pass_trace_close(trace);
}

static void text_of_sixteen_bits_is_read(void **state)
{
	static const char *const wide[] = {
		"PRAGMA encoding='UTF-16le'",
		META,
		STRINGS,
		KERNELS,
		"INSERT INTO StringIds VALUES (3,'gemm')",
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5," NSYS_PID ",3)",
		NULL,
	};
	struct trace *trace = open_database(wide);
	const struct model *model = trace_first(trace);

	assert_string_equal(model->strings[model->gpu[0].name], "gemm");
	assert_false(model_source(model)->receipt.truncated);
	two_pass_trace_close(trace);
}

/* A database last written with a write-ahead log, of which nothing is left. */
static void a_database_with_a_write_ahead_log_is_read_without_it(void **state)
{
	static const char *const some[] = {
		META, STRINGS, CALLS, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,1,0)",
		NULL};
	sqlite3_int64 size;
	unsigned char *bytes = database_bytes(some, &size);
	struct trace *trace;

	bytes[18] = bytes[19] = 2;
	trace = open_file(file_of_bytes(bytes, (size_t)size), &in_one);
	assert_int_equal(trace_first(trace)->call_count, 1);
	two_pass_trace_close(trace);
	sqlite3_free(bytes);
}

static void a_profile_without_events_is_one(void **state)
{
	static const char *const none[] = {META, STRINGS, NULL};
	struct trace *trace = open_database(none);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count + model->gpu_count + model->range_count, 0);
	assert_false(model_source(model)->receipt.truncated);
	two_pass_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_database_of_something_else_is_refused),
		cmocka_unit_test(a_database_of_amd_s_profilers_is_named),
		cmocka_unit_test(what_only_begins_as_a_database_is_refused),
		cmocka_unit_test(cut_it_is_read_up_to_there_and_says_so),
		cmocka_unit_test(any_byte_may_be_wrong),
		cmocka_unit_test(views_and_generated_columns_are_no_tables),
		cmocka_unit_test(triggers_and_names_that_are_statements_do_nothing),
		cmocka_unit_test(the_file_is_not_written),
		cmocka_unit_test(values_of_the_wrong_kind_are_as_none),
		cmocka_unit_test(ids_may_be_there_twice_and_texts_be_long),
		cmocka_unit_test(text_of_sixteen_bits_is_read),
		cmocka_unit_test(a_database_with_a_write_ahead_log_is_read_without_it),
		cmocka_unit_test(a_profile_without_events_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
