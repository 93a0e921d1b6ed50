/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* SQLite files of nsys become models: today's versions, older ones, and gputrace's own files of that form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "database_builder.h"
#include "export/export.h"
#include "sample_model.h"
#include "whole_trace.h"

#define HOUR 3600000000000ull /* the time at which a session starts */

#define STRINGS                                                                                                        \
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"                               \
	"INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'_Z3addPf'),(3,'add'),"                          \
	"(4,'cudaMemcpyAsync_v3020'),(5,'cudaStreamSynchronize_v3020'),(6,'worker'),(7,'step'),"                       \
	"(8,'cudaGetDevice_v3020'),(9,'cuLaunchKernel'),(10,'add(float*)'),(11,'cudaGraphLaunch_v10000')"

/* As of schema 3. */
static const char *const document[] = {
	STRINGS,
	"CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
	"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.16.0')",
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT, name TEXT, nameEnum INTEGER, value "
	"TEXT); INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0,'x','Hostname',1,'trainer')",
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);"
	"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000,'','')",
	"CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER, startTime INTEGER, stopTime INTEGER);"
	"INSERT INTO ANALYSIS_DETAILS VALUES (0,5000,0,5000)",
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"INSERT INTO PROCESSES VALUES (" NSYS_PID ",70,'python')",
	"CREATE TABLE ThreadNames (nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER);"
	"INSERT INTO ThreadNames VALUES (6,0," NSYS_TID ")",
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, isDiscrete INTEGER, "
	"totalMemory INTEGER, smCount INTEGER, uuid TEXT, computeMajor INTEGER, computeMinor INTEGER, threadsPerWarp "
	"INTEGER, maxWarpsPerSm INTEGER);"
	"INSERT INTO TARGET_INFO_GPU VALUES (0,3,'Some GPU','',1,1000,132,"
	"'00010203-0405-0607-0809-0a0b0c0d0eff',9,0,32,64)",
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
	"INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3,0,70)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, "
	"globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId "
	"INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (300,340,0," NSYS_TID ",8,5,0,NULL),"
	"(100,104,0," NSYS_TID ",5,1,0,1),(110,111,0," NSYS_TID ",6,8,0,NULL),(120,125,0," NSYS_TID ",7,4,701,NULL)",
	"CREATE TABLE CUDA_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, "
	"unresolved "
	"INTEGER, originalIP INTEGER, stackDepth INTEGER NOT NULL);"
	"INSERT INTO CUDA_CALLCHAINS VALUES (1,3,6,0,4660,0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
	"greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
	"shortName INTEGER, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, "
	"gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, "
	"staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, localMemoryTotal "
	"INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,NULL,7,5," NSYS_PID
	",10,3,2,NULL,0,32,4,2,1,128,1,1,16,64,8,0,1,80,NULL,0)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
	"greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind "
	"INTEGER, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (180,190,0,1,NULL,7,7," NSYS_PID ",4096,1,NULL,1,2,NULL)",
	"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
	"INTEGER, greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType "
	"INTEGER, "
	"eventId INTEGER);"
	"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (301,339,0,1,NULL,7,8," NSYS_PID ",3,4294967295)",
	"CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, contextId "
	"INTEGER, "
	"address INTEGER, pc INTEGER, bytes INTEGER, memKind INTEGER, memoryOperationType INTEGER, correlationId "
	"INTEGER);"
	"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (90," NSYS_PID ",0,1,77,0,512,2,0,4)",
	NULL,
};

static void a_launch_has_its_kernel_and_what_is_reported_both(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);
	const struct model_gpu *kernel = &model->gpu[0];

	assert_null(model_check(model));
	assert_int_equal(model->call_count, 4);
	assert_string_equal(api_name(model->calls[1].api), "cudaGetDevice");
	assert_string_equal(api_name(model->calls[0].api), "cudaLaunchKernel");
	assert_int_equal(model->calls[0].start_ns, HOUR + 100);
	assert_int_equal(model->calls[0].end_ns, HOUR + 104);
	assert_int_equal(model->calls[2].result, 701);
	assert_int_equal(kernel->call, 0);
	assert_int_equal(kernel->start_ns, HOUR + 150);
	assert_int_equal(kernel->end_ns, HOUR + 170);
	assert_string_equal(model->strings[kernel->name], "add(float*)");
	assert_int_equal(kernel->grid[1], 2);
	assert_int_equal(kernel->block[0], 128);
	assert_int_equal(kernel->static_shared_bytes, 16);
	assert_int_equal(kernel->dynamic_shared_bytes, 64);
	assert_int_equal(kernel->registers, 32);
	two_pass_trace_close(trace);
}

static void copies_waits_and_memory_have_the_kinds_that_cupti_gave_them(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model->gpu[1].call, 2);
	assert_int_equal(model->gpu[1].bytes, 4096);
	assert_string_equal(gpu_memcpy_kind(model->gpu[1].memcpy_kind), "HtoD");
	assert_string_equal(gpu_memory_kind(model->gpu[1].from), "Pinned");
	assert_string_equal(gpu_memory_kind(model->gpu[1].to), "Device");
	assert_int_equal(model->sync_count, 1);
	assert_int_equal(model->syncs[0].kind, GPT_AGENT_SYNC_STREAM);
	assert_int_equal(model->syncs[0].event, NONE);
	assert_int_equal(model->memory_count, 1);
	assert_int_equal(model->memories[0].bytes, 512);
	two_pass_trace_close(trace);
}

static void names_the_gpu_and_the_session_are_those_of_the_file(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_string_equal(model->processes[0].name, "python");
	assert_int_equal(model->processes[0].pid, 70);
	assert_string_equal(model->threads[0].name, "worker");
	assert_int_equal(model->threads[0].tid, 71);
	assert_int_equal(model->device_count, 1);
	assert_int_equal(model->devices[0].id, 0); /* CUDA's number, not the system's */
	assert_string_equal(model->devices[0].name, "Some GPU");
	assert_int_equal(model->devices[0].multiprocessors, 132);
	assert_int_equal(model->devices[0].max_threads_per_multiprocessor, 2048);
	assert_int_equal(model->devices[0].uuid[15], 0xff);
	assert_int_equal(model->start_ns, HOUR);
	assert_int_equal(model->end_ns, HOUR + 5000);
	assert_int_equal(model->start_ns + (uint64_t)model_source(model)->wall_offset_ns, 1700000000000000000);
	assert_string_equal(model_source(model)->host, "trainer");
	assert_true(model_is_foreign(model));
	two_pass_trace_close(trace);
}

static void a_native_stack_is_no_python_stack(void **state)
{
	struct trace *trace = open_database(document);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->calls[0].stack, NONE);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_NOT_RECORDED);
	two_pass_trace_close(trace);
}

static void in_parts_it_says_the_same(void **state)
{
	assert_same_in_parts(document);
}

/* As of nsys 2019: no classes, no processes, defaults where there is no value. */
static void an_older_file_without_most_tables_and_columns_is_read(void **state)
{
	static const char *const old[] = {
		STRINGS,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT NOT NULL, end INT NOT NULL, globalTid INT NOT "
		"NULL, "
		"correlationId INT NOT NULL, nameId INT NOT NULL, returnValue INT NOT NULL);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,9,0)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, deviceId INT NOT NULL, "
		"contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT NOT NULL, shortName INT NOT NULL);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5,3)",
		NULL,
	};
	struct trace *trace = open_database(old);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(api_name(model->calls[0].api), "cuLaunchKernel");
	assert_int_equal(model->gpu[0].call, 0);
	assert_string_equal(model->strings[model->gpu[0].name], "add");
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	two_pass_trace_close(trace);
}

static void correlation_ids_are_of_a_process(void **state)
{
	static const char *const two[] = {
		STRINGS,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, "
		"nameId "
		"INT, returnValue INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES "
		"(100,104,(70<<24)+71,5,1,0),(101,105,(80<<24)+81,5,1,0)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId INT, streamId "
		"INT, "
		"correlationId INT, globalPid INT, demangledName INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150,170,0,1,7,5,80<<24,3),(160,180,0,1,7,5,70<<24,2)",
		NULL,
	};
	struct trace *trace = open_database(two);
	const struct model *model = trace_first(trace);

	for (uint32_t i = 0; i < 2; i++) {
		const struct model_gpu *op = &model->gpu[i];

		assert_int_equal(model->processes[op->process].pid, i ? 70 : 80);
		assert_int_equal(model->threads[model->calls[op->call].thread].process, op->process);
	}
	two_pass_trace_close(trace);
	assert_same_in_parts(two);
}

static void a_graph_that_was_traced_as_a_whole_is_one_operation(void **state)
{
	static const char *const graphs[] = {
		STRINGS,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, "
		"nameId "
		"INT, returnValue INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",5,11,0)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, contextId INT, "
		"greenContextId INT, streamId INT, correlationId INT, globalPid INT, graphId INT, graphExecId INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (150,950,0,1,NULL,7,5," NSYS_PID ",3,4)",
		NULL,
	};
	struct trace *trace = open_database(graphs);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model->gpu[0].call, 0);
	assert_string_equal(model->strings[model->gpu[0].name], "[CUDA graph 3]");
	two_pass_trace_close(trace);
}

/* ---- NVTX -------------------------------------------------------------------------------------------------------- */

static const char *const ranges[] = {
	STRINGS,
	"CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, "
	"text "
	"TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);"
	/* `second` begins when `first` ends; both are in `step`; a range of another domain overlaps them */
	"INSERT INTO NVTX_EVENTS VALUES (200,300,59,NULL,'second'," NSYS_TID ",NULL,NULL,0),"
	"(100,200,59,NULL,'first'," NSYS_TID ",NULL,NULL,0),(50,400,59,NULL,NULL," NSYS_TID ",NULL,7,0),"
	"(150,250,59,NULL,'across'," NSYS_TID ",NULL,NULL,9),(40,NULL,75,NULL,'mine'," NSYS_TID ",NULL,NULL,9),"
	"(120,NULL,34,NULL,'here'," NSYS_TID ",NULL,NULL,0),"
	"(130,500,60,4,'long'," NSYS_TID "," NSYS_TID ",NULL,0),(350,NULL,59,NULL,'open'," NSYS_TID ",NULL,NULL,9)",
	NULL,
};

static const struct model_span *find_range(const struct model *model, const char *name)
{
	for (uint32_t i = 0; i < model->range_count; i++)
		if (!strcmp(model->strings[model->ranges[i].name], name))
			return &model->ranges[i];
	fail_msg("%s is not there", name);
	return NULL;
}

static void assert_range(const struct model *model, const char *name, uint64_t from, uint64_t to,
			 enum model_span_kind kind)
{
	const struct model_span *range = find_range(model, name);

	assert_int_equal(range->start_ns, HOUR + from);
	assert_int_equal(range->end_ns, HOUR + to);
	assert_int_equal(range->kind, kind);
	assert_int_equal(model->threads[range->thread].tid, 71);
}

static void ranges_begin_and_end_as_the_program_said(void **state)
{
	struct trace *trace = open_database(ranges);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_int_equal(model->range_count, 7);
	assert_range(model, "step", 50, 400, MODEL_SPAN_PUSHED);
	assert_range(model, "first", 100, 200, MODEL_SPAN_PUSHED);
	assert_range(model, "second", 200, 300, MODEL_SPAN_PUSHED);
	assert_range(model, "across", 150, 250, MODEL_SPAN_PUSHED);
	assert_range(model, "long", 130, 500, MODEL_SPAN_STARTED);
	assert_range(model, "here", 120, 120, MODEL_SPAN_MARK);
	assert_string_equal(model->strings[find_range(model, "across")->domain], "mine");
	assert_int_equal(find_range(model, "first")->domain, NONE);
	assert_true(find_range(model, "open")->truncated);
	two_pass_trace_close(trace);
}

static void ranges_in_parts_are_the_same(void **state)
{
	assert_same_in_parts(ranges);
}

/* ---- gputrace's own ---------------------------------------------------------------------------------------------- */

static struct trace *export_and_open(const struct model *model)
{
	const struct export_options options = {.process = -1};
	int fd = memfd_create("own", MFD_CLOEXEC);

	assert_int_equal(export_write(fd, export_format_by_name("sqlite"), WHOLE_TRACE(model), &options), 0);
	return open_file(fd, &in_one);
}

static void assert_same_frames(const struct model *one, uint32_t stack, const struct model *other, uint32_t same)
{
	assert_int_equal(one->stacks[stack].depth, other->stacks[same].depth);
	for (uint32_t i = 0; i < one->stacks[stack].depth; i++) {
		const struct model_frame *a = &one->frames[one->stack_frames[one->stacks[stack].first + i]];
		const struct model_frame *b = &other->frames[other->stack_frames[other->stacks[same].first + i]];

		assert_int_equal(a->line, b->line);
		assert_string_equal(one->codes[a->code].name, other->codes[b->code].name);
		assert_string_equal(one->codes[a->code].file, other->codes[b->code].file);
	}
}

static void calls_of_gputraces_own_file_are_those_of_the_log(void **state)
{
	struct model *model = sample_model(1, 4);
	struct trace *trace = export_and_open(model);
	const struct model *read = trace_first(trace);

	assert_int_equal(read->call_count, model->call_count);
	for (uint32_t i = 0; i < model->call_count; i++) {
		const struct model_call *was = &model->calls[i], *is = &read->calls[i];

		assert_int_equal(is->api, was->api);
		assert_int_equal(is->start_ns - read->start_ns, was->start_ns - model->start_ns);
		assert_int_equal(is->end_ns - is->start_ns, was->end_ns - was->start_ns);
		assert_int_equal(is->corr, was->corr);
		assert_int_equal(is->result, was->result);
		assert_int_equal(read->threads[is->thread].tid, model->threads[was->thread].tid);
		assert_string_equal(read->threads[is->thread].name, model->threads[was->thread].name);
		assert_int_equal(is->stack == NONE, was->stack == NONE);
		if (was->stack != NONE)
			assert_same_frames(model, was->stack, read, is->stack);
	}
	assert_int_equal(read->end_ns - read->start_ns, model->end_ns - model->start_ns);
	two_pass_trace_close(trace);
	model_free(model);
}

static void gpu_work_of_gputraces_own_file_is_that_of_the_log(void **state)
{
	struct model *model = sample_model(1, 4);
	struct trace *trace = export_and_open(model);
	const struct model *read = trace_first(trace);

	assert_null(model_check(read));
	assert_int_equal(read->gpu_count, model->gpu_count);
	assert_int_equal(read->sync_count, model->sync_count);
	assert_int_equal(read->memory_count, model->memory_count);
	assert_int_equal(read->range_count, model->range_count);
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		const struct model_gpu *was = &model->gpu[i], *is = &read->gpu[i];

		assert_int_equal(is->kind, was->kind);
		assert_int_equal(is->start_ns - read->start_ns, was->start_ns - model->start_ns);
		assert_int_equal(is->end_ns - is->start_ns, was->end_ns - was->start_ns);
		assert_int_equal(is->call, was->call);
		assert_int_equal(is->bytes, was->bytes);
		assert_int_equal(is->from, was->from);
		assert_int_equal(is->to, was->to);
		assert_int_equal(is->graph_node, was->graph_node);
		assert_memory_equal(is->grid, was->grid, sizeof(is->grid));
		if (was->kind == MODEL_KERNEL)
			assert_string_equal(read->strings[is->name], model->strings[was->name]);
	}
	two_pass_trace_close(trace);
	model_free(model);
}

/* Such numbers are in files of 2020 to 2025, although their own table of wait kinds says otherwise. */
static void what_a_wait_is_for_is_known_by_its_call_and_its_ids(void **state)
{
	static const char *const waits[] = {
		STRINGS,
		"INSERT INTO StringIds VALUES (20,'cudaEventSynchronize_v3020'),(21,'cudaDeviceSynchronize_v3020')",
		"CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
		"INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION','3.24.0')",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, "
		"nameId "
		"INT, returnValue INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,190," NSYS_TID ",1,20,0),(200,290," NSYS_TID
		",2,21,0),(300,390," NSYS_TID ",3,5,0)",
		"CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INT, end INT, deviceId INT, contextId INT, "
		"streamId INT, correlationId INT, globalPid INT, syncType INT, eventId INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (100,190,0,1,4294967295,1," NSYS_PID
		",2,26),(200,290,0,1,4294967295,2," NSYS_PID ",1,4294967295),(300,390,0,1,7,3," NSYS_PID
		",2,4294967295),(400,490,0,1,7,0," NSYS_PID ",1,4294967295),(500,590,0,1,4294967295,0," NSYS_PID
		",1,4294967295),(600,690,0,1,4294967295,0," NSYS_PID ",9,26),(700,701,0,1,7,0," NSYS_PID ",9,26)",
		NULL,
	};
	static const uint8_t kinds[] = {GPT_AGENT_SYNC_EVENT,
					GPT_AGENT_SYNC_CONTEXT,
					GPT_AGENT_SYNC_STREAM,
					GPT_AGENT_SYNC_STREAM,
					GPT_AGENT_SYNC_CONTEXT,
					GPT_AGENT_SYNC_EVENT,
					GPT_AGENT_SYNC_STREAM_WAITS_EVENT};
	struct trace *trace = open_database(waits);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->sync_count, sizeof(kinds));
	for (size_t i = 0; i < sizeof(kinds); i++)
		assert_int_equal(model->syncs[i].kind, kinds[i]);
	two_pass_trace_close(trace);
	assert_same_in_parts(waits);
}

static void a_session_is_as_long_as_it_lasted_whenever_it_began(void **state)
{
	static const char *const details[] = {
		"globalVid INT, duration INT, startTime INT, stopTime INT);"
		"INSERT INTO ANALYSIS_DETAILS VALUES (281474976710656,467690947,26590627110965,26591094801912)",
		"startTime INT, stopTime INT);"
		"INSERT INTO ANALYSIS_DETAILS VALUES (26590627110965,26591094801912)",
	};

	for (size_t i = 0; i < sizeof(details) / sizeof(details[0]); i++) {
		char *table = xasprintf("CREATE TABLE ANALYSIS_DETAILS (%s", details[i]);
		const char *const span[] = {
			STRINGS,
			table,
			"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId "
			"INT, nameId INT, returnValue INT);"
			"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (244414694,244419694," NSYS_TID ",1,1,0)",
			NULL,
		};
		struct trace *trace = open_database(span);
		const struct model *model = trace_first(trace);

		assert_int_equal(model->end_ns - model->start_ns, 467690947);
		assert_int_equal(model->calls[0].start_ns - model->start_ns, 244414694);
		two_pass_trace_close(trace);
		free(table);
	}
}

static void page_faults_are_said_not_to_be_read(void **state)
{
	static const char *const faults[] = {
		STRINGS,
		"CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, correlationId INT, "
		"nameId INT, "
		"returnValue INT);"
		"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100,104," NSYS_TID ",1,1,0)",
		"CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER, globalPid INTEGER, address INTEGER);"
		"CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER, end INTEGER, globalPid INTEGER, deviceId "
		"INTEGER, "
		"address INTEGER, numberOfPageFaults INTEGER);"
		"INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (10,20," NSYS_PID ",0,4096,7),(30,40," NSYS_PID
		",0,8192,1)",
		NULL,
	};
	struct trace *trace = open_database(faults);
	const struct model *model = trace_first(trace);

	(void)state;
	assert_int_equal(model->note_count, 1);
	assert_string_equal(model->notes[0],
			    "2 rows of CUDA_UM_GPU_PAGE_FAULT_EVENTS not read: of page faults of managed memory the "
			    "file's copies are known, not the faults");
	two_pass_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_wait_is_for_is_known_by_its_call_and_its_ids),
		cmocka_unit_test(page_faults_are_said_not_to_be_read),
		cmocka_unit_test(a_session_is_as_long_as_it_lasted_whenever_it_began),
		cmocka_unit_test(a_launch_has_its_kernel_and_what_is_reported_both),
		cmocka_unit_test(copies_waits_and_memory_have_the_kinds_that_cupti_gave_them),
		cmocka_unit_test(names_the_gpu_and_the_session_are_those_of_the_file),
		cmocka_unit_test(a_native_stack_is_no_python_stack),
		cmocka_unit_test(in_parts_it_says_the_same),
		cmocka_unit_test(an_older_file_without_most_tables_and_columns_is_read),
		cmocka_unit_test(correlation_ids_are_of_a_process),
		cmocka_unit_test(a_graph_that_was_traced_as_a_whole_is_one_operation),
		cmocka_unit_test(ranges_begin_and_end_as_the_program_said),
		cmocka_unit_test(ranges_in_parts_are_the_same),
		cmocka_unit_test(calls_of_gputraces_own_file_are_those_of_the_log),
		cmocka_unit_test(gpu_work_of_gputraces_own_file_is_that_of_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
