/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page for Prometheus: counters that only grow, whatever GPUs come and go; each series once, under its type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/array.h"
#include "serve/metrics.h"

#define SECOND_NS 1000000000ull

static char *text_of(const struct metrics *metrics, void (*put)(const struct metrics *metrics, struct sink *page))
{
	struct sink page;
	char *text;

	sink_open_memory(&page);
	put(metrics, &page);
	sink_char(&page, '\0');
	text = xstrdup(page.buffer);
	sink_close(&page);
	return text;
}

/* The value of a series, as text; NULL: there is none. */
static const char *value_of(const char *page, const char *series)
{
	static char value[64];
	size_t length = strlen(series);

	for (const char *line = page; *line; line += strcspn(line, "\n") + 1)
		if (!strncmp(line, series, length) && line[length] == ' ') {
			snprintf(value, sizeof(value), "%.*s", (int)strcspn(line + length + 1, "\n"),
				 line + length + 1);
			return value;
		}
	return NULL;
}

#define ASSERT_VALUE(metrics, series, value)                                                                           \
	do {                                                                                                           \
		AUTO_FREE char *page_ = text_of(metrics, metrics_put);                                                 \
		const char *found_ = value_of(page_, series);                                                          \
                                                                                                                       \
		assert_non_null(found_);                                                                               \
		assert_string_equal(found_, value);                                                                    \
	} while (0)

static struct live_sums window(uint32_t gpu, uint64_t busy_ns, uint64_t data_ns)
{
	struct live_sums sums = {.span_ns = 10 * SECOND_NS, .gpu_count = 1};

	sums.gpus[0] = (struct live_gpu){.gpu = gpu, .busy_ns = busy_ns, .launches = 7};
	sums.gpus[0].idle_ns[WHY_DATA] = data_ns;
	return sums;
}

static void windows_add_up_and_what_has_no_cause_is_no_work(void **state)
{
	struct metrics metrics = {0};
	struct live_sums first = window(0, 6 * SECOND_NS, 3 * SECOND_NS + 1), second = window(0, 2 * SECOND_NS, 0);

	metrics_add_window(&metrics, &first);
	metrics_add_window(&metrics, &second);
	ASSERT_VALUE(&metrics, "gputrace_gpu_busy_seconds_total{gpu=\"0\"}", "8.000000000");
	ASSERT_VALUE(&metrics, "gputrace_gpu_idle_seconds_total{gpu=\"0\",cause=\"data\"}", "3.000000001");
	ASSERT_VALUE(&metrics, "gputrace_gpu_idle_seconds_total{gpu=\"0\",cause=\"no_work\"}", "8.999999999");
	ASSERT_VALUE(&metrics, "gputrace_gpu_launches_total{gpu=\"0\"}", "14");
	ASSERT_VALUE(&metrics, "gputrace_summed_seconds_total", "20.000000000");
}

static void a_gpu_without_work_in_a_window_is_idle_from_the_first_time_it_was_seen(void **state)
{
	struct metrics metrics = {0};
	struct live_sums none = {.span_ns = 10 * SECOND_NS}, first = window(3, 10 * SECOND_NS, 0),
			 other = window(1, SECOND_NS, 0);

	metrics_add_window(&metrics, &none);
	metrics_add_window(&metrics, &first);
	metrics_add_window(&metrics, &none);
	metrics_add_window(&metrics, &other);
	ASSERT_VALUE(&metrics, "gputrace_gpu_busy_seconds_total{gpu=\"3\"}", "10.000000000");
	ASSERT_VALUE(&metrics, "gputrace_gpu_idle_seconds_total{gpu=\"3\",cause=\"no_work\"}", "20.000000000");
	ASSERT_VALUE(&metrics, "gputrace_gpu_idle_seconds_total{gpu=\"1\",cause=\"no_work\"}", "9.000000000");
	ASSERT_VALUE(&metrics, "gputrace_summed_seconds_total", "40.000000000");
}

/* Each job sees its own GPU as number 0. */
static void a_gpu_keeps_its_number_whatever_processes_call_it(void **state)
{
	struct metrics metrics = {0};

	for (unsigned i = 0; i < 4; i++) {
		struct live_sums sums = window(0, (1 + i % 2) * SECOND_NS, 0);

		sums.gpus[0].uuid[15] = (uint8_t)(1 + i % 2);
		metrics_add_window(&metrics, &sums);
	}
	ASSERT_VALUE(&metrics, "gputrace_gpu_busy_seconds_total{gpu=\"0\"}", "2.000000000");
	ASSERT_VALUE(&metrics, "gputrace_gpu_busy_seconds_total{gpu=\"1\"}", "4.000000000");
	ASSERT_VALUE(&metrics, "gputrace_gpu_info{gpu=\"1\",uuid=\"GPU-00000000-0000-0000-0000-000000000002\"}", "1");
}

static void gpus_beyond_the_most_are_counted(void **state)
{
	struct metrics metrics = {0};

	for (uint32_t i = 0; i < LIVE_GPUS_MOST; i++) {
		struct live_sums sums = window(i, SECOND_NS, 0);

		metrics_add_window(&metrics, &sums);
	}
	ASSERT_VALUE(&metrics, "gputrace_gpus_left_out", "0");
	for (unsigned i = 0; i < 3; i++)
		metrics_add_window(&metrics,
				   &(struct live_sums){.span_ns = SECOND_NS, .gpu_count = 1, .gpus = {{.gpu = 99}}});
	ASSERT_VALUE(&metrics, "gputrace_gpus_left_out", "1");
}

static void what_agents_lose_never_falls(void **state)
{
	struct metrics metrics = {0};

	metrics_add_window(&metrics, &(struct live_sums){.cupti_dropped = 5});
	metrics_add_window(&metrics, &(struct live_sums){.cupti_dropped = 2});
	metrics_add_window(&metrics, &(struct live_sums){.cupti_dropped = UINT64_MAX}); /* a lie */
	metrics.totals.counters[GPT_COUNTER_CALLS_LOST] = 3;
	ASSERT_VALUE(&metrics, "gputrace_lost_total{cause=\"agent_gpu_records_dropped\"}", "5");
	ASSERT_VALUE(&metrics, "gputrace_lost_total{cause=\"calls_lost\"}", "3");
}

static void steps_are_a_summary_where_they_are_counted(void **state)
{
	struct metrics metrics = {0};
	AUTO_FREE char *page = text_of(&metrics, metrics_put);

	assert_null(strstr(page, "step"));
	metrics.totals.has_steps = true;
	ASSERT_VALUE(&metrics, "gputrace_step_duration_seconds_count", "0");
	metrics.totals.steps = 3;
	metrics.totals.steps_ns = 6 * SECOND_NS;
	metrics.totals.step_median_ns = SECOND_NS;
	metrics.totals.step_p99_ns = 4 * SECOND_NS;
	ASSERT_VALUE(&metrics, "gputrace_step_duration_seconds{quantile=\"0.5\"}", "1.000000000");
	ASSERT_VALUE(&metrics, "gputrace_step_duration_seconds{quantile=\"0.99\"}", "4.000000000");
	ASSERT_VALUE(&metrics, "gputrace_step_duration_seconds_sum", "6.000000000");
}

static size_t count_of(const char *page, const char *line, size_t length)
{
	size_t count = 0;

	for (const char *at = page; *at; at += strcspn(at, "\n") + 1)
		count += !strncmp(at, line, length) && (at[length] == ' ' || at[length] == '\n');
	return count;
}

static void each_series_is_there_once_after_its_help_and_type(void **state)
{
	struct metrics metrics = {.has_profiles = true, .totals = {.has_cost = true, .has_steps = true, .steps = 1}};
	struct live_sums sums = window(0, SECOND_NS, SECOND_NS);
	char name[128] = "";
	AUTO_FREE char *page;

	metrics_add_window(&metrics, &sums);
	page = text_of(&metrics, metrics_put);
	for (const char *line = page; *line; line += strcspn(line, "\n") + 1) {
		if (!strncmp(line, "# HELP ", 7)) {
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(line + 7, " "), line + 7);
			assert_int_equal(count_of(page, line, strcspn(line + 7, " ") + 7), 1);
		} else if (!strncmp(line, "# TYPE ", 7)) {
			assert_int_equal(strncmp(line + 7, name, strlen(name)), 0);
		} else {
			assert_int_equal(strncmp(line, name, strlen(name)), 0);
			assert_int_equal(count_of(page, line, strcspn(line, " ")), 1);
		}
	}
	assert_int_equal(page[strlen(page) - 1], '\n');
}

static void people_read_the_same_in_a_few_lines(void **state)
{
	struct metrics metrics = {.totals = {.recorded_ns = 90 * SECOND_NS, .calls = 51204}};
	struct live_sums sums = window(2, 5 * SECOND_NS, 0);
	char *lines = text_of(&metrics, metrics_put_status);

	assert_non_null(strstr(lines, "51,204 CUDA calls, 0 lost"));
	assert_non_null(strstr(lines, "no GPU work of a traced process so far"));
	free(lines);
	metrics_add_window(&metrics, &sums);
	lines = text_of(&metrics, metrics_put_status);
	assert_non_null(strstr(lines, "GPU 2: busy 50.0 % of the last 10.0 s, 7 launches so far\n"));
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_add_up_and_what_has_no_cause_is_no_work),
		cmocka_unit_test(a_gpu_without_work_in_a_window_is_idle_from_the_first_time_it_was_seen),
		cmocka_unit_test(a_gpu_keeps_its_number_whatever_processes_call_it),
		cmocka_unit_test(gpus_beyond_the_most_are_counted),
		cmocka_unit_test(what_agents_lose_never_falls),
		cmocka_unit_test(steps_are_a_summary_where_they_are_counted),
		cmocka_unit_test(each_series_is_there_once_after_its_help_and_type),
		cmocka_unit_test(people_read_the_same_in_a_few_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
