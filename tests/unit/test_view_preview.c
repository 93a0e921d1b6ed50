/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What `view` shows of a long log before it has read it: its begin, by the index. */
#include "model_of.h"
#include "rank_log.h"

#include "input/gpt_slice.h"
#include "input/gpt_trace.h"
#include "view/view.h"

static int log_of_many_segments(void)
{
	struct log_builder log = {0};
	int fd;

	log_rank(&log, &(struct rank){.boot = "boot", .host = "node", .collectives = 2000});
	fd = log_fd(&log);
	log_free(&log);
	return fd;
}

static struct trace *open_trace(int fd, const struct log_restriction *wanted)
{
	struct trace *trace;
	const char *why;

	assert_int_equal(gpt_trace_open(fd, NULL, wanted, &trace, &why), 0);
	return trace;
}

/* To be freed. */
static char *answer(struct view *view, const char *path, const char *query)
{
	struct http_request request = {.path = path, .query = query};
	struct sink body;
	char *text;

	sink_open_memory(&body);
	assert_non_null(view_answer(view, &request, &body));
	sink_char(&body, '\0');
	text = strdup((const char *)body.buffer);
	sink_close(&body);
	return text;
}

static void assert_answer(struct view *view, const char *path, const char *query, const char *part, bool is_there)
{
	char *text = answer(view, path, query);

	if (!!strstr(text, part) != is_there)
		fail_msg("%s?%s: %s", path, query, text);
	free(text);
}

#define ALL "from=0&to=300000000000&width=100"
#define NO_ROWS "\"rows\":[]"

static void the_begin_of_a_log_is_known_by_its_index(void **state)
{
	struct gpt_span whole, begin, less;
	int fd = log_of_many_segments();

	(void)state;
	assert_true(gpt_find_span(fd, &whole));
	assert_true(gpt_find_begin(fd, 4096, &begin));
	assert_true(gpt_find_begin(fd, 1, &less));
	assert_int_equal(begin.start_ns, whole.start_ns);
	assert_true(begin.end_ns < whole.end_ns / 2);
	assert_true(less.end_ns > less.start_ns && less.end_ns < begin.end_ns);
	assert_false(gpt_find_begin(fd, 1 << 30, &begin));
	close(fd);
}

static void a_log_that_was_cut_has_no_begin_by_its_index(void **state)
{
	struct gpt_span begin;
	int fd = log_of_many_segments();

	(void)state;
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 100), 0);
	assert_false(gpt_find_begin(fd, 1, &begin));
	close(fd);
}

static void the_begin_is_shown_until_the_whole_is_as_far(void **state)
{
	const struct export_options options = {.process = -1};
	struct view *view = view_new("log");
	int fd = log_of_many_segments();
	struct log_restriction wanted;
	struct gpt_span whole, begin;
	struct trace *trace;

	(void)state;
	assert_true(gpt_find_span(fd, &whole) && gpt_find_begin(fd, 4096, &begin));
	zoom_expect(view_zoom(view), whole.start_ns, whole.end_ns);
	assert_answer(view, "tracks", "", "\"tracks\":[]", true);
	wanted = gpt_restrict_to_begin(&begin);
	trace = open_trace(fd, &wanted);
	assert_int_equal(view_preview(view, trace, begin.end_ns, &options), 0);
	gpt_trace_close(trace);
	assert_answer(view, "tracks", "", "\"done\":false", true);
	assert_answer(view, "tracks", "", "\"preview\":true", true);
	assert_answer(view, "slices", ALL "&preview=1", NO_ROWS, false);
	assert_answer(view, "slices", ALL, NO_ROWS, true);
	assert_answer(view, "find", "text=all&after=0&preview=1", "\"start\"", true);
	trace = open_trace(fd, NULL);
	assert_int_equal(view_read(view, trace, &options), 0);
	gpt_trace_close(trace);
	assert_answer(view, "tracks", "", "\"done\":true", true);
	assert_answer(view, "tracks", "", "preview", false);
	assert_answer(view, "slices", ALL, NO_ROWS, false);
	view_free(view);
	close(fd);
}

/* The function that is open all the time: in the preview as long as that is. */
static void leave_out_function(char *text)
{
	char *row = strstr(text, "[1,0,["), *end = row ? strchr(row, '\n') : NULL;

	assert_non_null(end);
	memmove(row, end, strlen(end) + 1);
}

static void a_preview_has_the_slices_of_the_whole(void **state)
{
	const struct export_options options = {.process = -1};
	struct view *view = view_new("log");
	int fd = log_of_many_segments();
	struct log_restriction wanted;
	struct gpt_span whole, begin;
	struct trace *trace;
	char query[128], *one, *other;

	(void)state;
	assert_true(gpt_find_span(fd, &whole) && gpt_find_begin(fd, 4096, &begin));
	zoom_expect(view_zoom(view), whole.start_ns, whole.end_ns);
	wanted = gpt_restrict_to_begin(&begin);
	trace = open_trace(fd, &wanted);
	assert_int_equal(view_preview(view, trace, begin.end_ns, &options), 0);
	gpt_trace_close(trace);
	trace = open_trace(fd, NULL);
	assert_int_equal(view_read(view, trace, &options), 0);
	gpt_trace_close(trace);
	/* work of the last calls may not be in it, as their segments are not */
	snprintf(query, sizeof(query), "from=0&to=%llu&width=4000",
		 (unsigned long long)((begin.end_ns - begin.start_ns) / 2));
	one = answer(view, "slices", query);
	strcat(query, "&preview=1");
	other = answer(view, "slices", query);
	leave_out_function(one);
	leave_out_function(other);
	assert_non_null(strstr(one, "ncclDevKernel_AllReduce"));
	assert_string_equal(one, other);
	free(one);
	free(other);
	view_free(view);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_begin_of_a_log_is_known_by_its_index),
		cmocka_unit_test(a_log_that_was_cut_has_no_begin_by_its_index),
		cmocka_unit_test(the_begin_is_shown_until_the_whole_is_as_far),
		cmocka_unit_test(a_preview_has_the_slices_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
