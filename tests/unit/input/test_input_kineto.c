/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* torch.profiler traces become models; missing values stay open; no content breaks the reader. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "input/foreign_trace.h"
#include "base/json/json.h"
#include "input/rows/rows.h"
#include "model/collectives.h"
#include "idle_check.h"
#include "model_check.h"
#include "trace_print.h"

/* One step on two threads: events follow what they cause, and are out of order, as Kineto writes them. */
static const char document[] =
	"{\"schemaVersion\": 1, \"host_name\": \"trainer\", \"baseTimeNanoseconds\": 1700000000000000000,\n"
	"\"deviceProperties\": [{\"id\": 0, \"name\": \"Some GPU\", \"totalGlobalMem\": 1000, \"numSms\": 132}],\n"
	"\"unknown\": {\"a\": [1, {\"b\": \"]}\"}]},\n"
	"\"traceEvents\": [\n"
	"{\"ph\":\"M\",\"name\":\"thread_name\",\"ts\":1,\"pid\":70,\"tid\":71,\"args\":{\"name\":\"thread 71 "
	"(main)\"}},\n"
	"{\"ph\":\"M\",\"name\":\"process_name\",\"ts\":1,\"pid\":70,\"tid\":0,\"args\":{\"name\":\"python\"}},\n"
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"_Z3addPf\",\"pid\":0,\"tid\":7,\"ts\":130.5,\"dur\":10.25,"
	"\"args\":{"
	"\"device\":0,\"context\":1,\"stream\":7,\"correlation\":5,\"registers per thread\":32,\"shared memory\":64,"
	"\"grid\":[4,2,1],\"block\":[128,1,1]}},\n"
	"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":70,\"tid\":71,\"ts\":110,\"dur\":20,\"args\":{"
	"\"External id\":3,\"Sequence number\":9,\"Input Dims\":[[2, 2], []],\"Input type\":[\"float\", "
	"\"Scalar\"]}},\n"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":70,\"tid\":71,\"ts\":115.001,"
	"\"dur\":3.5,"
	"\"args\":{\"cbid\":211,\"correlation\":5}},\n"
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaGetDevice\",\"pid\":70,\"tid\":71,\"ts\":112,\"dur\":1,"
	"\"args\":{\"cbid\":17,\"correlation\":4}},\n"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"<built-in method "
	"add>\",\"pid\":70,\"tid\":71,\"ts\":105,\"dur\":27,"
	"\"args\":{\"Python id\":2,\"Python parent id\":1,\"CallFrom\":\"/src/a.py:14\"}},\n"
	"{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"/src/a.py(12): "
	"st\\u00e9p\",\"pid\":70,\"tid\":71,\"ts\":100,"
	"\"dur\":60,\"args\":{\"Python id\":1,\"Python parent id\":null}},\n"
	"{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> "
	"Device)\",\"pid\":0,\"tid\":7,\"ts\":150,"
	"\"dur\":1,\"args\":{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":6,\"bytes\":4096}},\n"
	"{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":70,\"tid\":71,\"ts\":"
	"111,\"args\":{"
	"\"Total Reserved\":2048,\"Total Allocated\":1024,\"Bytes\":512,\"Device Id\":0,\"Device "
	"Type\":1,\"Addr\":77}},\n"
	"{\"ph\":\"f\",\"id\":5,\"pid\":0,\"tid\":7,\"ts\":130.5,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n"
	"{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\",\"tid\":\"PyTorch "
	"Profiler\","
	"\"ts\":90,\"dur\":110,\"args\":{\"Op count\":0}}\n"
	"], \"traceName\": \"x\"}\n";

static const struct trace_division whole = {.whole_bytes = UINT64_MAX}, parts = {.chunk_records = 1, .part_events = 1};

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("kineto", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static struct trace *open_bytes(const void *bytes, size_t size, const struct trace_division *division)
{
	struct trace *trace;
	char *why;
	int fd = file_of(bytes, size);

	assert_true(foreign_is(fd));
	assert_int_equal(foreign_trace_open(fd, division, &trace, &why), 0);
	close(fd);
	return trace;
}

static struct trace *open_document(void)
{
	return open_bytes(document, strlen(document), &whole);
}

static void a_launch_has_its_kernel_its_op_and_its_python_line(void **state)
{
	struct trace *trace = open_document();
	const struct model *model = trace_first(trace);
	const struct model_call *call = &model->calls[1];
	const struct model_gpu *kernel = &model->gpu[0];
	const struct model_frame *frame;

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count, 2);
	assert_string_equal(api_name(model->calls[0].api), "cudaGetDevice");
	assert_int_equal(call->start_ns, 115001);
	assert_int_equal(call->end_ns, 118501);
	assert_string_equal(api_name(call->api), "cudaLaunchKernel");
	assert_int_equal(kernel->call, 1);
	assert_int_equal(kernel->start_ns, 130500);
	assert_int_equal(kernel->end_ns, 140750);
	assert_string_equal(model->strings[kernel->name], "add(float*)");
	assert_int_equal(kernel->grid[0], 4);
	assert_int_equal(kernel->dynamic_shared_bytes, 64);
	assert_int_equal(call->op, 1);
	assert_string_equal(model->strings[model->ops[0].name], "aten::add");
	assert_int_equal(model->ops[0].sequence, 9);
	assert_int_equal(model->stacks[call->stack].depth, 1);
	frame = &model->frames[model->stack_frames[model->stacks[call->stack].first]];
	assert_int_equal(frame->line, 14);
	assert_string_equal(model->codes[frame->code].name, "st\xc3\xa9p");
	assert_string_equal(model->codes[frame->code].file, "/src/a.py");
	assert_int_equal(model->codes[frame->code].first_line, 12);
	two_pass_trace_close(trace);
}

static void names_devices_memory_and_the_window_are_those_of_the_file(void **state)
{
	struct trace *trace = open_document();
	const struct model *model = trace_first(trace);

	assert_string_equal(model->processes[0].name, "python");
	assert_int_equal(model->processes[0].pid, 70);
	assert_string_equal(model->threads[0].name, "main");
	assert_string_equal(model->devices[0].name, "Some GPU");
	assert_int_equal(model->devices[0].multiprocessors, 132);
	assert_int_equal(model->torch_memory_count, 1);
	assert_int_equal(model->torch_memories[0].bytes, 512);
	assert_int_equal(model->start_ns, 90000);
	assert_int_equal(model->end_ns, 200000);
	assert_int_equal(model_source(model)->wall_offset_ns, 1700000000000000000);
	assert_string_equal(model_source(model)->host, "trainer");
	two_pass_trace_close(trace);
}

static void a_copy_without_its_call_says_so(void **state)
{
	struct trace *trace = open_document();
	const struct model *model = trace_first(trace);

	assert_int_equal(model->gpu_count, 2);
	assert_int_equal(model->gpu[1].call, NONE);
	assert_int_equal(model->gpu[1].bytes, 4096);
	assert_string_equal(gpu_memcpy_kind(model->gpu[1].memcpy_kind), "HtoD");
	assert_string_equal(gpu_memory_kind(model->gpu[1].from), "Pinned");
	assert_string_equal(gpu_memory_kind(model->gpu[1].to), "Device");
	two_pass_trace_close(trace);
}

static void what_the_tool_lost_is_not_known(void **state)
{
	struct trace *trace = open_document();
	const struct model *model = trace_first(trace);

	assert_true(model_is_foreign(model));
	assert_true(model_completeness(model) < MODEL_COMPLETE);
	two_pass_trace_close(trace);
}

static void a_stack_that_was_not_recorded_is_said_to_be_that(void **state)
{
	static const char call[] =
		"[{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel_v7000\",\"pid\":1,"
		"\"tid\":2,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1}}]";
	struct trace *trace = open_bytes(call, strlen(call), &whole);
	const struct model *model = trace_first(trace);

	assert_int_equal(model->calls[0].stack, NONE);
	assert_int_equal(model->calls[0].stack_state, GPT_STACK_NOT_RECORDED);
	two_pass_trace_close(trace);
}

static void a_collective_says_what_torch_profiler_says_of_it(void **state)
{
	static const char op[] =
		"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"record_param_comms\",\"pid\":1,\"tid\":2,\"ts\":1,"
		"\"dur\":5,"
		"\"args\":{\"Collective name\":\"allreduce\",\"dtype\":\"BFloat16\",\"In msg nelems\":1024,\"Out msg "
		"nelems\":2048,"
		"\"In split size\":\"[]\",\"Out split size\":\"[]\",\"Global rank start\":0,\"Global rank "
		"stride\":1,\"Group size\":2,"
		"\"Process Group Name\":\"0\",\"Process Group Description\":\"default \\\"pg\\\"\",\"Process Group "
		"Ranks\":\"[0, 1]\","
		"\"Rank\":1,\"Seq\":17,\"Is asynchronized op\":true,\"Dst Rank\":3}},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":1,\"tid\":2,\"ts\":7,\"dur\":5,"
		"\"args\":{\"dtype\":\"Float\"}}]";
	struct trace *trace = open_bytes(op, strlen(op), &whole);
	const struct model *model = trace_first(trace);
	const struct model_collective *reported = model_collective_of(model, 1);
	struct collective collective;

	assert_non_null(reported);
	assert_int_equal(reported->sequence, 17);
	assert_true(collective_read(&collective, model->strings[reported->params]));
	assert_string_equal(collective.fields[GPT_COLLECTIVE_NAME], "allreduce");
	assert_string_equal(collective.fields[GPT_COLLECTIVE_DESCRIPTION], "default \"pg\"");
	assert_string_equal(collective.fields[GPT_COLLECTIVE_RANKS], "[0, 1]");
	assert_string_equal(collective_dtype(&collective), "BFloat16");
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_IN_ELEMENTS], 1024);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_OUT_ELEMENTS], 2048);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_RANK], 1);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_GROUP_SIZE], 2);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_PEER], 3);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_POINT_TO_POINT], -1);
	assert_int_equal(collective.numbers[GPT_COLLECTIVE_ASYNC], 1);
	assert_null(model_collective_of(model, 2));
	two_pass_trace_close(trace);
}

static char *print_trace(const void *bytes, size_t size, const struct trace_division *division)
{
	struct trace *trace = open_bytes(bytes, size, division);
	char *text;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	trace_print(out, trace);
	assert_int_equal(trace->error, 0);
	two_pass_trace_close(trace);
	fclose(out);
	return text;
}

static void in_parts_it_says_the_same(void **state)
{
	char *one = print_trace(document, strlen(document), &whole),
	     *many = print_trace(document, strlen(document), &parts);

	assert_string_equal(many, one);
	free(one);
	free(many);
}

static void packed_it_says_the_same(void **state)
{
	unsigned char packed[2 * sizeof(document)];
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)document,
			   .avail_in = (unsigned)strlen(document),
			   .next_out = packed,
			   .avail_out = sizeof(packed)};
	char *plain = print_trace(document, strlen(document), &whole), *unpacked;

	assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	unpacked = print_trace(packed, stream.total_out, &whole);
	assert_string_equal(unpacked, plain);
	deflateEnd(&stream);
	free(unpacked);
	free(plain);
}

static void cut_anywhere_it_is_read_up_to_there_and_says_so(void **state)
{
	size_t begin = (size_t)(strstr(document, "\"traceEvents\"") - document) + strlen("\"traceEvents\": [");

	for (size_t size = begin; size < strlen(document) - 1; size++) {
		struct trace *trace = open_bytes(document, size, &whole);
		const struct model *model = trace_first(trace);

		assert_null(model_check(model));
		assert_string_equal(idle_check_model(model), "");
		assert_true(model_source(model)->receipt.truncated);
		two_pass_trace_close(trace);
	}
}

static void assert_noted(const char *bytes, size_t size, const char *note)
{
	struct trace *trace = open_bytes(bytes, size, &whole);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->note_count, 1);
	if (!strstr(model->notes[0], note))
		fail_msg("no '%s' in: %s", note, model->notes[0]);
	two_pass_trace_close(trace);
}

static void where_a_document_is_no_json_any_more_or_a_value_is_too_long_it_says_so(void **state)
{
	static const char broken[] = "{\"traceEvents\": [{\"ph\": \"X\"; 3}]}";
	static const char start[] = "{\"traceEvents\": [{\"name\": \"";
	size_t size = 2 * (size_t)JSON_VALUE_MAX + 100; /* no buffer of the reader has room for it */
	char *large = malloc(size);

	assert_noted(broken, strlen(broken), "the file is no JSON from byte 27 on: what is after it was not read");
	assert_non_null(large);
	memset(large, 'x', size);
	memcpy(large, start, strlen(start));
	memcpy(large + size - 4, "\"}]}", 4);
	assert_noted(large, size, "a value of more than 64 MB at byte 16: what is after it was not read");
	free(large);
}

#define ONE_EVENT                                                                                                      \
	"[{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 1, \"dur\": 5, "       \
	"\"args\": {\"device\": 0, \"stream\": 7}}]"

static void what_follows_a_whole_document_is_not_passed_over_in_silence(void **state)
{
	static const char two[] = ONE_EVENT "\n " ONE_EVENT, padded[] = ONE_EVENT " \n\0\0";
	struct trace *trace = open_bytes(padded, sizeof(padded), &whole);
	char note[64];

	assert_int_equal(trace_first(trace)->note_count, 0);
	two_pass_trace_close(trace);
	snprintf(note, sizeof(note), "the trace ends before byte %zu, and the file goes on", strlen(ONE_EVENT) + 2);
	assert_noted(two, strlen(two), note);
}

static char *refuse_text(const char *text, int error)
{
	struct trace *trace;
	char *why = NULL;
	int fd = file_of(text, strlen(text));

	assert_int_equal(foreign_trace_open(fd, &whole, &trace, &why), error);
	close(fd);
	return why;
}

static void a_document_that_is_no_trace_is_refused_with_what_it_is(void **state)
{
	char *why = refuse_text("{\"rows\": [1, 2, 3]}", -EPROTO);

	assert_non_null(strstr(why, "no \"traceEvents\""));
	free(why);
	why = refuse_text("{\"rows\"; 3}", -EPROTO);
	assert_non_null(strstr(why, "neither a log of gputrace nor a trace"));
	free(why);
}

static void a_trace_without_events_is_one(void **state)
{
	static const char none[] = "{\"traceEvents\": []}";
	struct trace *trace = open_bytes(none, strlen(none), &whole);
	const struct model *model = trace_first(trace);

	assert_null(model_check(model));
	assert_string_equal(idle_check_model(model), "");
	assert_int_equal(model->call_count + model->gpu_count + model->op_count, 0);
	assert_false(model_source(model)->receipt.truncated);
	two_pass_trace_close(trace);
}

static void names_may_have_every_character(void **state)
{
	static const char begin[] =
		"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":1,\"name\":\"";
	char text[sizeof(begin) + 1024];

	for (unsigned c = 0; c < 0x100; c++) {
		struct trace *trace;

		snprintf(text, sizeof(text), "%sx\\u%04xy\\\"\\\\\\n\\ud83d\\ude00\\ud800%c\"}]", begin, c,
			 c == '"' || c == '\\' || !c ? 'z' : (int)c);
		trace = open_bytes(text, strlen(text), &whole);
		assert_null(model_check(trace_first(trace)));
		assert_int_equal(trace_first(trace)->op_count, 1);
		two_pass_trace_close(trace);
	}
}

static void events_that_make_no_sense_are_counted(void **state)
{
	static const char bad[] =
		"[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":\"now\",\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":5,\"dur\":-1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":1e300,\"dur\":1},"
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":-4,\"tid\":2,\"ts\":5,\"dur\":1},"
		"7, null, [], {\"ph\": 4}, "
		"{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":2,\"ts\":6}]";
	struct trace *trace = open_bytes(bad, strlen(bad), &whole);
	const struct model *model = trace_first(trace);

	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	assert_int_equal(model->op_count, 1);
	two_pass_trace_close(trace);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static void rows_of_many_pieces_come_in_order_in_every_round(void **state)
{
	enum { COUNT = 5000 };
	uint64_t *times = calloc(COUNT, sizeof(*times)), random = 1;
	struct rows rows;

	rows_open(&rows);
	rows.piece_bytes = 4096;
	for (int i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		times[i] = random >> 40;
		rows_add(&rows, &(struct row){.start_ns = times[i], .end_ns = times[i] + 1}, sizeof(struct row));
	}
	assert_int_equal(rows_sort(&rows), 0);
	assert_true(rows.runs.count > 10);
	qsort(times, COUNT, sizeof(*times), compare_times);
	for (int round = 0; round < 2; round++) {
		const struct row *row;
		int i = 0;

		assert_int_equal(rows_again(&rows), 0);
		while ((row = rows_next(&rows)))
			assert_int_equal(row->start_ns, times[i++]);
		assert_int_equal(i, COUNT);
	}
	rows_close(&rows);
	free(times);
}

/* Rows in order, and rows whose last one is out of order. */
static void rows_in_order_are_read_as_they_came_until_one_is_not(void **state)
{
	for (int late = 0; late < 2; late++) {
		struct rows rows;
		const struct row *row;
		uint32_t wanted = 0;

		rows_open(&rows);
		for (uint32_t i = 0; i < 100; i++) {
			struct row added = {.start_ns = i < 99 || !late ? i / 2 : 0, .corr = i};

			rows_kept(&rows, rows_add(&rows, &added, sizeof(added)))->tid = i + 1;
		}
		assert_int_equal(rows_sort(&rows), 0);
		assert_int_equal(rows.places.count, late ? 100 : 0);
		assert_int_equal(rows_again(&rows), 0);
		while ((row = rows_next(&rows))) {
			uint32_t corr = !late || wanted < 2 ? wanted : wanted == 2 ? 99 : wanted - 1;

			assert_int_equal(row->corr, corr);
			assert_int_equal(row->tid, corr + 1);
			wanted++;
		}
		assert_int_equal(wanted, 100);
		rows_close(&rows);
	}
}

static void a_row_that_was_written_cannot_be_changed(void **state)
{
	struct row row = {.start_ns = 1};
	struct rows rows;
	uint64_t first, latest = 0;

	rows_open(&rows);
	rows.piece_bytes = 4096;
	first = rows_add(&rows, &row, sizeof(row));
	assert_non_null(rows_kept(&rows, first));
	for (int i = 0; i < 1000; i++)
		latest = rows_add(&rows, &row, sizeof(row));
	assert_null(rows_kept(&rows, first));
	assert_non_null(rows_kept(&rows, latest));
	rows_close(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_has_its_kernel_its_op_and_its_python_line),
		cmocka_unit_test(names_devices_memory_and_the_window_are_those_of_the_file),
		cmocka_unit_test(a_copy_without_its_call_says_so),
		cmocka_unit_test(what_the_tool_lost_is_not_known),
		cmocka_unit_test(a_collective_says_what_torch_profiler_says_of_it),
		cmocka_unit_test(a_stack_that_was_not_recorded_is_said_to_be_that),
		cmocka_unit_test(in_parts_it_says_the_same),
		cmocka_unit_test(packed_it_says_the_same),
		cmocka_unit_test(cut_anywhere_it_is_read_up_to_there_and_says_so),
		cmocka_unit_test(where_a_document_is_no_json_any_more_or_a_value_is_too_long_it_says_so),
		cmocka_unit_test(what_follows_a_whole_document_is_not_passed_over_in_silence),
		cmocka_unit_test(a_document_that_is_no_trace_is_refused_with_what_it_is),
		cmocka_unit_test(a_trace_without_events_is_one),
		cmocka_unit_test(names_may_have_every_character),
		cmocka_unit_test(events_that_make_no_sense_are_counted),
		cmocka_unit_test(rows_of_many_pieces_come_in_order_in_every_round),
		cmocka_unit_test(rows_in_order_are_read_as_they_came_until_one_is_not),
		cmocka_unit_test(a_row_that_was_written_cannot_be_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
