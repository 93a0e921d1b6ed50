/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forward ops' lines on the slices of a backward pass, in the Chrome trace. */
#include "export/chrome/chrome.h"
#include "forward_log.h"
#include "whole_trace.h"

static char *trace_forward(struct forward_log *forward)
{
	const struct export_options options = {.process = -1};
	struct model *model = forward_log_end(forward);
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(chrome_write(&sink, WHOLE_TRACE(model), &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	sink_close(&sink);
	model_free(model);
	return text;
}

/* The line of the file with the event of this name. */
static char *event_line(const char *text, const char *name)
{
	char wanted[128], *at;
	size_t length;

	snprintf(wanted, sizeof(wanted), "\"name\":\"%s\"", name);
	at = strstr(text, wanted);
	if (!at)
		fail_msg("no %s in:\n%s", wanted, text);
	while (at > text && at[-1] != '\n')
		at--;
	length = strcspn(at, "\n");
	return strndup(at, length);
}

static void assert_line(const char *text, const char *name, const char *part, bool has)
{
	char *found = event_line(text, name);

	if (!strstr(found, part) == has)
		fail_msg("%s%s in: %s", has ? "no " : "", part, found);
	free(found);
}

static void backward_slices_have_the_line_of_their_forward_op(void **state)
{
	static const char line[] = "\"forward line\":\"/src/model.py(20): forward\"";
	struct forward_log forward = forward_log_begin();
	char *text;

	forward_log_layer(&forward, "aten::mm", 100, 110, 7, 20);
	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "MmBackward0", 200, 210, 7, FORWARD_THREAD);
	text = trace_forward(&forward);
	assert_line(text, "MmBackward0", line, true);
	assert_line(text, "cudaLaunchKernel", line, true);
	assert_line(text, "kernel", line, true);
	assert_line(text, "aten::mm", line, false);
	assert_line(text, "aten::mm", "\"Python line\":\"/src/model.py(20): forward\"", true);
	free(text);
}

static void slices_without_one_have_none(void **state)
{
	struct forward_log forward = forward_log_begin();
	char *text;

	forward_log_launch(&forward, 205, 1);
	forward_log_node(&forward, "MmBackward0", 200, 210, 7, FORWARD_THREAD);
	text = trace_forward(&forward);
	assert_null(strstr(text, "forward line"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backward_slices_have_the_line_of_their_forward_op),
		cmocka_unit_test(slices_without_one_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
