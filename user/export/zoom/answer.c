/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a stretch looks like at a resolution, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "export/zoom/store.h"

/* Of one row of an answer, at one depth. */
struct lane {
	struct sink boxes; /* what is drawn */
	struct box {
		uint64_t start_ns, end_ns, busy_ns, longest_ns;
		uint32_t label, count;
	} merged;			       /* count 0: none waits */
	uint64_t column_from_ns, column_to_ns; /* in which `merged` begins */
	bool is_open, any;
};

struct answer {
	struct zoom *zoom;
	uint64_t from_ns, to_ns;
	uint64_t least_ns; /* shorter slices are put together; 0: none are */
	uint32_t boxes, left_out;
	struct lane lanes[DEPTH_MAX + 1];
	uint32_t deepest;
	uint8_t *used; /* labels: a bit each */
};

static void put_box(struct answer *answer, struct lane *lane, const struct box *box)
{
	uint64_t start_ns = box->start_ns;
	struct sink *out = &lane->boxes;

	if (answer->boxes >= ZOOM_BOXES_MAX) {
		answer->left_out++;
		return;
	}
	answer->boxes++;
	if (!lane->is_open)
		sink_open_memory(out);
	else if (lane->any)
		sink_char(out, ',');
	lane->is_open = lane->any = true;
	sink_i64(out, (int64_t)(start_ns - answer->from_ns));
	sink_char(out, ',');
	sink_u64(out, box->end_ns - start_ns);
	sink_char(out, ',');
	sink_u64(out, box->label);
	sink_char(out, ',');
	sink_u64(out, box->count);
	sink_char(out, ',');
	sink_u64(out, box->busy_ns);
	answer->used[box->label / 8] |= (uint8_t)(1u << box->label % 8);
}

static void flush(struct answer *answer, struct lane *lane)
{
	if (lane->merged.count)
		put_box(answer, lane, &lane->merged);
	lane->merged.count = 0;
}

static void flush_all(struct answer *answer)
{
	for (uint32_t depth = 0; depth <= answer->deepest; depth++)
		flush(answer, &answer->lanes[depth]);
}

/* Which part of the stretch a time is in; what is before it is one more. */
static void find_column(const struct answer *answer, struct lane *lane, uint64_t time_ns)
{
	uint64_t since_ns = time_ns - answer->from_ns;

	if (time_ns < answer->from_ns) {
		lane->column_from_ns = 0;
		lane->column_to_ns = answer->from_ns;
	} else {
		lane->column_from_ns = time_ns - since_ns % answer->least_ns;
		lane->column_to_ns = lane->column_from_ns + answer->least_ns;
	}
}

static bool is_in_column(const struct lane *lane, uint64_t time_ns)
{
	return time_ns >= lane->column_from_ns && time_ns < lane->column_to_ns;
}

/* A slice, or what a summary stands for. */
static void draw(struct answer *answer, uint32_t depth, const struct box *box)
{
	struct lane *lane;
	struct box *merged;

	if (box->end_ns < answer->from_ns || box->start_ns >= answer->to_ns)
		return;
	if (depth >= DEPTH_MAX)
		depth = DEPTH_MAX - 1;
	if (depth > answer->deepest)
		answer->deepest = depth;
	lane = &answer->lanes[depth];
	merged = &lane->merged;
	if (!answer->least_ns || (box->count == 1 && box->end_ns - box->start_ns >= answer->least_ns)) {
		flush(answer, lane);
		put_box(answer, lane, box);
		return;
	}
	if (merged->count && !is_in_column(lane, box->start_ns))
		flush(answer, lane);
	if (!merged->count) {
		if (!is_in_column(lane, box->start_ns))
			find_column(answer, lane, box->start_ns);
		*merged = *box;
		return;
	}
	if (box->end_ns > merged->end_ns)
		merged->end_ns = box->end_ns;
	if (box->start_ns < merged->start_ns)
		merged->start_ns = box->start_ns;
	merged->busy_ns += box->busy_ns;
	merged->count += box->count;
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
			    .label = slice->label,
			    .count = 1};
}

static void draw_slices(struct answer *answer, const struct zoom_track *track, uint32_t depth,
			const struct zoom_slice *slices, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct box box = box_of(&slices[i]);

		draw(answer, depth + zoom_longs_at(track, slices[i].start_ns), &box);
	}
}

static bool touches(const struct answer *answer, const struct zoom_block *block)
{
	return block->end_ns >= answer->from_ns && block->first_ns < answer->to_ns;
}

static void draw_row(struct answer *answer, const struct zoom_track *track, uint32_t depth)
{
	const struct zoom_row *row = track->rows.items[depth];
	struct zoom_slice slices[BLOCK_SLICES];

	for (size_t i = 0; i < row->blocks.count; i++) {
		const struct zoom_block *block = &row->blocks.items[i];

		if (!touches(answer, block))
			continue;
		if (answer->least_ns && block->end_ns - block->first_ns < answer->least_ns) {
			struct box box = {.start_ns = block->first_ns,
					  .end_ns = block->end_ns,
					  .busy_ns = block->busy_ns,
					  .longest_ns = block->busy_ns / block->count,
					  .label = block->label,
					  .count = block->count};

			draw(answer, depth + zoom_longs_at(track, block->first_ns), &box);
			continue;
		}
		draw_slices(answer, track, depth, slices, zoom_unpack(answer->zoom, block, slices));
	}
	draw_slices(answer, track, depth, row->open, row->open_count);
	flush_all(answer);
}

static void put_rows(struct answer *answer, uint32_t index, struct sink *out, bool *any)
{
	for (uint32_t depth = 0; depth <= answer->deepest; depth++) {
		struct lane *lane = &answer->lanes[depth];

		if (!lane->any)
			continue;
		sink_text(out, *any ? ",\n[" : "\n[");
		*any = true;
		sink_u64(out, index);
		sink_char(out, ',');
		sink_u64(out, depth);
		sink_literal(out, ",[");
		sink_put(out, lane->boxes.buffer, lane->boxes.used);
		sink_literal(out, "]]");
		lane->boxes.used = 0;
		lane->any = false;
	}
	answer->deepest = 0;
}

static void draw_track(struct answer *answer, uint32_t index, struct sink *out, bool *any)
{
	struct zoom_track *track = &answer->zoom->tracks.items[index];

	zoom_sort_longs(track);
	for (size_t i = 0; i < track->longs.count; i++) {
		struct box box = box_of(&track->longs.items[i].slice);

		draw(answer, track->longs.items[i].depth, &box);
	}
	flush_all(answer);
	for (uint32_t depth = 0; depth < track->rows.count; depth++)
		draw_row(answer, track, depth);
	put_rows(answer, index, out, any);
}

static void put_labels(const struct answer *answer, struct sink *out)
{
	const struct zoom *zoom = answer->zoom;
	bool any = false;

	for (uint32_t i = 0; i < zoom->labels.count; i++) {
		const struct zoom_label *label = &zoom->labels.items[i];

		if (!(answer->used[i / 8] >> i % 8 & 1))
			continue;
		sink_text(out, any ? ",\n\"" : "\n\"");
		any = true;
		sink_u64(out, i);
		sink_literal(out, "\":[");
		sink_json(out, texts_at(&zoom->texts, label->name));
		sink_char(out, ',');
		sink_json(out, texts_at(&zoom->texts, label->where));
		sink_char(out, ',');
		sink_u64(out, label->category);
		sink_char(out, ']');
	}
}

uint32_t zoom_put_answer(struct zoom *zoom, const struct zoom_question *question, struct sink *out)
{
	struct answer *answer = xcalloc(1, sizeof(*answer));
	uint64_t length = question->to_ns > question->from_ns ? question->to_ns - question->from_ns : 1;
	uint32_t boxes;
	bool any = false;

	pthread_mutex_lock(&zoom->lock);
	answer->zoom = zoom;
	answer->from_ns = question->from_ns;
	answer->to_ns = question->from_ns + length;
	answer->least_ns = question->width ? (length + question->width - 1) / question->width : 0;
	answer->used = xcalloc(1, zoom->labels.count / 8 + 1);
	sink_literal(out, "{\"from\":");
	sink_i64(out, (int64_t)(question->from_ns - zoom->progress.start_ns));
	sink_literal(out, ",\"to\":");
	sink_i64(out, (int64_t)(answer->to_ns - zoom->progress.start_ns));
	sink_literal(out, ",\"least\":");
	sink_u64(out, answer->least_ns);
	sink_literal(out, ",\"rows\":[");
	if (question->tracks) {
		for (uint32_t i = 0; i < question->track_count; i++)
			if (question->tracks[i] < zoom->tracks.count)
				draw_track(answer, question->tracks[i], out, &any);
	} else {
		for (uint32_t i = 0; i < zoom->tracks.count; i++)
			draw_track(answer, i, out, &any);
	}
	sink_literal(out, "],\n\"labels\":{");
	put_labels(answer, out);
	sink_literal(out, "},\"left_out\":");
	sink_u64(out, answer->left_out);
	sink_char(out, '}');
	pthread_mutex_unlock(&zoom->lock);
	for (uint32_t i = 0; i <= DEPTH_MAX; i++)
		if (answer->lanes[i].is_open)
			sink_close(&answer->lanes[i].boxes);
	boxes = answer->boxes;
	free(answer->used);
	free(answer);
	return boxes;
}

/* ---- tracks ----------------------------------------------------------------------------------------------------- */

/* As far as begins of blocks tell: long ones may come and go inside of one. */
static uint32_t depth_of(const struct zoom_track *track)
{
	uint32_t deepest = 0, depth;

	for (size_t i = 0; i < track->longs.count; i++)
		if (track->longs.items[i].depth + 1 > deepest)
			deepest = track->longs.items[i].depth + 1;
	for (uint32_t i = 0; i < track->rows.count; i++) {
		const struct zoom_row *row = track->rows.items[i];

		for (size_t block = 0; block < row->blocks.count; block++) {
			depth = i + 1 + zoom_longs_at(track, row->blocks.items[block].first_ns);
			deepest = depth > deepest ? depth : deepest;
		}
		for (uint32_t open = 0; open < row->open_count; open++) {
			depth = i + 1 + zoom_longs_at(track, row->open[open].start_ns);
			deepest = depth > deepest ? depth : deepest;
		}
	}
	return deepest < DEPTH_MAX ? deepest : DEPTH_MAX;
}

/* GPUs first, then processes; rows of a thread stand together. */
static bool stands_before(const struct zoom_track *a, uint32_t a_index, const struct zoom_track *b, uint32_t b_index)
{
	if (a->on_gpu != b->on_gpu)
		return a->on_gpu;
	if (a->group_index != b->group_index)
		return a->group_index < b->group_index;
	if (a->owner != b->owner)
		return a->owner < b->owner;
	return a_index < b_index;
}

void zoom_put_tracks(struct zoom *zoom, struct sink *out)
{
	uint32_t *order, count = 0;
	uint64_t read_ns;

	pthread_mutex_lock(&zoom->lock);
	order = xcalloc(zoom->tracks.count + 1, sizeof(*order));
	for (uint32_t i = 0; i < zoom->tracks.count; i++) {
		struct zoom_track *track = &zoom->tracks.items[i];
		uint32_t at = count;

		zoom_sort_longs(track);
		if (!track->rows.count && !track->longs.count)
			continue;
		for (; at && stands_before(track, i, &zoom->tracks.items[order[at - 1]], order[at - 1]); at--)
			order[at] = order[at - 1];
		order[at] = i;
		count++;
	}
	read_ns = zoom->progress.done ? zoom->progress.end_ns : zoom->progress.read_ns;
	sink_literal(out, "{\"span\":");
	sink_u64(out, zoom->progress.end_ns - zoom->progress.start_ns);
	sink_literal(out, ",\"read\":");
	sink_u64(out, read_ns > zoom->progress.start_ns ? read_ns - zoom->progress.start_ns : 0);
	sink_text(out, zoom->progress.done ? ",\"done\":true" : ",\"done\":false");
	sink_literal(out, ",\"slices\":");
	sink_u64(out, zoom->progress.slices);
	if (zoom->progress.is_part)
		sink_literal(out, ",\"preview\":true");
	sink_literal(out, ",\"tracks\":[");
	for (uint32_t i = 0; i < count; i++) {
		const struct zoom_track *track = &zoom->tracks.items[order[i]];

		sink_text(out, i ? ",\n[" : "\n[");
		sink_u64(out, order[i]);
		sink_char(out, ',');
		sink_json(out, track->label);
		sink_char(out, ',');
		sink_json(out, track->group);
		sink_char(out, ',');
		sink_u64(out, depth_of(track));
		sink_char(out, ',');
		sink_u64(out, track->kind);
		sink_char(out, ']');
	}
	sink_literal(out, "]}");
	pthread_mutex_unlock(&zoom->lock);
	free(order);
}
