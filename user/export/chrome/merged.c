/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/chrome.h"

#include "export/chrome/file.h"

/* State that is carried from one trace to the next. */
struct merging {
	struct sink *sink;
	const struct merge *merge;
	struct chrome_used_ids used;
	uint64_t next_number;
	struct sink receipts; /* of all traces, for the end of the file */
};

static void put_head(struct merging *merging)
{
	struct sink *out = merging->sink;

	sink_literal(out, "{\"schemaVersion\": 1,\n\"deviceProperties\": [],\n\"with_stack\": 1, "
			  "\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": ");
	sink_i64(out, (int64_t)(merging->merge->start_ns + (uint64_t)merging->merge->wall_offset_ns));
	sink_literal(out, ",\n\"traceEvents\": [\n");
}

static void put_tail(struct merging *merging)
{
	struct sink *out = merging->sink;

	sink_literal(out, "\n],\n\"gputrace\": {\"merged\": ");
	sink_put(out, merging->merge->about, strlen(merging->merge->about));
	sink_literal(out, ",\n\"logs\": [");
	sink_put(out, merging->receipts.buffer, merging->receipts.used);
	sink_literal(out, "]}}\n");
}

static void begin_part(void *context)
{
	struct chrome *chrome = context;

	chrome_numbers_add(&chrome->numbers, chrome->timeline);
}

static uint32_t devices_of(const struct model *model)
{
	uint32_t count = 1;

	for (uint32_t i = 0; i < model->device_count; i++)
		if (model->devices[i].id < 1000 && model->devices[i].id >= count)
			count = model->devices[i].id + 1;
	return count;
}

static int put_events(struct merging *merging, struct chrome *chrome, struct timeline *timeline)
{
	const struct timeline_visitor visitor = {.context = chrome,
						 .part = begin_part,
						 .slice = chrome_put_slice,
						 .memory = chrome_put_memory,
						 .counter = chrome_put_counter};
	int error;

	if (merging->used.members)
		sink_literal(chrome->out, ",\n");
	chrome_put_first_name(chrome);
	error = timeline_visit(timeline, &visitor);
	chrome_put_names(chrome);
	chrome_put_step(chrome);
	if (merging->used.members)
		sink_literal(&merging->receipts, ",\n");
	chrome_put_own(chrome, &merging->receipts);
	return error;
}

static int put_member(struct merging *merging, const struct merge_member *member)
{
	struct timeline *timeline = timeline_new(member->trace, -1);
	struct chrome chrome = {.out = merging->sink,
				.timeline = timeline,
				.start_ns = merging->merge->start_ns,
				.process_labels = member->process_labels,
				.gpu_label = member->gpu_label,
				.numbers = {.used = &merging->used, .first_device = merging->used.devices}};
	int error;

	if (!timeline)
		return member->trace->error;
	timeline_put_among(timeline, &(struct timeline_among){.clock = member->clock,
							      .first_number = merging->next_number,
							      .splits = member->splits});
	chrome_numbers_make(&chrome.numbers, timeline);
	chrome_codes_begin(&chrome.codes);
	sink_open_memory(&chrome.text);
	error = put_events(merging, &chrome, timeline);
	merging->next_number = timeline->next_number;
	merging->used.devices += devices_of(timeline->model);
	merging->used.members++;
	chrome_stacks_free(&chrome.stacks);
	sink_close(&chrome.text);
	chrome_codes_free(&chrome.codes);
	chrome_numbers_free(&chrome.numbers);
	timeline_free(timeline);
	return error;
}

int chrome_write_merged(struct sink *sink, const struct merge *merge)
{
	struct merging merging = {.sink = sink, .merge = merge};
	int error = 0;

	sink_open_memory(&merging.receipts);
	put_head(&merging);
	for (size_t i = 0; i < merge->count && !error && !sink->error; i++) {
		struct merge_member member = {0};

		error = merge->open(merge->context, i, &member);
		if (!error) {
			error = put_member(&merging, &member);
			merge->close(merge->context);
		}
	}
	put_tail(&merging);
	sink_close(&merging.receipts);
	tally_free(&merging.used.pids);
	tally_free(&merging.used.tids);
	return error;
}
