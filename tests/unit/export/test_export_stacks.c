/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Call stacks of the Chrome trace, of which the stacks met last are kept as text; stacks of all formats. */
#include <errno.h>

#include "model_of.h"

#include "chrome_lines.h"
#include "export/chrome/stacks.h"
#include "export/export.h"
#include "sample_model.h"
#include "whole_trace.h"

#define FUNCTIONS (CHROME_STACKS + 8)
#define CODE(i) (0x1000 + 16ull * (i))

/* Launches from these functions; a stack has the number of its function. */
static char *text_of_launches(const uint32_t *functions, uint32_t count)
{
	struct log_builder log;
	struct model *model;
	char name[32], *text;

	log_begin(&log, 0, 0);
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "f%u", i);
		log_function(&log, PID, CODE(i), name, "/src/train.py", 10);
		log_stack(&log, PID, i + 1, 1, (struct gpt_pyframe[]){{.code = CODE(i), .lasti = 4}});
	}
	for (uint32_t i = 0; i < count; i++)
		log_launch(&log, PID, PID, 1000 * (i + 1), functions[i] + 1, i + 1);
	log_end(&log, 1000000);
	model = model_of(&log);
	text = chrome_text_of(WHOLE_TRACE(model), -1);
	model_free(model);
	return text;
}

static void assert_functions(const char *text, const uint32_t *functions, uint32_t count)
{
	const char *at = text;
	char end[32];

	for (uint32_t i = 0; i < count; i++) {
		at = strstr(at, "\"Call stack\":\"");
		assert_non_null(at);
		at += strlen("\"Call stack\":\"");
		snprintf(end, sizeof(end), "): f%u\"", functions[i]);
		assert_ptr_equal(strchr(at, '"'), strstr(at, end) + strlen(end) - 1);
	}
}

static void a_call_has_its_own_stack_also_where_another_had_the_place(void **state)
{
	const uint32_t functions[] = {0, 0, CHROME_STACKS, 0, 3, CHROME_STACKS + 3, CHROME_STACKS + 3, 3, 4};
	char *text = text_of_launches(functions, sizeof(functions) / sizeof(functions[0]));

	assert_functions(text, functions, sizeof(functions) / sizeof(functions[0]));
	free(text);
}

/* The text of this stack is longer than what is kept. */
static void a_stack_too_long_to_be_kept_is_written_each_time(void **state)
{
	static char path[400];
	struct gpt_pyframe frames[100];
	struct log_builder log;
	struct model *model;
	char *text, *first, *second;
	size_t length;

	memset(path, 'p', sizeof(path) - 1);
	for (uint32_t i = 0; i < 100; i++)
		frames[i] = (struct gpt_pyframe){.code = CODE(0), .lasti = 4};
	log_begin(&log, 0, 0);
	log_function(&log, PID, CODE(0), "recurse", path, 10);
	log_stack(&log, PID, 1, 100, frames);
	log_launch(&log, PID, PID, 1000, 1, 1);
	log_launch(&log, PID, PID, 2000, 1, 2);
	log_end(&log, 1000000);
	model = model_of(&log);
	text = chrome_text_of(WHOLE_TRACE(model), -1);
	first = strstr(text, "\"Call stack\":\"");
	assert_non_null(first);
	second = strstr(first + 1, "\"Call stack\":\"");
	assert_non_null(second);
	length = (size_t)(strchr(first + strlen("\"Call stack\":\""), '"') - first);
	assert_true(length > CHROME_STACK_TEXT_MAX);
	assert_memory_equal(first, second, length + 1);
	free(text);
	model_free(model);
}

/* Returns how many bytes the format writes. */
static off_t size_in_format(const struct export_format *format, const struct model *model)
{
	char path[] = "/tmp/export-XXXXXX";
	int fd = mkstemp(path), error;
	off_t size;

	assert_true(fd >= 0);
	error = export_write(fd, format, WHOLE_TRACE(model), &(struct export_options){.process = -1});
	assert_true(error == 0 || (error == -ENODATA && format->no_data));
	size = lseek(fd, 0, SEEK_END);
	close(fd);
	unlink(path);
	return error ? 1 : size;
}

/* The frames left out are drawn as a slice without a function, and stand among the frames of each stack. */
static void every_format_has_room_for_frames_left_out(void **state)
{
	const uint32_t missing[] = {1, 872, MODEL_MISSING_UNKNOWN};
	struct model *model = sample_model(2, 3);

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		for (uint32_t gap = 1; gap <= 3; gap++) {
			for (uint32_t stack = 0; stack < model->stack_count; stack++) {
				model->stacks[stack].missing = missing[i];
				model->stacks[stack].gap =
					gap < model->stacks[stack].depth ? gap : model->stacks[stack].depth;
			}
			for (const struct export_format *format = export_formats; format->name; format++)
				assert_true(size_in_format(format, model) > 0);
		}
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_its_own_stack_also_where_another_had_the_place),
		cmocka_unit_test(a_stack_too_long_to_be_kept_is_written_each_time),
		cmocka_unit_test(every_format_has_room_for_frames_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
