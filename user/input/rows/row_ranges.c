/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open ranges by thread and domain; see row_ranges.h. */
#include "input/rows/row_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "input/rows/foreign_file.h"

#define OPEN_MAX 65536u

/* Adds the end of a pushed range. */
static void add_end(struct rows *rows, struct row_range range)
{
	range.row.start_ns = range.row.end_ns;
	range.row.text = ROW_NO_TEXT;
	range.what = ROW_RANGE_POP;
	rows_add(rows, &range.row, sizeof(range));
}

void row_ranges_add(struct rows *rows, const struct row_range *range, bool ended)
{
	struct row_range begin = *range;

	begin.unfinished = !ended;
	if (begin.what != ROW_RANGE_PUSH)
		begin.row.end_ns = begin.row.start_ns;
	if (ended && begin.what == ROW_RANGE_START) {
		begin.what = ROW_RANGE_WHOLE;
		begin.closes_ns = range->row.end_ns;
		rows_see_end(rows, begin.closes_ns);
	}
	rows_add(rows, &begin.row, sizeof(begin));
	if (ended && begin.what == ROW_RANGE_PUSH)
		add_end(rows, *range);
}

struct track {
	ARRAY(uint64_t) ends; /* of the open ranges, outermost first */
};

struct row_ranges {
	const struct foreign_file *file;
	struct lookup track_lookup; /* (pid + 1, tid << 16 | domain) to track */
	ARRAY(struct track) tracks;
	uint32_t *names; /* by text: its string in the builder's model, NONE: not known yet */
};

struct row_ranges *row_ranges_new(const struct foreign_file *file)
{
	struct row_ranges *ranges = xcalloc(1, sizeof(*ranges));

	ranges->file = file;
	ranges->names = xmalloc(file->rows.texts.count * sizeof(*ranges->names));
	return ranges;
}

static void reset_ranges(struct row_ranges *ranges)
{
	for (size_t i = 0; i < ranges->tracks.count; i++)
		array_free(&ranges->tracks.items[i].ends);
	array_free(&ranges->tracks);
	lookup_free(&ranges->track_lookup);
}

void row_ranges_free(struct row_ranges *ranges)
{
	reset_ranges(ranges);
	free(ranges->names);
	free(ranges);
}

void row_ranges_begin(struct row_ranges *ranges)
{
	reset_ranges(ranges);
	memset(ranges->names, 0xff, ranges->file->rows.texts.count * sizeof(*ranges->names));
}

static struct track *find_track(struct row_ranges *ranges, const struct row_range *range)
{
	uint32_t *index = lookup_put(&ranges->track_lookup, foreign_epoch(range->row.pid),
				     (uint64_t)range->row.tid << 16 | range->domain, (uint32_t)ranges->tracks.count);

	if (*index == ranges->tracks.count)
		array_push(&ranges->tracks, ((struct track){.ends = {0}}));
	return &ranges->tracks.items[*index];
}

/* Pops the ranges that are over by then. */
static bool pop_ended(struct track *track, struct builder *builder, struct process_image program,
		      struct new_range event, uint64_t time_ns)
{
	bool sense = true;

	while (track->ends.count && track->ends.items[track->ends.count - 1] <= time_ns) {
		event.time_ns = track->ends.items[--track->ends.count];
		event.what = GPT_AGENT_RANGE_POPPED;
		sense = builder_add_range(builder, program, &event) && sense;
	}
	return sense;
}

static bool push_range(struct track *track, struct builder *builder, struct process_image program,
		       const struct row_range *range, const struct new_range *event)
{
	uint64_t end_ns = range->unfinished ? UINT64_MAX : range->row.end_ns;
	bool sense = pop_ended(track, builder, program, *event, range->row.start_ns);

	if (track->ends.count >= OPEN_MAX)
		return false;
	/* a range that seems to outlast the enclosing one ends with it */
	if (track->ends.count && end_ns > track->ends.items[track->ends.count - 1])
		end_ns = track->ends.items[track->ends.count - 1];
	sense = builder_add_range(builder, program, event) && sense;
	array_push(&track->ends, end_ns);
	return sense;
}

static struct text text_of(const struct row_ranges *ranges, uint32_t text)
{
	const struct rows *rows = &ranges->file->rows;

	return text < rows->texts.count ? rows->texts.items[text] : (struct text){.bytes = "", .size = 0};
}

bool row_ranges_feed(struct row_ranges *ranges, struct builder *builder, const struct row_range *range)
{
	struct process_image program = builder_process_image(builder, range->row.pid);
	struct new_range event = {.time_ns = range->row.start_ns,
				  .id = range->id,
				  .tid = range->row.tid,
				  .domain = range->domain,
				  .what = range->what,
				  .name = text_of(ranges, range->row.text),
				  .domain_name = text_of(ranges, range->named),
				  .known_name = range->row.text < ranges->file->rows.texts.count
							? &ranges->names[range->row.text]
							: NULL};

	if (range->what == ROW_RANGE_PUSH)
		return push_range(find_track(ranges, range), builder, program, range, &event);
	if (range->what == ROW_RANGE_POP)
		return pop_ended(find_track(ranges, range), builder, program, event, range->row.start_ns);
	return builder_add_range(builder, program, &event);
}
