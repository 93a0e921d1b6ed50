/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks of slices, packed into an unnamed file: start since the previous slice, length, label, number. */
#include "export/zoom/store.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/temporary.h"
#include "log/packing/varint.h"
#include "base/order.h"

#define TAIL_BYTES (1u << 20)
#define FIELDS 4
#define PACKED_MAX (BLOCK_SLICES * FIELDS * VARINT_MAX)
#define READ_BYTES (128u << 10)

_Static_assert(READ_BYTES >= PACKED_MAX, "a block is read at once");

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* Without a file, or if its disk is full, everything stays in memory. */
static void write_tail(struct zoom_file *file)
{
	size_t done = 0;

	if (file->fd < 0 || file->error)
		return;
	while (done < file->tail.used) {
		ssize_t put = pwrite(file->fd, file->tail.buffer + done, file->tail.used - done,
				     (off_t)(file->written + done));

		if (put <= 0) {
			if (put < 0 && errno == EINTR)
				continue;
			file->error = put < 0 ? -errno : -EIO;
			return;
		}
		done += (size_t)put;
	}
	file->written += done;
	file->tail.used = 0;
}

/* Blocks of a row are nearly consecutive: those after the requested one are read with it. */
static bool read_stretch(struct zoom_file *file, uint64_t at)
{
	if (!file->read)
		file->read = xmalloc(READ_BYTES);
	file->read_at = at;
	file->read_size = 0;
	while (file->read_size < READ_BYTES) {
		ssize_t got = pread(file->fd, file->read + file->read_size, READ_BYTES - file->read_size,
				    (off_t)(at + file->read_size));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		file->read_size += (size_t)got;
	}
	return file->read_size > 0;
}

static bool is_read(const struct zoom_file *file, uint64_t at, uint32_t size)
{
	return at >= file->read_at && at - file->read_at <= file->read_size &&
	       size <= file->read_size - (at - file->read_at);
}

/* The packed bytes of a block, valid until the next call; NULL: they cannot be read. */
static const uint8_t *bytes_at(struct zoom_file *file, uint64_t at, uint32_t size)
{
	if (at >= file->written)
		return at - file->written + size <= file->tail.used
			       ? (const uint8_t *)file->tail.buffer + (at - file->written)
			       : NULL;
	if (!is_read(file, at, size) && (!read_stretch(file, at) || !is_read(file, at, size)))
		return NULL;
	return file->read + (at - file->read_at);
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

static void pack_row(struct zoom *zoom, struct zoom_row *row)
{
	struct zoom_block block = {.first_ns = UINT64_MAX, .least_number = UINT64_MAX, .count = row->open_count};
	uint64_t before = 0, number_before = 0, longest = 0;
	uint8_t *begin, *at;

	block.at = zoom->file.written + zoom->file.tail.used;
	for (uint32_t i = 0; i < row->open_count; i++) {
		const struct zoom_slice *slice = &row->open[i];
		uint64_t length = slice->end_ns - slice->start_ns;

		if (slice->start_ns < block.first_ns)
			block.first_ns = slice->start_ns;
		if (slice->end_ns > block.end_ns)
			block.end_ns = slice->end_ns;
		if (length >= longest) {
			longest = length;
			block.label = slice->label;
		}
		block.busy_ns += length;
		if (slice->number < block.least_number)
			block.least_number = slice->number;
		if (slice->number > block.most_number)
			block.most_number = slice->number;
	}
	for (uint32_t i = 0; i < row->open_count; i++) {
		const struct zoom_slice *slice = &row->open[i];

		begin = (uint8_t *)sink_room(&zoom->file.tail, (size_t)FIELDS * VARINT_MAX);
		at = varint_put(begin, zigzag_of(slice->start_ns, before, 8));
		at = varint_put(at, slice->end_ns - slice->start_ns);
		at = varint_put(at, slice->label);
		at = varint_put(at, zigzag_of(slice->number, number_before, 8));
		zoom->file.tail.used += (size_t)(at - begin);
		block.size += (uint32_t)(at - begin);
		before = slice->start_ns;
		number_before = slice->number;
	}
	array_push(&row->blocks, block);
	row->open_count = 0;
	if (zoom->file.tail.used >= TAIL_BYTES)
		write_tail(&zoom->file);
}

uint32_t zoom_unpack(struct zoom *zoom, const struct zoom_block *block, struct zoom_slice *slices)
{
	const uint8_t *from = bytes_at(&zoom->file, block->at, block->size), *end;
	uint64_t before = 0, number_before = 0, number[FIELDS];

	if (!from)
		return 0;
	end = from + block->size;
	for (uint32_t i = 0; i < block->count; i++) {
		for (int field = 0; field < FIELDS; field++)
			if (!varint_next(&from, end, &number[field]))
				return i;
		if (number[2] >= zoom->labels.count)
			return i;
		before = zigzag_add(before, number[0]);
		number_before = zigzag_add(number_before, number[3]);
		slices[i] = (struct zoom_slice){.start_ns = before,
						.end_ns = before + number[1],
						.number = number_before,
						.label = (uint32_t)number[2]};
	}
	return block->count;
}

/* ---- slices ----------------------------------------------------------------------------------------------------- */

static struct zoom_row *row_at(struct zoom_layer *layer, size_t depth)
{
	if (depth >= DEPTH_MAX)
		depth = DEPTH_MAX - 1;
	while (layer->rows.count <= depth)
		array_push(&layer->rows, xcalloc(1, sizeof(struct zoom_row)));
	return layer->rows.items[depth];
}

static struct zoom_row *add_to(struct zoom *zoom, struct zoom_layer *layer, const struct zoom_slice *slice)
{
	struct zoom_row *row;

	while (layer->around.count && layer->around.items[layer->around.count - 1] <= slice->start_ns)
		layer->around.count--;
	row = row_at(layer, layer->around.count);
	array_push(&layer->around, slice->end_ns);
	row->open[row->open_count++] = *slice;
	if (row->open_count == BLOCK_SLICES)
		pack_row(zoom, row);
	return row;
}

void zoom_add(struct zoom *zoom, uint32_t index, const struct zoom_slice *slice)
{
	add_to(zoom, &zoom->tracks.items[index].read, slice);
	zoom->progress.slices++;
}

void zoom_add_sampled(struct zoom *zoom, uint32_t index, const struct zoom_slice *slice, uint32_t place)
{
	struct zoom_row *row = add_to(zoom, &zoom->tracks.items[index].sampled, slice);
	uint64_t length = slice->end_ns - slice->start_ns;
	struct zoom_summary *summary;

	if (!row->summaries.count || row->summaries.items[row->summaries.count - 1].place != place)
		array_push(&row->summaries, ((struct zoom_summary){.place = place}));
	summary = &row->summaries.items[row->summaries.count - 1];
	summary->count++;
	summary->busy_ns += length;
	if (length >= summary->longest_ns) {
		summary->longest_ns = length;
		summary->label = slice->label;
	}
}

DEFINE_ORDER(by_begin, struct zoom_block, least_first(a->first_ns, b->first_ns))

/* Places arrive in any order, and no block has slices of two of them. */
void zoom_end_sampled(struct zoom *zoom, struct zoom_track *track)
{
	track->sampled.around.count = 0;
	for (size_t i = 0; i < track->sampled.rows.count; i++) {
		struct zoom_row *row = track->sampled.rows.items[i];

		if (row->open_count)
			pack_row(zoom, row);
		array_sort(&row->blocks, by_begin);
	}
}

void zoom_add_long_slice(struct zoom *zoom, uint32_t index, const struct zoom_slice *slice, bool is_open)
{
	struct zoom_track *track = &zoom->tracks.items[index];

	array_push(&track->long_slices, ((struct zoom_long_slice){.slice = *slice, .is_open = is_open}));
	track->is_sorted = false;
	zoom->progress.slices += !is_open;
}

void zoom_forget_open(struct zoom_track *track)
{
	size_t kept = 0;

	for (size_t i = 0; i < track->long_slices.count; i++)
		if (!track->long_slices.items[i].is_open)
			track->long_slices.items[kept++] = track->long_slices.items[i];
	track->is_sorted = track->is_sorted && kept == track->long_slices.count;
	track->long_slices.count = kept;
}

DEFINE_ORDER(outer_first, struct zoom_long_slice,
	     least_first(a->slice.start_ns, b->slice.start_ns) ?: most_first(a->slice.end_ns, b->slice.end_ns))

DEFINE_ORDER(by_time, struct zoom_edge, least_first(a->time_ns, b->time_ns))

void zoom_sort_long_slices(struct zoom_track *track)
{
	uint32_t open = 0;

	if (track->is_sorted)
		return;
	track->is_sorted = true;
	track->edges.count = 0;
	if (!track->long_slices.count)
		return;
	array_sort(&track->long_slices, outer_first);
	for (size_t i = 0; i < track->long_slices.count; i++) {
		const struct zoom_slice *slice = &track->long_slices.items[i].slice;

		array_push(&track->edges, ((struct zoom_edge){.time_ns = slice->start_ns, .open = 1}));
		array_push(&track->edges, ((struct zoom_edge){.time_ns = slice->end_ns, .open = UINT32_MAX}));
	}
	array_sort(&track->edges, by_time);
	for (size_t i = 0; i < track->edges.count; i++)
		track->edges.items[i].open = open += track->edges.items[i].open;
	/* a long slice is as deep as the number of others open around it */
	for (size_t i = 0; i < track->long_slices.count; i++) {
		uint32_t depth = 0;

		for (size_t j = i; j-- > 0 && i - j < 4096;)
			if (track->long_slices.items[j].slice.end_ns >= track->long_slices.items[i].slice.end_ns) {
				depth = track->long_slices.items[j].depth + 1;
				break;
			}
		track->long_slices.items[i].depth = depth < DEPTH_MAX ? depth : DEPTH_MAX - 1;
	}
}

uint32_t zoom_longs_at(const struct zoom_track *track, uint64_t time_ns)
{
	size_t low = count_while(track->edges.count, i, track->edges.items[i].time_ns <= time_ns);

	return low ? track->edges.items[low - 1].open : 0;
}

/* ----------------------------------------------------------------------------------------------------------------- */

struct zoom *zoom_new(void)
{
	struct zoom *zoom = xcalloc(1, sizeof(*zoom));

	pthread_mutex_init(&zoom->lock, NULL);
	zoom->file.fd = temporary_open();
	sink_open_memory(&zoom->file.tail);
	texts_begin(&zoom->texts);
	return zoom;
}

void zoom_free_layer(struct zoom_layer *layer)
{
	for (size_t i = 0; i < layer->rows.count; i++) {
		array_free(&layer->rows.items[i]->blocks);
		array_free(&layer->rows.items[i]->summaries);
		free(layer->rows.items[i]);
	}
	array_free(&layer->rows);
	array_free(&layer->around);
}

void zoom_free(struct zoom *zoom)
{
	if (!zoom)
		return;
	array_each (track, &zoom->tracks) {
		zoom_free_layer(&track->read);
		zoom_free_layer(&track->sampled);
		free(track->label);
		free(track->group);
		free(track->thread);
		array_free(&track->long_slices);
		array_free(&track->edges);
	}
	array_free(&zoom->tracks);
	array_free(&zoom->places);
	array_free(&zoom->labels);
	tally_free(&zoom->label_ids);
	texts_free(&zoom->texts);
	sink_close(&zoom->file.tail);
	free(zoom->file.read);
	if (zoom->file.fd >= 0)
		close(zoom->file.fd);
	pthread_mutex_destroy(&zoom->lock);
	free(zoom);
}

void zoom_expect(struct zoom *zoom, uint64_t start_ns, uint64_t end_ns)
{
	pthread_mutex_lock(&zoom->lock);
	zoom->progress.start_ns = zoom->expected_from_ns = start_ns;
	zoom->progress.end_ns = zoom->expected_to_ns = end_ns;
	pthread_mutex_unlock(&zoom->lock);
}

void zoom_stop(struct zoom *zoom)
{
	atomic_store(&zoom->stopped, true);
}

struct zoom_progress zoom_progress(struct zoom *zoom)
{
	struct zoom_progress progress;

	pthread_mutex_lock(&zoom->lock);
	progress = zoom->progress;
	pthread_mutex_unlock(&zoom->lock);
	return progress;
}

uint64_t zoom_sampled_from(const struct zoom *zoom)
{
	return zoom->shows_samples && !zoom->progress.done ? zoom->progress.read_ns : UINT64_MAX;
}
