/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Folded stacks of ops by their own time. */
#include <errno.h>

#include <unistd.h>

#include "analyzed.h"
#include "ops_log.h"

#include "export/folded/folded.h"

static void add_stack(struct ops_log *ops, uint64_t id, const char *function, const char *file)
{
	log_function(&ops->log, PID, id, "main loop", "/src/train.py", 10);
	log_function(&ops->log, PID, id + 1, function, file, 20);
	log_stack(&ops->log, PID, id, 2,
		  (struct gpt_pyframe[]){{.code = id + 1, .lasti = 6}, {.code = id, .lasti = 6}});
}

/*
 * aten::mm at 500..530 us with a launch at 510 us (2 us; 40 us on the GPU) from forward(), and two aten::linear with
 * one launch each from step;one().
 */
static int log_of_stacks(void)
{
	struct ops_log ops = ops_log_begin();
	int fd;

	add_stack(&ops, 0xc0de10, "forward", "/src/model.py");
	add_stack(&ops, 0xc0de20, "step;one", "/src/opt.py");
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t time_us = 500 + 100 * i, gpu_us = i ? 7 : 40;

		log_launch(&ops.log, PID, TID, (time_us + 10) * 1000, i ? 0xc0de20 : 0xc0de10, ++ops.corr);
		log_batch(&ops.log, PID, TID, 900000);
		log_agent_api(&ops.log, (struct gpt_agent_api){.end_ns = (time_us + 12) * 1000,
							       .corr = ops.corr,
							       .tid = TID,
							       .api = CUDA_LAUNCH});
		log_agent_kernel(&ops.log, (struct gpt_agent_kernel){.start_wall_ns = (time_us + 20) * 1000,
								     .end_wall_ns = (time_us + 20 + gpu_us) * 1000,
								     .corr = ops.corr,
								     .name = 1});
		ops_log_op(&ops,
			   (struct gpt_agent_op){
				   .start_ns = time_us, .end_ns = time_us + 30, .name = i ? 2 : 5, .sequence = -1});
	}
	log_end(&ops.log, 1000000);
	fd = log_fd(&ops.log);
	log_free(&ops.log);
	return fd;
}

static char *folded_of(int fd, const struct trace_division *division, enum folded_by by)
{
	const struct export_options options = {.process = -1, .folded_by = by};
	struct trace *trace;
	struct sink sink;
	const char *why;
	char *text;

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, division, NULL, &trace, &why), 0);
	sink_open_memory(&sink);
	assert_int_equal(folded_write(&sink, trace, &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	assert_int_equal(sink_close(&sink), 0);
	gpt_trace_close(trace);
	return text;
}

static const struct trace_division whole = {.whole_bytes = UINT64_MAX}, parts = {.chunk_records = 1, .part_events = 1};

static void stacks_of_ops_have_their_own_time_on_the_cpu(void **state)
{
	int fd = log_of_stacks();
	char *text = folded_of(fd, &whole, FOLDED_BY_SELF_CPU);

	assert_string_equal(text, "/src/train.py(13):_main_loop;/src/model.py(23):_forward 28\n"
				  "/src/train.py(13):_main_loop;/src/opt.py(23):_step_one 56\n");
	free(text);
	close(fd);
}

static void a_log_without_stacks_of_ops_is_said_to_have_none(void **state)
{
	const struct export_options options = {.process = -1, .folded_by = FOLDED_BY_SELF_CPU};
	struct log_builder log;
	struct trace *trace;
	struct sink sink;
	const char *why;
	int fd;

	log_begin(&log, 10, 0);
	log_launch(&log, PID, TID, 100, 0, 1);
	log_end(&log, 1000);
	fd = log_fd(&log);
	log_free(&log);
	assert_int_equal(gpt_trace_open(fd, &whole, NULL, &trace, &why), 0);
	sink_open_memory(&sink);
	assert_int_equal(folded_write(&sink, trace, &options), -ENODATA);
	sink_close(&sink);
	gpt_trace_close(trace);
	close(fd);
}

static void stacks_of_ops_have_their_own_time_on_the_gpu(void **state)
{
	int fd = log_of_stacks();
	char *text = folded_of(fd, &whole, FOLDED_BY_SELF_CUDA);

	assert_string_equal(text, "/src/train.py(13):_main_loop;/src/model.py(23):_forward 40\n"
				  "/src/train.py(13):_main_loop;/src/opt.py(23):_step_one 14\n");
	free(text);
	close(fd);
}

static void a_log_that_is_read_in_parts_has_the_stacks_of_the_whole(void **state)
{
	int fd = log_of_stacks();

	for (enum folded_by by = FOLDED_BY_SELF_CPU; by <= FOLDED_BY_SELF_CUDA; by++) {
		char *one = folded_of(fd, &whole, by), *many = folded_of(fd, &parts, by);

		assert_string_equal(many, one);
		free(one);
		free(many);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_ops_have_their_own_time_on_the_cpu),
		cmocka_unit_test(stacks_of_ops_have_their_own_time_on_the_gpu),
		cmocka_unit_test(a_log_without_stacks_of_ops_is_said_to_have_none),
		cmocka_unit_test(a_log_that_is_read_in_parts_has_the_stacks_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
