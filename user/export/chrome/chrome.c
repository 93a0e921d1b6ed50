/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A Chrome trace, from its head to its last event. */
#include "export/chrome/chrome.h"

#include "export/chrome/file.h"
#include "export/chrome/head.h"
#include "export/chrome/names.h"
#include "export/chrome/slices.h"
#include "model/trace.h"

int chrome_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct timeline *timeline = timeline_new(trace, options->process);
	struct chrome chrome = {.out = sink, .timeline = timeline};
	const struct timeline_visitor visitor = {
		.context = &chrome, .slice = chrome_put_slice, .memory = chrome_put_memory};
	int error;

	if (!timeline)
		return trace->error;
	chrome_numbers_make(&chrome.numbers, timeline);
	chrome_codes_begin(&chrome.codes);
	sink_open_memory(&chrome.text);
	chrome_put_head(&chrome);
	chrome_put_names(&chrome);
	chrome_put_step(&chrome);
	error = timeline_visit(timeline, &visitor);
	sink_literal(sink, "\n]}\n");
	chrome_stacks_free(&chrome.stacks);
	sink_close(&chrome.text);
	chrome_codes_free(&chrome.codes);
	chrome_numbers_free(&chrome.numbers);
	timeline_free(timeline);
	return error;
}
