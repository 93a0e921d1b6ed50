/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a page says of gaps in which nothing was sampled. */
#include "gap_log.h"
#include "export/page/page.h"

#define GAPS 30u
#define SAMPLED 20u /* the first of them */

static char *page_of(const struct model *model)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(page_write(&sink, WHOLE_TRACE(model), &options), 0);
	sink_char(&sink, '\0');
	text = strdup(sink.buffer);
	sink_close(&sink);
	return text;
}

static void time_that_gaps_like_it_divide_says_so(void **state)
{
	struct log_builder log;
	struct model *model;
	char *page;

	(void)state;
	begin(&log);
	for (uint64_t i = 0; i <= GAPS; i++) {
		uint64_t at = (i + 1) * PERIOD;

		if (i && i <= SAMPLED)
			sample(&log, PID, TID, at - 5 * MS, TRAIN);
		if (i == 1) /* waits are known */
			log_wait(&log, waits(GPT_WAIT_SLEEP, WAITS, at - 3 * MS, at - 2 * MS));
		kernel(&log, (uint32_t)i + 1, at - 20 * US, at, at + MS);
	}
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	page = page_of(model);
	assert_non_null(strstr(page, "no sample in this gap; by the samples of gaps like it: 100.0 % "));
	assert_non_null(strstr(page, "\u2248 " LINE_TRAIN));
	free(page);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_that_gaps_like_it_divide_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
