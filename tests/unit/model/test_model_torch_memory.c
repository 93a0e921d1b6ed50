/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of PyTorch's allocators: its order, values known only from earlier events, ops, and the report. */
#include "model_of.h"
#include "report/report.h"
#include "whole_trace.h"

enum { OUTER = 1, INNER };

static void begin_log(struct log_builder *log)
{
	const struct gpt_pyframe frame = {.code = 0xc0de};

	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_function(log, PID, 0xc0de, "leak", "/work/train.py", 7);
	log_stack(log, PID, 0x51, 1, &frame);
	log_stack_at(log, (struct gpt_stack_at){.time_ns = 119,
						.stack_id = 0x51,
						.number = 9,
						.pid = PID,
						.tid = TID,
						.what = GPT_STACK_OF_MEMORY});
	log_batch(log, PID, TID, 900);
	log_agent_op_name(log, OUTER, "aten::linear");
	log_agent_op_name(log, INNER, "aten::empty");
	log_agent_op(log,
		     &(struct gpt_agent_op){.start_ns = 110, .end_ns = 130, .sequence = -1, .tid = TID, .name = INNER});
	log_agent_op(log,
		     &(struct gpt_agent_op){.start_ns = 100, .end_ns = 200, .sequence = -1, .tid = TID, .name = OUTER});
	log_agent_torch_memory_state(log, 0, "");
}

/* An event of the CPU's allocator, which reports no more than this. */
static void add_cpu_memory(struct log_builder *log, uint64_t time_ns, uint64_t address, uint64_t bytes, uint64_t stack)
{
	log_agent_torch_memory(log, (struct gpt_agent_torch_memory){.time_ns = time_ns,
								    .address = address,
								    .bytes = (int64_t)bytes,
								    .stack = stack,
								    .tid = TID,
								    .kind = bytes ? GPT_AGENT_TORCH_MEMORY_ALLOCATED
										  : GPT_AGENT_TORCH_MEMORY_FREED,
								    .device_type = GPT_TORCH_CPU,
								    .device = -1});
}

static void add_cuda_memory(struct log_builder *log, uint64_t time_ns, uint8_t kind, int64_t bytes, uint64_t allocated)
{
	log_agent_torch_memory(log, (struct gpt_agent_torch_memory){.time_ns = time_ns,
								    .address = 0x7000,
								    .bytes = bytes,
								    .allocated = allocated,
								    .reserved = 2097152,
								    .tid = TID,
								    .kind = kind,
								    .device_type = GPT_TORCH_CUDA,
								    .has_totals = 1});
}

/* Expects all events as "time bytes of allocated in op". */
static void assert_events(const struct model *model, const char *expected)
{
	char text[1024] = "";

	for (uint32_t i = 0; i < model->torch_memory_count; i++) {
		const struct model_torch_memory *event = &model->torch_memories[i];
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%lu %ld of %lu in %s", i ? ", " : "",
			 (unsigned long)event->time_ns, (long)event->bytes, (unsigned long)event->allocated,
			 event->op_name == NONE ? "-" : model->strings[event->op_name]);
	}
	assert_string_equal(text, expected);
}

static struct model *make_model(struct log_builder *log)
{
	log_end(log, 1000);
	return model_of(log);
}

static void events_come_by_time_with_the_innermost_op(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_cpu_memory(&log, 140, 0x2000, 300, 0);
	add_cpu_memory(&log, 120, 0x1000, 400, 9);
	add_cpu_memory(&log, 210, 0x3000, 500, 0);
	model = make_model(&log);
	assert_events(model, "120 400 of 400 in aten::empty, 140 300 of 700 in aten::linear, 210 500 of 1200 in -");
	assert_string_equal(frame_text(model, model->torch_memories[0].stack, 0), "leak (/work/train.py:7)");
	assert_int_equal(model->torch_memories[1].stack, NONE);
	model_free(model);
}

static void what_comes_back_to_the_cpu_is_as_large_as_it_was_handed_out(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_cpu_memory(&log, 120, 0x1000, 400, 9);
	add_cpu_memory(&log, 140, 0x1000, 0, 0);
	add_cpu_memory(&log, 150, 0x1000, 60, 0); /* the same place again */
	add_cpu_memory(&log, 160, 0x1000, 0, 0);
	model = make_model(&log);
	assert_events(model, "120 400 of 400 in aten::empty, 140 -400 of 0 in aten::linear, "
			     "150 60 of 60 in aten::linear, 160 -60 of 0 in aten::linear");
	assert_int_equal(model->torch_memories[1].since_ns, 120);
	assert_int_equal(model->torch_memories[1].since_stack, model->torch_memories[0].stack);
	assert_string_equal(model->strings[model->torch_memories[1].since_op_name], "aten::empty");
	model_free(model);
}

static void what_was_handed_out_before_the_trace_comes_back_unseen(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_cpu_memory(&log, 120, 0x1000, 0, 0);
	add_cpu_memory(&log, 130, 0x2000, 8, 0);
	model = make_model(&log);
	assert_events(model, "130 8 of 8 in aten::linear");
	model_free(model);
}

static void the_sums_of_a_gpu_are_its_allocators(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_cuda_memory(&log, 120, GPT_AGENT_TORCH_MEMORY_ALLOCATED, 512, 10512);
	add_cuda_memory(&log, 140, GPT_AGENT_TORCH_MEMORY_FREED, -512, 10000);
	add_cuda_memory(&log, 150, GPT_AGENT_TORCH_MEMORY_FREED, -1024, 8976); /* allocated before the trace */
	model = make_model(&log);
	assert_events(model, "120 512 of 10512 in aten::empty, 140 -512 of 10000 in aten::linear, "
			     "150 -1024 of 8976 in aten::linear");
	assert_int_equal(model->torch_memories[1].since_ns, 120);
	assert_int_equal(model->torch_memories[2].since_ns, 0);
	model_free(model);
}

static void what_makes_no_sense_is_counted(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_cuda_memory(&log, 120, GPT_AGENT_TORCH_MEMORY_ALLOCATED, INT64_MAX, 1);
	add_cuda_memory(&log, 120, GPT_AGENT_TORCH_MEMORY_ALLOCATED, -5, 1);
	add_cuda_memory(&log, 120, GPT_AGENT_TORCH_MEMORY_FREED, 5, 1);
	add_cuda_memory(&log, 120, 0, 5, 1);
	add_cuda_memory(&log, 100000, GPT_AGENT_TORCH_MEMORY_ALLOCATED, 5, 1); /* later than its batch */
	model = make_model(&log);
	assert_events(model, "");
	assert_int_equal(model_source(model)->receipt.bad_records, 5);
	model_free(model);
}

static void what_was_lost_is_in_the_receipt(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	log_agent_torch_memory_state(&log, 3, "libc10 is strange");
	model = make_model(&log);
	assert_int_equal(model_source(model)->receipt.torch_memory_lost, 3);
	assert_true(model->processes[0].torch_memory_reported);
	assert_string_equal(model->processes[0].torch_memory_detail, "libc10 is strange");
	model_free(model);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

/* table: its csv; NULL: the page. */
static char *table_of(const struct model *model, const char *table)
{
	const struct report_options options = {.format = table ? &table_format_csv : NULL, .table = table};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	return text;
}

static char *report_of(const struct model *model)
{
	return table_of(model, NULL);
}

static void assert_said(const char *text, const char *line)
{
	if (!strstr(text, line))
		print_error("%s", text);
	assert_non_null(strstr(text, line));
}

static void the_report_says_who_held_memory_at_the_peak_and_to_the_end(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	add_cpu_memory(&log, 120, 0x1000, 400000, 9);
	add_cpu_memory(&log, 140, 0x2000, 600000, 0); /* the peak */
	add_cpu_memory(&log, 150, 0x2000, 0, 0);
	add_cpu_memory(&log, 160, 0x3000, 500000, 0);
	model = make_model(&log);
	text = report_of(model);
	assert_said(text, "  CPU: 976.6 KiB at most, 130 ns after the start\n");
	assert_said(text, "  585.9 KiB  488.3 KiB       2  CPU     aten::linear  -\n");
	assert_said(text, "  390.6 KiB  390.6 KiB       1  CPU     aten::empty   train.py:7 leak\n");
	assert_null(strstr(text, "Out of memory"));
	free(text);
	model_free(model);
}

static void what_was_there_before_the_trace_is_said_of_a_peak(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	add_cuda_memory(&log, 120, GPT_AGENT_TORCH_MEMORY_ALLOCATED, 512000, 1024000);
	model = make_model(&log);
	text = report_of(model);
	assert_said(text, "  GPU 0: 1,000.0 KiB at most (500.0 KiB older than the trace), of 2.0 MiB reserved, "
			  "110 ns after the\n    start\n");
	free(text);
	model_free(model);
}

static void the_report_says_who_held_what_when_there_was_not_enough(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	add_cpu_memory(&log, 120, 0x1000, 400000, 9);
	for (uint64_t i = 0; i < 5; i++)
		log_agent_torch_memory(&log, (struct gpt_agent_torch_memory){.time_ns = 140 + i,
									     .bytes = 5000000000,
									     .tid = TID,
									     .kind = GPT_AGENT_TORCH_MEMORY_OUT,
									     .device_type = GPT_TORCH_CPU,
									     .device = -1});
	add_cpu_memory(&log, 150, 0x1000, 0, 0);
	model = make_model(&log);
	text = report_of(model);
	assert_said(text, "  CPU, 130 ns after the start: 4.7 GiB asked for; 390.6 KiB allocated, of 0 B reserved\n"
			  "  by a line that is not known in aten::linear\n");
	assert_said(text, "  390.6 KiB  aten::empty  train.py:7 leak\n");
	assert_said(text, "  ... and 2 more times\n");
	free(text);
	model_free(model);
}

static void every_table_for_programs_names_the_process(void **state)
{
	static const char *const tables[] = {"torch_memory_peaks", "torch_memory", "out_of_memory"};
	struct log_builder log;
	struct model *model;
	char process[32];

	begin_log(&log);
	add_cpu_memory(&log, 120, 0x1000, 400000, 9);
	add_cuda_memory(&log, 140, GPT_AGENT_TORCH_MEMORY_OUT, 5000000000, 0);
	model = make_model(&log);
	snprintf(process, sizeof(process), ",python3 %d\n", PID);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char *text = table_of(model, tables[i]);

		assert_said(text, ",process\n");
		assert_said(text, process);
		free(text);
	}
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_come_by_time_with_the_innermost_op),
		cmocka_unit_test(what_comes_back_to_the_cpu_is_as_large_as_it_was_handed_out),
		cmocka_unit_test(what_was_handed_out_before_the_trace_comes_back_unseen),
		cmocka_unit_test(the_sums_of_a_gpu_are_its_allocators),
		cmocka_unit_test(what_makes_no_sense_is_counted),
		cmocka_unit_test(what_was_lost_is_in_the_receipt),
		cmocka_unit_test(the_report_says_who_held_memory_at_the_peak_and_to_the_end),
		cmocka_unit_test(what_was_there_before_the_trace_is_said_of_a_peak),
		cmocka_unit_test(the_report_says_who_held_what_when_there_was_not_enough),
		cmocka_unit_test(every_table_for_programs_names_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
