/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A Chrome trace, part after part. */
#include "export/chrome/chrome.h"

#include "export/chrome/file.h"
#include "export/chrome/head.h"
#include "export/chrome/names.h"
#include "export/chrome/slices.h"

int chrome_write(struct sink *sink, const struct model *model, const struct export_options *options)
{
	struct timeline *timeline = timeline_new(model, options->process);
	struct chrome chrome = {.out = sink, .timeline = timeline};
	const struct timeline_visitor visitor = {
		.context = &chrome, .slice = chrome_put_slice, .memory = chrome_put_memory};

	chrome_numbers_make(&chrome.numbers, timeline);
	chrome_codes_make(&chrome.codes, timeline);
	chrome_put_head(&chrome);
	chrome_put_names(&chrome);
	chrome_put_step(&chrome);
	timeline_visit(timeline, &visitor);
	sink_literal(sink, "\n]}\n");
	chrome_codes_free(&chrome.codes);
	chrome_numbers_free(&chrome.numbers);
	timeline_free(timeline);
	return 0;
}
