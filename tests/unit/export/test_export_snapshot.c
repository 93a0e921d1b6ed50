/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Snapshots of PyTorch's memory, as far as they can be checked without PyTorch; tests/e2e has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "export/file/sink.h"
#include "export/snapshot.h"
#include "memory_log.h"
#include "whole_trace.h"

#define OTHER_PID (PID + 1)

static struct sink snapshot_of(const struct model *model, int process, int wanted)
{
	const struct export_options options = {.process = process};
	struct sink sink;

	sink_open_memory(&sink);
	assert_int_equal(snapshot_write(&sink, WHOLE_TRACE(model), &options), wanted);
	return sink;
}

/* How often these bytes are in the file. */
static unsigned count_of(const struct sink *sink, const void *bytes, size_t size)
{
	unsigned count = 0;

	for (size_t i = 0; i + size <= sink->used; i++)
		count += !memcmp(sink->buffer + i, bytes, size);
	return count;
}

/* How often this is the last value of a dictionary in a list: BININT, SETITEMS, APPEND. */
static unsigned count_of_last(const struct sink *sink, uint32_t value)
{
	const uint8_t bytes[] = {
		'J', (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16), (uint8_t)(value >> 24), 'u', 'a'};

	return count_of(sink, bytes, sizeof(bytes));
}

static void log_program(struct log_builder *log, uint32_t pid)
{
	log_process(log, pid, 1, 20, 15, 0x30c, "python3", "", "", "");
	log_batch(log, pid, pid, 900000);
	log_agent_torch_memory_state(log, 0, "");
	log_memory(log, 3000, 0x1000, 1000000, GPT_TORCH_CUDA);
}

static struct model *two_programs(void)
{
	struct log_builder log;

	log_begin(&log, 1000, 0);
	log_program(&log, PID);
	log_program(&log, OTHER_PID);
	log_end(&log, 1000000);
	return model_of(&log);
}

static void the_same_gpu_and_address_in_two_processes_are_two_blocks(void **state)
{
	struct model *model = two_programs();
	struct sink sink = snapshot_of(model, -1, 0);

	assert_int_equal(count_of_last(&sink, PID), 1);
	assert_int_equal(count_of_last(&sink, OTHER_PID), 1);
	assert_int_equal(count_of_last(&sink, 1000000), 2); /* segments of that size */
	sink_close(&sink);
	model_free(model);
}

static void a_snapshot_of_one_process_has_its_memory_only(void **state)
{
	struct model *model = two_programs();
	struct sink sink = snapshot_of(model, 1, 0);

	assert_int_equal(count_of_last(&sink, PID), 0);
	assert_int_equal(count_of_last(&sink, OTHER_PID), 1);
	assert_int_equal(count_of_last(&sink, 1000000), 1);
	sink_close(&sink);
	model_free(model);
}

static void a_trace_without_memory_of_a_gpu_has_no_snapshot(void **state)
{
	struct log_builder log;
	struct model *model;
	struct sink sink;

	log_begin(&log, 1000, 0);
	log_end(&log, 1000000);
	model = model_of(&log);
	sink = snapshot_of(model, -1, -ENODATA);
	sink_close(&sink);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_gpu_and_address_in_two_processes_are_two_blocks),
		cmocka_unit_test(a_snapshot_of_one_process_has_its_memory_only),
		cmocka_unit_test(a_trace_without_memory_of_a_gpu_has_no_snapshot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
