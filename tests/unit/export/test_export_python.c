/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exact Python calls on the timeline, and what the report says about the interpreter. */
#include "model_of.h"

#include "export/chrome/chrome.h"
#include "export/export.h"
#include "python_log.h"
#include "report/report.h"
#include "test_export_log.h"
#include "whole_trace.h"

static char *chrome_text(const struct model *model)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(chrome_write(&sink, WHOLE_TRACE(model), &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	assert_int_equal(sink_close(&sink), 0);
	return text;
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part)) {
		print_error("%s\n", text);
		fail_msg("no '%s' in the text above", part);
	}
}

/* `main` runs already; it calls `step` twice, and each time `forward` launches; the first launch has lost its stack. */
static struct model *traced_calls(void)
{
	struct log_builder log;

	python_log_begin(&log);
	for (uint64_t i = 1; i <= 2; i++) {
		python_log_call(&log, 10 * i, 0x9000, STEP);
		python_log_call(&log, 10 * i + 2, 0x8000, FORWARD);
		log_launch(&log, PID, PID, (10 * i + 3) * MS, i - 1, (uint32_t)(2 * i - 1));
		log_launch(&log, PID, PID, (10 * i + 4) * MS, 1, (uint32_t)(2 * i));
		python_log_call(&log, 10 * i + 6, 0x8000, 0);
		python_log_call(&log, 10 * i + 8, 0x9000, 0);
	}
	python_log_call(&log, 40, 0x9000, STEP);
	log_end(&log, 50 * MS);
	return model_of(&log);
}

static void a_traced_call_is_a_slice_from_entry_to_end(void **state)
{
	struct model *model = traced_calls();
	char *text = chrome_text(model);

	assert_has(text, "\"name\":\"/src/train.py(20): step\",\"pid\":41230,\"tid\":41230,\"ts\":10000.000,"
			 "\"dur\":8000.000,\"args\":{\"Python id\":2,\"from\":\"calls\"}}");
	assert_has(text, "\"name\":\"/src/model.py(40): forward\",\"pid\":41230,\"tid\":41230,\"ts\":12000.000,"
			 "\"dur\":4000.000,\"args\":{\"Python parent id\":2,\"Python id\":3,\"from\":\"calls\"}}");
	free(text);
	model_free(model);
}

static void a_call_that_goes_on_says_that_its_end_was_not_seen(void **state)
{
	struct model *model = traced_calls();
	char *text = chrome_text(model);

	assert_has(text, "\"ts\":40000.000,\"dur\":10000.000,\"args\":{\"Python id\":6,\"from\":\"calls\","
			 "\"end\":\"not seen\"}}");
	free(text);
	model_free(model);
}

/* It is drawn from the first traced call around a launch to the last, so that it holds them. */
static void what_ran_before_the_trace_is_drawn_around_the_traced_calls(void **state)
{
	struct model *model = traced_calls();
	char *text = chrome_text(model);

	assert_has(text, "\"name\":\"/src/train.py(90): main\",\"pid\":41230,\"tid\":41230,\"ts\":10000.000,"
			 "\"dur\":18000.000,\"args\":{\"Python id\":1,\"from\":\"snapshots\"}}");
	free(text);
	model_free(model);
}

static void stacks_that_contradict_the_calls_draw_nothing(void **state)
{
	struct model *model = traced_calls();
	char *text;

	model->stack_frames[model->stacks[0].first] = model->stack_frames[model->stacks[0].first + 1];
	text = chrome_text(model);
	assert_null(strstr(text, "snapshots"));
	free(text);
	model_free(model);
}

static char *report_text_of(const struct model *model)
{
	const struct report_options options = {.width = 100};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(report_write(out, WHOLE_TRACE(model), &options), 0);
	fclose(out);
	return text;
}

static void the_report_sums_up_collections_and_imports(void **state)
{
	struct model *model;
	const char *why;
	int fd = sample_log(1, 20);
	char *text;

	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	text = report_text_of(model);
	assert_has(text, "Python itself");
	/* 20 collections of 40 us each, all while the GPU idles; what `model` imports counts with it */
	assert_has(text, "  800.0     20     40.0     800.0  collection, generation 1\n");
	assert_has(text, "  500.0      1    500.0     500.0  import model\n");
	assert_null(strstr(text, "import layers"));
	free(text);
	model_free(model);
}

static void gpu_work_during_a_collection_is_no_idle_time(void **state)
{
	struct model *model;
	const char *why;
	int fd = sample_log(1, 1);
	char *text;

	assert_int_equal(model_build(fd, &model, &why), 0);
	close(fd);
	for (uint32_t i = 0; i < model->pyspan_count; i++)
		if (model->pyspans[i].kind == MODEL_SPAN_GC)
			/* for 20 us it overlaps the first kernel, which ends 120 us into the step */
			model->pyspans[i].start_ns = SAMPLE_START + 1100000,
			model->pyspans[i].end_ns = SAMPLE_START + 1100000 + 40000;
	for (uint32_t i = 0; i < model->gpu_count; i++)
		if (model->gpu[i].kind == MODEL_MEMCPY)
			model->gpu[i].start_ns = model->gpu[i].end_ns = 0; /* untimed: leaves the rest idle */
	text = report_text_of(model);
	assert_has(text, "   40.0      1     40.0      20.0  collection, generation 1\n");
	free(text);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_traced_call_is_a_slice_from_entry_to_end),
		cmocka_unit_test(a_call_that_goes_on_says_that_its_end_was_not_seen),
		cmocka_unit_test(what_ran_before_the_trace_is_drawn_around_the_traced_calls),
		cmocka_unit_test(stacks_that_contradict_the_calls_draw_nothing),
		cmocka_unit_test(the_report_sums_up_collections_and_imports),
		cmocka_unit_test(gpu_work_during_a_collection_is_no_idle_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
