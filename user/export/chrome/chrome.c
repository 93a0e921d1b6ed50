/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a Chrome trace, from its head to its last event. */
#include "export/chrome/chrome.h"

#include "export/chrome/file.h"
#include "model/trace.h"

static void begin_part(void *context)
{
	struct chrome *chrome = context;

	chrome_numbers_add(&chrome->numbers, chrome->timeline);
}

static void put_rows(struct chrome *chrome)
{
	chrome_put_names(chrome);
	chrome_put_step(chrome);
}

/* With one part, gputrace's own object precedes the events; with several it follows them. */
static int put_all(struct chrome *chrome, struct timeline *timeline)
{
	const struct timeline_visitor visitor = {.context = chrome,
						 .part = begin_part,
						 .slice = chrome_put_slice,
						 .memory = chrome_put_memory,
						 .counter = chrome_put_counter};
	bool several_parts = timeline->more;
	int error;

	chrome_put_head(chrome);
	chrome_put_first_name(chrome);
	if (!several_parts)
		put_rows(chrome);
	error = timeline_visit(timeline, &visitor);
	if (several_parts)
		put_rows(chrome);
	chrome_put_tail(chrome, several_parts);
	return error;
}

int chrome_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct timeline *timeline = timeline_new(trace, options->process);
	struct chrome chrome = {.out = sink, .timeline = timeline, .place = options->place};
	int error;

	if (!timeline)
		return trace->error;
	chrome.start_ns = timeline->start_ns;
	if (options->place && options->place->is_aligned) {
		chrome.start_ns = options->place->start_ns;
		timeline_put_among(timeline, &(struct timeline_among){.clock = options->place->clock,
								      .splits = options->place->splits});
	}
	chrome_numbers_make(&chrome.numbers, timeline);
	chrome_codes_begin(&chrome.codes);
	sink_open_memory(&chrome.text);
	error = put_all(&chrome, timeline);
	chrome_stacks_free(&chrome.stacks);
	sink_close(&chrome.text);
	chrome_codes_free(&chrome.codes);
	chrome_numbers_free(&chrome.numbers);
	timeline_free(timeline);
	return error;
}
