/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of GPUs in Chrome traces. */
#include "counters_log.h"
#include "export/chrome/chrome.h"

static char *chrome_of(const struct counters_log *counters)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(chrome_write(&sink, WHOLE_TRACE(counters->model), &options), 0);
	sink_char(&sink, '\0');
	text = xstrdup(sink.buffer);
	sink_close(&sink);
	return text;
}

static unsigned count_of(const char *text, const char *wanted)
{
	unsigned count = 0;

	for (; (text = strstr(text, wanted)); text++)
		count++;
	return count;
}

static void each_sample_is_a_value_of_a_counter_of_its_gpu(void **state)
{
	struct counters_log counters;
	char *text;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clock_is(&counters, 101 * MS, GPU_MHZ, 0);
	clock_is(&counters, 201 * MS, 1200, GPT_CLOCK_POWER_CAP);
	end_counters(&counters, 1200 * MS);
	text = chrome_of(&counters);
	assert_non_null(strstr(
		text,
		"{\"ph\":\"C\",\"name\":\"SM clock\",\"pid\":0,\"tid\":0,\"ts\":100999.000,\"args\":{\"MHz\":1980}}"));
	assert_non_null(strstr(
		text,
		"{\"ph\":\"C\",\"name\":\"SM clock\",\"pid\":0,\"tid\":0,\"ts\":200999.000,\"args\":{\"MHz\":1200}}"));
	assert_non_null(
		strstr(text, "\"name\":\"power\",\"pid\":0,\"tid\":0,\"ts\":200999.000,\"args\":{\"W\":698.4}}"));
	assert_int_equal(count_of(text, "\"ph\":\"C\""), 6);
	free(text);
	free_counters(&counters);
}

static void what_nvml_does_not_say_is_no_value(void **state)
{
	struct counters_log counters;
	char *text;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clock_is(&counters, 101 * MS, UINT32_MAX, 0);
	end_counters(&counters, 1200 * MS);
	text = chrome_of(&counters);
	assert_int_equal(count_of(text, "\"SM clock\""), 0);
	assert_int_equal(count_of(text, "\"temperature\""), 0);
	assert_int_equal(count_of(text, "\"memory clock\""), 1);
	free(text);
	free_counters(&counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_a_value_of_a_counter_of_its_gpu),
		cmocka_unit_test(what_nvml_does_not_say_is_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
