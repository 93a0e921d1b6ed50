/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Invalid logs: each is read as far as it makes sense, or refused with the reason. */
#include "model_of.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

static int build_bytes(const void *bytes, size_t size, const char **why)
{
	struct log_builder log = {0};
	struct model *model = NULL;
	int fd, err;

	log_raw(&log, bytes, size);
	fd = log_fd(&log);
	err = model_build(fd, &model, why);
	assert_true(err ? model == NULL : model != NULL);
	model_free(model);
	close(fd);
	log_free(&log);
	return err;
}

static void an_empty_file_is_refused(void **state)
{
	const char *why;

	assert_int_equal(build_bytes("", 0, &why), -EPROTO);
	assert_string_equal(why, "it is empty");
}

static void a_file_of_something_else_is_refused(void **state)
{
	const char *why, text[] = "{\"traceEvents\": [], \"schemaVersion\": 1}";

	assert_int_equal(build_bytes(text, sizeof(text), &why), -EPROTO);
	assert_non_null(strstr(why, "it is neither a gputrace log nor a trace"));
	assert_int_equal(build_bytes(text, 7, &why), -EPROTO);
	assert_non_null(strstr(why, "it is neither a gputrace log nor a trace"));
}

static void a_descriptor_that_cannot_be_read_gives_its_error(void **state)
{
	struct model *model;
	const char *why = "not set";
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	assert_int_equal(model_build(fd, &model, &why), -EISDIR);
	assert_null(why);
	assert_null(model);
	close(fd);
	assert_int_equal(model_build(-1, &model, &why), -EBADF);
}

static void unknown_records_are_skipped(void **state)
{
	struct gpt_record unknown = {0};
	uint64_t payload[3] = {1, 2, 3};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_put(&log, 31, &unknown, sizeof(unknown), payload, sizeof(payload));
	log_put(&log, 63, &unknown, sizeof(unknown), payload, sizeof(payload));
	log_launch(&log, PID, TID, 100, 0, 1);
	log_batch(&log, PID, TID, 100);
	log_put(&log, 0xffff, &unknown, sizeof(unknown), payload, sizeof(payload));
	log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = 100, .end_wall_ns = 110, .corr = 1});
	log_end(&log, 200);
	model = model_of(&log);
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->gpu_count, 1);
	assert_int_equal(model_source(model)->receipt.bad_records, 0);
	model_free(model);
}

static void records_longer_than_known_are_read(void **state)
{
	struct {
		struct gpt_call call;
		uint64_t appended;
	} longer = {.call = {.time_ns = 100, .pid = PID, .tid = TID, .api = CUDA_LAUNCH, .corr = 4}, .appended = ~0ull};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_put(&log, GPT_CALL, &longer, sizeof(longer), NULL, 0);
	log_end(&log, 200);
	model = model_of(&log);
	assert_int_equal(model->call_count, 1);
	assert_int_equal(model->calls[0].corr, 4);
	model_free(model);
}

static void records_shorter_than_their_type_are_counted_as_bad(void **state)
{
	struct log_builder log;
	struct model *model;
	unsigned known = 0;

	log_begin(&log, 0, 0);
	for (uint16_t type = 1; type < 64; type++) {
		struct gpt_record bare = {0};

		log_put(&log, type, &bare, sizeof(bare), NULL, 0);
		known += (type <= GPT_CUPTI_USE && type != GPT_MAPPED) || type == GPT_STACK_AT || type == GPT_NCCL ||
			 type == GPT_SAMPLE || type == GPT_WAIT || type == GPT_AWAIT || type == GPT_GENERATED ||
			 type == GPT_PYTHON_SOURCE || type == GPT_MODULE ||
			 (type >= GPT_SESSION && type <= GPT_START) || (type >= GPT_COST && type <= GPT_DETAIL_CHANGE);
	}
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, known);
	assert_true(model_source(model)->receipt.truncated);
	model_free(model);
}

static void lengths_that_leave_their_record_are_bad(void **state)
{
	struct gpt_pystack stack = {.id = 1, .pid = PID, .depth = 2};
	struct gpt_native_stack native = {.id = 1, .pid = PID, .depth = 1};
	struct gpt_native_sym symbol = {.pid = PID, .bytes = 9};
	struct gpt_code code = {.pid = PID, .name_bytes = UINT32_MAX, .name_kind = 1};
	struct gpt_code_lines lines = {.pid = PID, .bytes = UINT32_MAX - 8};
	struct gpt_process process = {.pid = PID, .bytes = 1};
	struct gpt_text text = {.bytes = 0x80000000};
	struct gpt_session session = {.bytes = 9};
	struct gpt_agent_batch batch = {.pid = PID, .bytes = 9};
	struct gpt_end end = {.counters_count = 2};
	struct gpt_generated generated = {.pid = PID, .bytes = 9};
	struct gpt_python_source source = {.pid = PID, .bytes = 9};
	struct gpt_holders search = {.pid = PID, .state = GPT_HOLDERS_COMPLETE, .bytes = 9}, odd = {.pid = PID};
	struct gpt_holder holder = {.pid = PID, .bytes = 9}, many = {.pid = PID, .storages = 1};
	struct gpt_module module = {.pid = PID, .module = 1, .bytes = 9}, nowhere = {.pid = PID};
	struct gpt_pyframe frame = {.code = 1};
	struct log_builder log;
	struct model *model;
	uint64_t eight = 0;

	log_begin(&log, 0, 0);
	log_put(&log, GPT_PYSTACK, &stack, sizeof(stack), &frame, sizeof(frame));
	log_put(&log, GPT_NATIVE_STACK, &native, sizeof(native), NULL, 0);
	log_put(&log, GPT_NATIVE_SYM, &symbol, sizeof(symbol), &eight, 8);
	log_put(&log, GPT_CODE, &code, sizeof(code), &eight, 8);
	log_put(&log, GPT_CODE_LINES, &lines, sizeof(lines), &eight, 8);
	log_put(&log, GPT_PROCESS, &process, sizeof(process), NULL, 0);
	log_put(&log, GPT_NOTE, &text, sizeof(text), &eight, 8);
	log_put(&log, GPT_PROBES, &text, sizeof(text), &eight, 8);
	log_put(&log, GPT_SESSION, &session, sizeof(session), &eight, 8);
	log_put(&log, GPT_AGENT_BATCH, &batch, sizeof(batch), &eight, 8);
	log_put(&log, GPT_GENERATED, &generated, sizeof(generated), &eight, 8);
	log_put(&log, GPT_PYTHON_SOURCE, &source, sizeof(source), &eight, 8);
	log_put(&log, GPT_HOLDERS, &search, sizeof(search), &eight, 8);
	log_put(&log, GPT_HOLDERS, &odd, sizeof(odd), &eight, 8);
	log_put(&log, GPT_HOLDER, &holder, sizeof(holder), &eight, 8);
	log_put(&log, GPT_HOLDER, &many, sizeof(many), &eight, 8);
	log_put(&log, GPT_MODULE, &module, sizeof(module), &eight, 8);
	log_put(&log, GPT_MODULE, &nowhere, sizeof(nowhere), &eight, 8);
	log_put(&log, GPT_END, &end, sizeof(end), &eight, 8);
	model = model_of(&log);
	assert_int_equal(model->module_count, 0);
	assert_int_equal(model->generated_line_count + model->cell_line_count, 0);
	assert_int_equal(model->holder_search_count + model->holder_count + model->held_storage_count, 0);
	assert_int_equal(model_source(model)->receipt.bad_records, 19);
	assert_int_equal(model->stack_count + model->native_count + model->code_count + model->note_count, 0);
	model_free(model);
}

static void lengths_that_leave_their_record_inside_a_batch_are_bad(void **state)
{
	struct gpt_agent_hello hello = {.state = GPT_AGENT_READY, .bytes = 8};
	struct gpt_agent_name name = {.id = 1, .bytes = 1000};
	struct gpt_agent_device device = {.id = 0, .bytes = 9};
	struct gpt_record torn = {.size = 64};
	struct log_builder log;
	struct model *model;

	log_begin(&log, 0, 0);
	log_batch(&log, PID, TID, 10);
	log_put(&log, GPT_AGENT_HELLO, &hello, sizeof(hello), NULL, 0);
	log_put(&log, GPT_AGENT_NAME, &name, sizeof(name), "x", 1);
	log_put(&log, GPT_AGENT_DEVICE, &device, sizeof(device), "x", 1);
	log_raw(&log, &torn, sizeof(torn));
	log_end(&log, 20);
	model = model_of(&log);
	assert_int_equal(model_source(model)->receipt.bad_records, 4);
	assert_int_equal(model->device_count, 0);
	assert_int_equal(model->processes[0].agent_state, 0);
	assert_false(model_source(model)->receipt.truncated);
	model_free(model);
}

/* Truncated at any byte, a log loses nothing of its whole segments, and the report says that it is truncated. */
static void a_log_truncated_anywhere_is_read_up_to_its_last_whole_segment(void **state)
{
	struct log_builder log;
	uint32_t calls_before = 0;
	const char *why;
	off_t size;
	int fd;

	log_begin(&log, 77, 0);
	for (unsigned i = 0; i < 100; i++)
		log_launch(&log, PID, TID, 100 + i, 0, i + 1);
	log_end(&log, 1000);
	fd = log_fd(&log);
	size = lseek(fd, 0, SEEK_END);
	for (off_t end = size; end >= 0; end--) {
		struct model *model;
		bool whole;

		assert_int_equal(ftruncate(fd, end), 0);
		if (model_build(fd, &model, &why)) {
			assert_null(model);
			continue;
		}
		assert_true(end == size || model->call_count <= calls_before);
		calls_before = model->call_count;
		whole = model_source(model)->receipt.end_reason == GPT_END_DURATION;
		assert_int_equal(model->start_ns, 77);
		assert_int_equal(model->call_count == 100 || !whole, true);
		assert_int_equal(model->end_ns, whole ? 1000 : model->call_count ? 99 + model->call_count : 77);
		if (!whole)
			assert_true(model_source(model)->receipt.truncated);
		model_free(model);
	}
	assert_int_equal(calls_before, 0);
	close(fd);
	log_free(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_is_refused),
		cmocka_unit_test(a_file_of_something_else_is_refused),
		cmocka_unit_test(a_descriptor_that_cannot_be_read_gives_its_error),
		cmocka_unit_test(a_log_truncated_anywhere_is_read_up_to_its_last_whole_segment),
		cmocka_unit_test(unknown_records_are_skipped),
		cmocka_unit_test(records_longer_than_known_are_read),
		cmocka_unit_test(records_shorter_than_their_type_are_counted_as_bad),
		cmocka_unit_test(lengths_that_leave_their_record_are_bad),
		cmocka_unit_test(lengths_that_leave_their_record_inside_a_batch_are_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
