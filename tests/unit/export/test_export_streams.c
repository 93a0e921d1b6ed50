/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of contexts, streams and compilations, in the Chrome trace and in the model. */
#include "model_of.h"

#include "export/export.h"
#include "whole_trace.h"

#define HIGH (uint32_t) - 5

static void begin_log(struct log_builder *log)
{
	log_begin(log, 10, 0);
	log_process(log, PID, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(log, PID, TID, 900000);
	log_agent_name(log, 1, "gemm");
}

static void add_kernel(struct log_builder *log, uint32_t corr, uint32_t context, uint32_t stream, int32_t priority,
		       const uint32_t cluster[3])
{
	struct gpt_agent_kernel kernel = {.start_wall_ns = 1000 * corr,
					  .end_wall_ns = 1000 * corr + 500,
					  .corr = corr,
					  .context = context,
					  .stream = stream,
					  .name = 1,
					  .local_bytes_per_thread = corr == 1 ? 48 : 0,
					  .channel = 9,
					  .channel_type = 1,
					  .priority = priority};

	memcpy(kernel.cluster, cluster, sizeof(kernel.cluster));
	log_agent_kernel(log, kernel);
}

static const uint32_t no_cluster[3];

static char *chrome_of(const struct model *model)
{
	const struct export_format *format = export_formats;
	char *text = NULL;
	int fd = memfd_create("trace", 0);
	off_t size;

	while (strcmp(format->name, "json") != 0)
		format++;
	assert_int_equal(export_write(fd, format, WHOLE_TRACE(model), &(struct export_options){.process = -1}), 0);
	size = lseek(fd, 0, SEEK_END);
	text = calloc(1, (size_t)size + 1);
	assert_int_equal(pread(fd, text, (size_t)size, 0), size);
	close(fd);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text);
		fail_msg("no '%s'", part);
	}
}

static void a_stream_says_what_is_particular_about_it(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	log_agent_stream(&log, (struct gpt_agent_stream){.context = 1, .stream = 7, .flags = GPT_AGENT_STREAM_NULL});
	add_kernel(&log, 1, 1, 7, 0, no_cluster);
	add_kernel(&log, 2, 1, 13, 0, no_cluster);
	add_kernel(&log, 3, 1, 14, 0, no_cluster);
	log_agent_stream(&log, (struct gpt_agent_stream){.context = 1, .stream = 13, .priority = HIGH, .flags = 2});
	log_agent_stream(&log, (struct gpt_agent_stream){.context = 1, .stream = 14, .flags = 1});
	log_agent_stream(&log, (struct gpt_agent_stream){.context = 2, .stream = 13, .priority = 3}); /* another 13 */
	log_agent_stream(&log, (struct gpt_agent_stream){
				       .context = 3, .stream = 15, .priority = HIGH, .flags = GPT_AGENT_STREAM_NULL});
	add_kernel(&log, 4, 3, 15, 0, no_cluster);
	log_end(&log, 1000000);
	model = model_of(&log);
	text = chrome_of(model);
	assert_has(text, "\"name\":\"stream 7 (default)\"");
	assert_has(text, "\"name\":\"stream 13 (priority -5)\"");
	assert_has(text, "\"name\":\"stream 14\"");
	assert_has(text, "\"name\":\"stream 15 (default, priority -5)\"");
	free(text);
	model_free(model);
}

static void a_kernel_has_its_priority_cluster_and_channel(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	log_agent_stream(&log, (struct gpt_agent_stream){.context = 1, .stream = 7, .priority = HIGH});
	add_kernel(&log, 1, 1, 7, -2, (uint32_t[]){2, 4, 1}); /* the value that CUPTI reports */
	add_kernel(&log, 2, 1, 7, 0, no_cluster);
	add_kernel(&log, 3, 1, 7, INT32_MIN, (uint32_t[]){300, 0, 0});
	log_end(&log, 1000000);
	model = model_of(&log);
	text = chrome_of(model);
	assert_has(text,
		   "\"cluster\":[2,4,1],\"local memory per thread\":48,\"est. achieved occupancy %\":0,\"priority\":-2,"
		   "\"channel\":9,\"channel_type\":1,");
	assert_has(text, "\"block\":[0,0,0],\"est. achieved occupancy %\":0,\"priority\":-5,");
	assert_has(text, "\"cluster\":[255,0,0],"); /* no GPU has such a cluster: limited, not wrapped */
	assert_has(text, "\"priority\":-128,");
	free(text);
	model_free(model);
}

/* Its reader has first launches of kernels then, as the log's reader has. */
static void a_program_that_was_executed_in_the_trace_began_then(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	log_begin(&log, 10, 0);
	log_process_event(&log, GPT_EXEC, PID, 0, 2010, "python3");
	log_process(&log, PID, 1, 2020, 5, 0x30c, "python3", "", "", "");
	log_batch(&log, PID, TID, 900000);
	log_agent_name(&log, 1, "gemm");
	add_kernel(&log, 5, 1, 7, 0, no_cluster);
	log_end(&log, 1000000);
	model = model_of(&log);
	text = chrome_of(model);
	assert_has(text, "\"began_ns\": 2000,");
	free(text);
	model_free(model);
}

static void a_process_behind_an_mps_server_says_so(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin_log(&log);
	log_agent_context(&log, (struct gpt_agent_context){.context = 1, .compute_api = 1});
	log_batch(&log, PID + 1, PID + 1, 900000);
	log_agent_context(&log, (struct gpt_agent_context){.context = 1, .compute_api = GPT_AGENT_COMPUTE_API_MPS});
	log_end(&log, 1000000);
	model = model_of(&log);
	assert_false(model->processes[0].mps);
	assert_true(model->processes[1].mps);
	text = chrome_of(model);
	assert_has(text, "\"compute\": \"MPS\",");
	free(text);
	model_free(model);
}

static void add_jit(struct log_builder *log, uint32_t corr, uint32_t operation, uint64_t start_ns, uint64_t end_ns)
{
	log_agent_jit(log, (struct gpt_agent_jit){.start_wall_ns = start_ns,
						  .end_wall_ns = end_ns,
						  .corr = corr,
						  .operation = operation,
						  .entry = GPT_AGENT_JIT_PTX_TO_CUBIN,
						  .tid = TID});
}

static void a_compilation_meets_its_call_in_any_order(void **state)
{
	struct log_builder log;
	struct model *model;

	begin_log(&log);
	add_jit(&log, 2, GPT_AGENT_JIT_COMPILE, 600, 700);
	add_jit(&log, 9, GPT_AGENT_JIT_CACHE_LOAD, 500, 550); /* its call is not in the log */
	add_jit(&log, 2, 4, 700, 710);			      /* a kind newer than this reader */
	add_jit(&log, 2, GPT_AGENT_JIT_COMPILE, 0, 0);	      /* without times */
	add_jit(&log, 2, GPT_AGENT_JIT_COMPILE, 700, 600);
	log_launch(&log, PID, TID, 300, 0, 1);
	log_launch(&log, PID, TID, 200, 0, 2);
	log_end(&log, 1000000);
	model = model_of(&log);
	assert_int_equal(model->jit_count, 2);
	assert_int_equal(model->jits[0].call, NONE);
	assert_string_equal(jit_name(&model->jits[0]), "loaded from the cache");
	assert_int_equal(model->calls[model->jits[1].call].corr, 2);
	assert_int_equal(model->jits[1].end_ns, 700);
	assert_string_equal(jit_name(&model->jits[1]), "PTX compiled");
	assert_int_equal(model_source(model)->receipt.bad_records, 1);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_says_what_is_particular_about_it),
		cmocka_unit_test(a_kernel_has_its_priority_cluster_and_channel),
		cmocka_unit_test(a_program_that_was_executed_in_the_trace_began_then),
		cmocka_unit_test(a_process_behind_an_mps_server_says_so),
		cmocka_unit_test(a_compilation_meets_its_call_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
