/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters of GPUs in Chrome traces, and as rows of the page. */
#include <inttypes.h>

#include "counters_log.h"
#include "export/chrome/chrome.h"
#include "export/zoom/zoom.h"

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

/* ---- rows of the page: [track, depth, [start, length, label, slices, time, number, ...]] ------------------------- */

struct boxes {
	uint64_t start_ns[8], length_ns[8], number[8];
	size_t count;
};

static const char *next_number(const char *at, uint64_t *number)
{
	at += strcspn(at, "-0123456789");
	*number = strtoull(at, (char **)&at, 10);
	return at;
}

/* The boxes of the row with that label, without a resolution. */
static struct boxes boxes_of(struct zoom *zoom, const char *label, uint64_t to_ns)
{
	struct boxes boxes = {0};
	struct sink json;
	char *row, wanted[64];
	uint64_t track, ignored;

	sink_open_memory(&json);
	zoom_put_tracks(zoom, &json);
	sink_char(&json, '\0');
	snprintf(wanted, sizeof(wanted), ",\"%s\",", label);
	row = strstr(json.buffer, wanted);
	assert_non_null(row);
	while (*--row != '[')
		;
	next_number(row, &track);
	json.used = 0;
	zoom_put_answer(zoom, &(struct zoom_question){.from_ns = 0, .to_ns = to_ns}, &json);
	sink_char(&json, '\0');
	snprintf(wanted, sizeof(wanted), "\n[%" PRIu64 ",", track);
	row = strstr(json.buffer, wanted);
	assert_non_null(row);
	row = strchr(row + 2, '[') + 1;
	while (*row != ']' && boxes.count < 8) {
		size_t i = boxes.count++;

		row = (char *)next_number(row, &boxes.start_ns[i]);
		row = (char *)next_number(row, &boxes.length_ns[i]);
		for (int skipped = 0; skipped < 3; skipped++)
			row = (char *)next_number(row, &ignored);
		row = (char *)next_number(row, &boxes.number[i]);
	}
	sink_close(&json);
	return boxes;
}

static void a_value_is_a_box_until_it_changes_or_is_not_known(void **state)
{
	struct counters_log counters;
	struct zoom *zoom = zoom_new();
	struct boxes clock, power;

	begin_counters(&counters);
	kernel_of(&counters, 1, 150 * MS, 100 * US);
	clock_is(&counters, 100 * MS, GPU_MHZ, 0);
	clock_is(&counters, 200 * MS, GPU_MHZ, 0);
	clock_is(&counters, 300 * MS, 1200, GPT_CLOCK_POWER_CAP);
	clock_is(&counters, 400 * MS, 1200, GPT_CLOCK_POWER_CAP);
	clock_is(&counters, 5000 * MS, 1200, GPT_CLOCK_POWER_CAP); /* too late to say what was before */
	clock_is(&counters, 5100 * MS, GPU_MHZ, 0);
	end_counters(&counters, 5200 * MS);
	assert_int_equal(zoom_read(zoom, WHOLE_TRACE(counters.model), -1), 0);
	clock = boxes_of(zoom, "SM clock", 5200 * MS);
	assert_int_equal(clock.count, 3);
	assert_int_equal(clock.length_ns[0], 200 * MS);
	assert_int_equal(clock.number[0], GPU_MHZ);
	assert_int_equal(clock.start_ns[1] - clock.start_ns[0], 200 * MS);
	assert_int_equal(clock.length_ns[1], 100 * MS);
	assert_int_equal(clock.number[1], 1200);
	assert_int_equal(clock.start_ns[2] - clock.start_ns[0], 4900 * MS);
	assert_int_equal(clock.length_ns[2], 100 * MS);
	power = boxes_of(zoom, "power", 5200 * MS);
	assert_int_equal(power.count, 3);
	assert_int_equal(power.number[1], 698);
	zoom_free(zoom);
	free_counters(&counters);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_a_value_of_a_counter_of_its_gpu),
		cmocka_unit_test(what_nvml_does_not_say_is_no_value),
		cmocka_unit_test(a_value_is_a_box_until_it_changes_or_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
