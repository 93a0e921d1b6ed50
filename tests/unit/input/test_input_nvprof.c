/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SQLite files of nvprof become models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "database_builder.h"

#define EPOCH "1700000000000000" /* times are of the wall clock; three digits follow */
#define BEGIN 1700000000000000000ull

/* pid 70 and the lower half of a thread's pthread_self(), as CUPTI has them in one union */
#define THREAD "x'460000004023a1f700000000'"
#define TID 0xf7a12340u

#define API                                                                                                            \
	"(_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cbid INT NOT NULL, start INT NOT NULL, end INT NOT NULL, "           \
	"processId INT NOT NULL, threadId INT NOT NULL, correlationId INT NOT NULL, returnValue INT NOT NULL);"

static const char *const document[] = {
	"CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);"
	"INSERT INTO StringTable VALUES (1,'_Z3addPf'),(2,'Tesla "
	"K40'),(3,'step'),(4,''),(5,'mine'),(6,'here'),(7,'io')",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME" API
	/* cudaLaunchKernel, cudaMemcpyAsync, cudaGetDevice, cudaStreamSynchronize; signed, as nvprof has it */
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1,211," EPOCH "100," EPOCH "104,70,-140434624,5,0),"
	"(2,41," EPOCH "120," EPOCH "125,70,4154532672,6,0),(3,17," EPOCH "126," EPOCH "127,70,4154532672,7,0),"
	"(4,131," EPOCH "300," EPOCH "340,70,4154532672,8,0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_DRIVER" API
	/* cuLaunchKernel */
	"INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER VALUES (1,307," EPOCH "400," EPOCH "404,70,4154532672,9,0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, cacheConfig BLOB "
	"NOT "
	"NULL, registersPerThread INT NOT NULL, start INT NOT NULL, end INT NOT NULL, completed INT NOT NULL, deviceId "
	"INT "
	"NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, gridX INT NOT NULL, gridY INT NOT NULL, gridZ INT "
	"NOT "
	"NULL, blockX INT NOT NULL, blockY INT NOT NULL, blockZ INT NOT NULL, staticSharedMemory INT NOT NULL, "
	"dynamicSharedMemory INT NOT NULL, localMemoryPerThread INT NOT NULL, localMemoryTotal INT NOT NULL, "
	"correlationId "
	"INT NOT NULL, gridId INT NOT NULL, name INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES (1,x'00',32," EPOCH "150," EPOCH
	"170,0,0,1,7,4,2,1,128,1,1,16,64,0,0,5,1,1),(2,x'00',32," EPOCH "450," EPOCH
	"470,0,0,1,7,4,2,1,128,1,1,16,64,0,0,9,2,1)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, copyKind INT NOT NULL, "
	"srcKind "
	"INT NOT NULL, dstKind INT NOT NULL, flags INT NOT NULL, bytes INT NOT NULL, start INT NOT NULL, end INT NOT "
	"NULL, "
	"deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, "
	"runtimeCorrelationId INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (1,1,1,3,1,4096," EPOCH "180," EPOCH "190,0,1,7,6,0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, type INT NOT NULL, "
	"start "
	"INT NOT NULL, end INT NOT NULL, correlationId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, "
	"cudaEventId INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (1,3," EPOCH "301," EPOCH "339,8,1,7,4294967295)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_DEVICE (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, globalMemorySize INT NOT "
	"NULL, "
	"numThreadsPerWarp INT NOT NULL, numMultiprocessors INT NOT NULL, maxWarpsPerMultiprocessor INT NOT NULL, "
	"computeCapabilityMajor INT NOT NULL, id INT NOT NULL, uuid BLOB NOT NULL, name INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_DEVICE VALUES (1,1000,32,15,64,3,0,x'000102030405060708090a0b0c0d0eff',2)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_NAME (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, objectKind INT NOT NULL, "
	"objectId "
	"BLOB NOT NULL, name INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_NAME VALUES (1,2," THREAD ",7)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, flags INT NOT NULL, "
	"timestamp INT "
	"NOT NULL, id INT NOT NULL, objectKind INT NOT NULL, objectId BLOB NOT NULL, name INT NOT NULL, domain INT NOT "
	"NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES (1,4," EPOCH "200,1,2," THREAD ",0,4),(2,2," EPOCH
	"090,1,2," THREAD ",3,4),(3,2," EPOCH "200,2,2," THREAD ",3,5),(4,4," EPOCH "310,2,2," THREAD
	",0,5),(5,1," EPOCH "111,3,2," THREAD ",6,4)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, overheadKind INT NOT NULL, "
	"objectKind INT NOT NULL, objectId BLOB NOT NULL, start INT NOT NULL, end INT NOT NULL);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (1,65536,1,x'460000000000000000000000'," EPOCH "500," EPOCH
	"510)",
	NULL,
};

static void launches_of_both_interfaces_have_their_kernels(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	assert_int_equal(model->call_count, 5);
	assert_string_equal(api_name(model->calls[0].api), "cudaLaunchKernel");
	assert_string_equal(api_name(model->calls[2].api), "cudaGetDevice"); /* not traced, but known by its number */
	assert_string_equal(api_name(model->calls[4].api), "cuLaunchKernel");
	assert_int_equal(model->gpu_count, 3);
	assert_int_equal(model->gpu[0].call, 0);
	assert_int_equal(model->gpu[2].call, 4);
	assert_int_equal(model->gpu[0].start_ns, BEGIN + 150);
	assert_int_equal(model->gpu[0].grid[0], 4);
	assert_int_equal(model->gpu[0].dynamic_shared_bytes, 64);
	assert_string_equal(model->strings[model->gpu[0].name], "add(float*)");
	two_pass_trace_close(trace);
}

static void a_thread_is_known_by_the_half_of_its_number_that_nvprof_has(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->processes[0].pid, 70);
	for (uint32_t i = 0; i < model->call_count; i++)
		assert_int_equal(model->threads[model->calls[i].thread].tid, TID);
	assert_string_equal(model->threads[model->calls[0].thread].name, "io");
	two_pass_trace_close(trace);
}

static void copies_waits_the_gpu_and_what_cupti_cost_are_read(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu[1].bytes, 4096);
	assert_string_equal(gpu_memcpy_kind(model->gpu[1].memcpy_kind), "HtoD");
	assert_string_equal(gpu_memory_kind(model->gpu[1].from), "Pageable");
	assert_string_equal(gpu_memory_kind(model->gpu[1].to), "Device");
	assert_int_equal(model->sync_count, 1);
	assert_int_equal(model->syncs[0].kind, GPT_AGENT_SYNC_STREAM);
	assert_string_equal(model->devices[0].name, "Tesla K40");
	assert_int_equal(model->devices[0].multiprocessors, 15);
	assert_int_equal(model->devices[0].max_threads_per_multiprocessor, 2048);
	assert_int_equal(model->devices[0].uuid[15], 0xff);
	assert_int_equal(model->overhead_count, 1);
	two_pass_trace_close(trace);
}

static void markers_of_one_id_are_a_range(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);
	const struct model_span *ranges = model->ranges;

	assert_int_equal(model->range_count, 3);
	assert_string_equal(model->strings[ranges[0].name], "step");
	assert_int_equal(ranges[0].start_ns, BEGIN + 90);
	assert_int_equal(ranges[0].end_ns, BEGIN + 200);
	assert_int_equal(ranges[0].domain, NONE);
	assert_string_equal(model->strings[ranges[1].name], "here");
	assert_int_equal(ranges[1].kind, MODEL_SPAN_MARK);
	assert_int_equal(ranges[2].start_ns, BEGIN + 200);
	assert_int_equal(ranges[2].end_ns, BEGIN + 310);
	assert_string_equal(model->strings[ranges[2].domain], "mine");
	two_pass_trace_close(trace);
}

#define MARKERS(rows)                                                                                                  \
	{                                                                                                              \
		"CREATE TABLE StringTable (_id_ INTEGER PRIMARY KEY AUTOINCREMENT, value TEXT NOT NULL);"              \
		"INSERT INTO StringTable VALUES (7,'early'),(5,'late')",                                               \
			"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME" API                                                 \
			"CREATE TABLE CUPTI_ACTIVITY_KIND_MARKER (flags INT, timestamp INT, id INT, objectKind INT, "  \
			"objectId BLOB, name INT, domain INT);"                                                        \
			"INSERT INTO CUPTI_ACTIVITY_KIND_MARKER VALUES " rows,                                         \
			NULL,                                                                                          \
	}
#define MARKER(flags, time, id, name) "(" #flags "," EPOCH #time "," #id ",2," THREAD "," #name ",0)"

static void assert_early_and_late(const char *const *markers, uint64_t early_ns, uint64_t late_ns)
{
	struct trace *trace = open_database(markers);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->range_count, 2);
	assert_string_equal(model->strings[model->ranges[0].name], "early");
	assert_int_equal(model->ranges[0].start_ns, BEGIN + 100);
	assert_int_equal(model->ranges[0].end_ns, BEGIN + early_ns);
	assert_string_equal(model->strings[model->ranges[1].name], "late");
	assert_int_equal(model->ranges[1].end_ns, BEGIN + late_ns);
	two_pass_trace_close(trace);
	assert_same_in_parts(markers);
}

/* Markers 1 and 65537 share a slot while they are open. */
static void markers_are_open_however_many_begin_meanwhile(void **state)
{
	static const char *const markers[] = MARKERS(MARKER(2, 100, 1, 7) "," MARKER(2, 120, 65537, 5) "," MARKER(
		4, 300, 1, 0) "," MARKER(4, 400, 65537, 0));

	assert_early_and_late(markers, 300, 400);
}

static void an_end_is_that_of_the_latest_begin_of_its_number(void **state)
{
	static const char *const markers[] = MARKERS(
		MARKER(2, 100, 1, 7) "," MARKER(2, 120, 1, 5) "," MARKER(4, 300, 1, 0) "," MARKER(4, 400, 1, 0));

	assert_early_and_late(markers, 400, 300);
}

static void a_number_of_a_marker_may_be_used_again(void **state)
{
	static const char *const markers[] = MARKERS(
		MARKER(2, 100, 1, 7) "," MARKER(4, 110, 1, 0) "," MARKER(2, 120, 1, 5) "," MARKER(4, 400, 1, 0));

	assert_early_and_late(markers, 110, 400);
}

static void an_end_may_stand_in_front_of_its_begin(void **state)
{
	static const char *const markers[] = MARKERS(
		MARKER(4, 400, 2, 0) "," MARKER(2, 120, 2, 5) "," MARKER(2, 100, 1, 7) "," MARKER(4, 110, 1, 0));

	assert_early_and_late(markers, 110, 400);
}

static void in_parts_it_says_the_same(void **state)
{
	assert_same_in_parts(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_of_both_interfaces_have_their_kernels),
		cmocka_unit_test(a_thread_is_known_by_the_half_of_its_number_that_nvprof_has),
		cmocka_unit_test(copies_waits_the_gpu_and_what_cupti_cost_are_read),
		cmocka_unit_test(markers_of_one_id_are_a_range),
		cmocka_unit_test(markers_are_open_however_many_begin_meanwhile),
		cmocka_unit_test(an_end_is_that_of_the_latest_begin_of_its_number),
		cmocka_unit_test(a_number_of_a_marker_may_be_used_again),
		cmocka_unit_test(an_end_may_stand_in_front_of_its_begin),
		cmocka_unit_test(in_parts_it_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
