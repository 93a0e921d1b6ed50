/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a range at a resolution, as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export/zoom/store.h"

/* One row of an answer, at one depth. */
struct answer_row {
	struct sink boxes; /* the boxes to draw */
	struct box {
		uint64_t start_ns, end_ns, busy_ns, longest_ns;
		uint64_t number;
		uint32_t label, count;
	} merged;			       /* count 0: no box waits */
	uint64_t column_from_ns, column_to_ns; /* the column in which `merged` begins */
	bool is_open, any;
};

struct answer {
	struct zoom *zoom;
	uint64_t from_ns, to_ns;
	uint64_t least_ns;		     /* shorter slices are merged; 0: none are */
	uint64_t drawn_from_ns, drawn_to_ns; /* only slices that begin in between are drawn */
	uint32_t boxes, left_out;
	struct answer_row rows[DEPTH_MAX + 1];
	uint32_t deepest;
	uint8_t *used; /* labels: a bit each */
};

static void put_box(struct answer *answer, struct answer_row *row, const struct box *box)
{
	uint64_t start_ns = box->start_ns;
	struct sink *out = &row->boxes;

	if (answer->boxes >= ZOOM_BOXES_MAX) {
		answer->left_out++;
		return;
	}
	answer->boxes++;
	if (!row->is_open)
		sink_open_memory(out);
	else if (row->any)
		sink_char(out, ',');
	row->is_open = row->any = true;
	sink_i64(out, (int64_t)(start_ns - answer->from_ns));
	sink_char(out, ',');
	sink_u64(out, box->end_ns - start_ns);
	sink_char(out, ',');
	sink_u64(out, box->label);
	sink_char(out, ',');
	sink_u64(out, box->count);
	sink_char(out, ',');
	sink_u64(out, box->busy_ns);
	sink_char(out, ',');
	sink_u64(out, box->number);
	answer->used[box->label / 8] |= (uint8_t)(1u << box->label % 8);
}

static void flush_row(struct answer *answer, struct answer_row *row)
{
	if (row->merged.count)
		put_box(answer, row, &row->merged);
	row->merged.count = 0;
}

static void flush_all(struct answer *answer)
{
	for (uint32_t depth = 0; depth <= answer->deepest; depth++)
		flush_row(answer, &answer->rows[depth]);
}

/* The column of the range that a time is in; the time before the range is one more column. */
static void find_column(const struct answer *answer, struct answer_row *row, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - answer->from_ns;

	if (time_ns < answer->from_ns) {
		row->column_from_ns = 0;
		row->column_to_ns = answer->from_ns;
	} else {
		row->column_from_ns = time_ns - since_ns % answer->least_ns;
		row->column_to_ns = row->column_from_ns + answer->least_ns;
	}
}

static bool is_in_column(const struct answer_row *row, uint64_t time_ns)
{
	return time_ns >= row->column_from_ns && time_ns < row->column_to_ns;
}

/* Draws a slice, or the slices of a summary. */
static void draw_box(struct answer *answer, uint32_t depth, const struct box *box)
{
	struct answer_row *row;
	struct box *merged;

	if (box->end_ns < answer->from_ns || box->start_ns >= answer->to_ns)
		return;
	if (depth >= DEPTH_MAX)
		depth = DEPTH_MAX - 1;
	if (depth > answer->deepest)
		answer->deepest = depth;
	row = &answer->rows[depth];
	merged = &row->merged;
	if (!answer->least_ns || (box->count == 1 && box->end_ns - box->start_ns >= answer->least_ns)) {
		flush_row(answer, row);
		put_box(answer, row, box);
		return;
	}
	if (merged->count && !is_in_column(row, box->start_ns))
		flush_row(answer, row);
	if (!merged->count) {
		if (!is_in_column(row, box->start_ns))
			find_column(answer, row, box->start_ns);
		*merged = *box;
		return;
	}
	if (box->end_ns > merged->end_ns)
		merged->end_ns = box->end_ns;
	if (box->start_ns < merged->start_ns)
		merged->start_ns = box->start_ns;
	merged->busy_ns += box->busy_ns;
	merged->count += box->count;
	if (box->number > merged->number)
		merged->number = box->number;
	if (box->longest_ns > merged->longest_ns) {
		merged->longest_ns = box->longest_ns;
		merged->label = box->label;
	}
}

static struct box box_of(const struct zoom_slice *slice)
{
	uint64_t length = slice->end_ns - slice->start_ns;

	return (struct box){.start_ns = slice->start_ns,
			    .end_ns = slice->end_ns,
			    .busy_ns = length,
			    .longest_ns = length,
			    .number = slice->number,
			    .label = slice->label,
			    .count = 1};
}

static void draw_slices(struct answer *answer, const struct zoom_track *track, uint32_t depth,
			const struct zoom_slice *slices, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct box box = box_of(&slices[i]);

		if (box.start_ns < answer->drawn_from_ns || box.start_ns >= answer->drawn_to_ns)
			continue;
		draw_box(answer, depth + zoom_longs_at(track, slices[i].start_ns), &box);
	}
}

static bool touches_block(const struct answer *answer, const struct zoom_block *block)
{
	return block->end_ns >= answer->from_ns && block->first_ns < answer->to_ns &&
	       block->end_ns >= answer->drawn_from_ns && block->first_ns < answer->drawn_to_ns;
}

/* Whether all slices of a block are drawn as one box. */
static bool is_one_box(const struct answer *answer, const struct zoom_block *block)
{
	return answer->least_ns && block->end_ns - block->first_ns < answer->least_ns &&
	       block->first_ns >= answer->drawn_from_ns && block->end_ns < answer->drawn_to_ns;
}

static void draw_row(struct answer *answer, const struct zoom_track *track, const struct zoom_row *row, uint32_t depth)
{
	struct zoom_slice slices[BLOCK_SLICES];

	array_each (block, &row->blocks) {
		if (!touches_block(answer, block))
			continue;
		if (is_one_box(answer, block)) {
			struct box box = {.start_ns = block->first_ns,
					  .end_ns = block->end_ns,
					  .busy_ns = block->busy_ns,
					  .longest_ns = block->busy_ns / block->count,
					  .number = block->most_number,
					  .label = block->label,
					  .count = block->count};

			draw_box(answer, depth + zoom_longs_at(track, block->first_ns), &box);
			continue;
		}
		draw_slices(answer, track, depth, slices, zoom_unpack(answer->zoom, block, slices));
	}
	draw_slices(answer, track, depth, row->open, row->open_count);
	flush_all(answer);
}

static void put_row(struct answer_row *row, uint32_t index, uint32_t depth, struct sink *out, bool *any)
{
	if (!row->any)
		return;
	sink_text(out, *any ? ",\n" : "\n");
	*any = true;
	sink_print(out, "[%u,%u,[", index, depth);
	sink_put(out, row->boxes.buffer, row->boxes.used);
	sink_literal(out, "]]");
	row->boxes.used = 0;
	row->any = false;
}

static void put_rows(struct answer *answer, uint32_t index, struct sink *out, bool *any)
{
	for (uint32_t depth = 0; depth <= answer->deepest; depth++)
		put_row(&answer->rows[depth], index, depth, out, any);
	answer->deepest = 0;
}

static void draw_layer(struct answer *answer, const struct zoom_track *track, const struct zoom_layer *layer,
		       uint64_t from_ns, uint64_t to_ns)
{
	answer->drawn_from_ns = from_ns;
	answer->drawn_to_ns = to_ns;
	for (uint32_t depth = 0; depth < layer->rows.count; depth++)
		draw_row(answer, track, layer->rows.items[depth], depth);
}

static void draw_track(struct answer *answer, uint32_t index, struct sink *out, bool *any)
{
	struct zoom_track *track = &answer->zoom->tracks.items[index];
	uint64_t sampled_ns = zoom_sampled_from(answer->zoom);

	zoom_sort_long_slices(track);
	for (size_t i = 0; i < track->long_slices.count; i++) {
		struct box box = box_of(&track->long_slices.items[i].slice);

		draw_box(answer, track->long_slices.items[i].depth, &box);
	}
	flush_all(answer);
	draw_layer(answer, track, &track->read, 0, sampled_ns);
	if (sampled_ns != UINT64_MAX)
		draw_layer(answer, track, &track->sampled, sampled_ns, UINT64_MAX);
	put_rows(answer, index, out, any);
}

/* ---- estimates -------------------------------------------------------------------------------------------------- */

static void put_estimate(void *context, const struct zoom_estimate *estimate)
{
	struct answer *answer = context;
	uint64_t count = estimate->count < UINT32_MAX ? estimate->count : UINT32_MAX;

	put_box(answer, answer->rows,
		&(struct box){.start_ns = estimate->start_ns,
			      .end_ns = estimate->end_ns,
			      .busy_ns = estimate->busy_ns,
			      .label = estimate->label,
			      .count = (uint32_t)count});
}

/* Each row is drawn as depth 0, and written with its real depth. */
static void estimate_track(struct answer *answer, uint32_t index, struct sink *out, bool *any)
{
	const struct zoom_layer *layer = &answer->zoom->tracks.items[index].sampled;
	uint64_t sampled_ns = zoom_sampled_from(answer->zoom);
	uint64_t from_ns = sampled_ns > answer->from_ns ? sampled_ns : answer->from_ns;

	for (uint32_t depth = 0; from_ns < answer->to_ns && depth < layer->rows.count; depth++) {
		zoom_estimate(answer->zoom, layer->rows.items[depth], from_ns, answer->to_ns, put_estimate, answer);
		put_row(&answer->rows[0], index, depth, out, any);
	}
}

static void for_tracks(struct answer *answer, const struct zoom_question *question, struct sink *out,
		       void (*put)(struct answer *answer, uint32_t index, struct sink *out, bool *any))
{
	uint32_t all = (uint32_t)answer->zoom->tracks.count;
	bool any = false;

	for (uint32_t i = 0; i < (question->tracks ? question->track_count : all); i++) {
		uint32_t index = question->tracks ? question->tracks[i] : i;

		if (index < all && !answer->zoom->tracks.items[index].is_hidden)
			put(answer, index, out, &any);
	}
}

static void put_labels(const struct answer *answer, struct sink *out)
{
	const struct zoom *zoom = answer->zoom;
	bool any = false;

	for (uint32_t i = 0; i < zoom->labels.count; i++) {
		const struct zoom_label *label = &zoom->labels.items[i];

		if (!(answer->used[i / 8] >> i % 8 & 1))
			continue;
		sink_text(out, any ? ",\n" : "\n");
		any = true;
		sink_print(out, "\"%u\":[%s,%s,%u,%u", i, texts_at(&zoom->texts, label->name),
			   texts_at(&zoom->texts, label->where), label->category, label->stack);
		if (label->leads_to != ZOOM_NONE)
			sink_print(out, ",%u", label->leads_to);
		sink_char(out, ']');
	}
}

/* A stack's text holds numbers of frames after its first comma. */
static void note_frames(const char *stack, uint8_t *used)
{
	for (stack = strchr(stack, ','); stack; stack = strchr(stack + 1, ',')) {
		unsigned long id = strtoul(stack + 1, NULL, 10);

		used[id / 8] |= (uint8_t)(1u << id % 8);
	}
}

/* For callers that cannot ask for stacks one by one (zoom_put_stack). */
static void put_stacks(const struct answer *answer, struct sink *out)
{
	const struct zoom *zoom = answer->zoom;
	const struct texts *texts = &zoom->texts;
	AUTO_FREE uint8_t *stacks = xcalloc(1, texts->at.count / 8 + 1), *frames = xcalloc(1, texts->at.count / 8 + 1);
	const char *between = "\n";

	for (uint32_t i = 0; i < zoom->labels.count; i++)
		if (answer->used[i / 8] >> i % 8 & 1)
			stacks[zoom->labels.items[i].stack / 8] |= (uint8_t)(1u << zoom->labels.items[i].stack % 8);
	sink_literal(out, ",\n\"stacks\":{");
	for (uint32_t i = 0; i < texts->at.count; i++) {
		if (!(stacks[i / 8] >> i % 8 & 1))
			continue;
		note_frames(texts_at(texts, i), frames);
		sink_text(out, between);
		sink_print(out, "\"%u\":[", i);
		sink_text(out, texts_at(texts, i));
		sink_char(out, ']');
		between = ",\n";
	}
	sink_literal(out, "},\n\"frames\":{");
	between = "\n";
	for (uint32_t i = 0; i < texts->at.count; i++) {
		if (!(frames[i / 8] >> i % 8 & 1))
			continue;
		sink_text(out, between);
		sink_print(out, "\"%u\":%s", i, texts_at(texts, i));
		between = ",\n";
	}
	sink_char(out, '}');
}

void zoom_put_stack(struct zoom *zoom, uint32_t id, struct sink *out)
{
	const char *stack, *between = "";

	zoom_lock_to_ask(zoom);
	stack = id < zoom->texts.at.count ? texts_at(&zoom->texts, id) : "";
	sink_print(out, "{\"own\":%ld,\"frames\":[", *stack ? strtol(stack, NULL, 10) : -1);
	for (stack = strchr(stack, ','); stack; stack = strchr(stack + 1, ',')) {
		unsigned long frame = strtoul(stack + 1, NULL, 10);

		if (frame >= zoom->texts.at.count) /* the number was not a stack's */
			break;
		sink_text(out, between);
		sink_json(out, texts_at(&zoom->texts, (uint32_t)frame));
		between = ",";
	}
	sink_literal(out, "]}");
	pthread_mutex_unlock(&zoom->lock);
}

uint32_t zoom_put_answer(struct zoom *zoom, const struct zoom_question *question, struct sink *out)
{
	AUTO_FREE struct answer *answer = xcalloc(1, sizeof(*answer));
	uint64_t length = question->to_ns > question->from_ns ? question->to_ns - question->from_ns : 1;
	uint32_t boxes;

	zoom_lock_to_ask(zoom);
	answer->zoom = zoom;
	answer->from_ns = question->from_ns;
	answer->to_ns = question->from_ns + length;
	answer->least_ns = question->width ? (length + question->width - 1) / question->width : 0;
	answer->used = xcalloc(1, zoom->labels.count / 8 + 1);
	sink_print(out, "{\"from\":%" PRId64 ",\"to\":%" PRId64 ",\"least\":%" PRIu64 ",\"rows\":[",
		   (int64_t)(question->from_ns - zoom->progress.start_ns),
		   (int64_t)(answer->to_ns - zoom->progress.start_ns), answer->least_ns);
	for_tracks(answer, question, out, draw_track);
	if (zoom_sampled_from(zoom) != UINT64_MAX) {
		sink_literal(out, "],\n\"estimates\":[");
		for_tracks(answer, question, out, estimate_track);
	}
	sink_literal(out, "],\n\"labels\":{");
	put_labels(answer, out);
	sink_char(out, '}');
	if (!question->width)
		put_stacks(answer, out);
	sink_print(out, ",\"left_out\":%u}", answer->left_out);
	pthread_mutex_unlock(&zoom->lock);
	for (uint32_t i = 0; i <= DEPTH_MAX; i++)
		if (answer->rows[i].is_open)
			sink_close(&answer->rows[i].boxes);
	boxes = answer->boxes;
	free(answer->used);
	return boxes;
}
