/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorting in pieces and merging them; see rows.h. */
#include "input/rows/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "base/temporary.h"

#define PIECE_BYTES (128u << 20)
#define RUN_BYTES (256u << 10) /* read ahead of each run */

struct row_place {
	uint64_t start_ns, end_ns;
	uint32_t at; /* offset in the piece, or number of a run: rises in order of arrival */
	uint32_t kind;
};

struct row_run {
	uint64_t from, to; /* range in the file */
	uint64_t at;	   /* position of the next read */
	uint8_t *buffer;   /* NULL: nothing is left of the run */
	size_t used, next; /* offsets in the buffer */
};

_Static_assert(sizeof(struct row_gpu) <= ROW_MAX && sizeof(struct row_memory) <= ROW_MAX &&
		       sizeof(struct row_sync) <= ROW_MAX && sizeof(struct row_cuda_memory) <= ROW_MAX,
	       "rows of every kind fit");

void rows_open(struct rows *rows)
{
	*rows = (struct rows){.piece_bytes = PIECE_BYTES, .fd = -1, .start_ns = UINT64_MAX};
}

static void free_runs(struct rows *rows)
{
	for (size_t i = 0; i < rows->runs.count; i++) {
		free(rows->runs.items[i].buffer);
		rows->runs.items[i].buffer = NULL;
	}
}

void rows_close(struct rows *rows)
{
	free_runs(rows);
	rows->used = 0;
	array_free(&rows->runs);
	array_free(&rows->places);
	free(rows->piece);
	free(rows->heap);
	if (rows->fd >= 0)
		close(rows->fd);
	lookup_free(&rows->text_lookup);
	array_free_items(&rows->text_blocks);
	array_free(&rows->texts);
	rows->fd = -1;
	rows->piece = NULL;
	rows->heap = NULL;
}

/* ---- the temporary file ------------------------------------------------------------------------------------------ */

static void write_all(struct rows *rows, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size && !rows->error) {
		ssize_t wrote = pwrite(rows->fd, at, size, (off_t)rows->written);

		if (wrote < 0 && errno != EINTR)
			rows->error = -errno;
		if (wrote <= 0)
			continue;
		at += wrote;
		size -= (size_t)wrote;
		rows->written += (uint64_t)wrote;
	}
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

/* Enclosing rows first; else in order of arrival. */
DEFINE_ORDER(by_time, struct row_place,
	     lower_first(a->start_ns, b->start_ns) ?: higher_first(a->end_ns, b->end_ns) ?:
	     lower_first(a->kind, b->kind) ?: lower_first(a->at, b->at))

static void add_place(struct rows *rows, size_t at)
{
	const struct row *row = (const struct row *)(const void *)(rows->piece + at);

	array_push(&rows->places, ((struct row_place){row->start_ns, row->end_ns, (uint32_t)at, row->kind}));
}

/* At the first row that is out of order: adds places for all rows so far. */
static void begin_places(struct rows *rows)
{
	rows->disordered = true;
	for (size_t at = 0; at < rows->used;) {
		add_place(rows, at);
		at += ((const struct row *)(const void *)(rows->piece + at))->size;
	}
}

static bool comes_behind(const struct rows *rows, const struct row *row)
{
	struct row_place before = {rows->latest_start_ns, rows->latest_end_ns, 0, rows->latest_kind};
	struct row_place now = {row->start_ns, row->end_ns, 1, row->kind};

	return row->start_ns > before.start_ns || by_time(&before, &now) < 0;
}

static void sort_piece(struct rows *rows)
{
	if (rows->disordered)
		array_sort(&rows->places, by_time);
}

static const struct row *row_at(const struct rows *rows, size_t place)
{
	return (const struct row *)(const void *)(rows->piece + rows->places.items[place].at);
}

/* Writes the piece's rows in sorted order. */
static void write_gathered(struct rows *rows)
{
	static const size_t gathered_bytes = 1u << 20;
	AUTO_FREE uint8_t *gathered = xmalloc(gathered_bytes);
	size_t count = 0;

	for (size_t i = 0; i < rows->places.count; i++) {
		const struct row *row = row_at(rows, i);

		if (count + row->size > gathered_bytes) {
			write_all(rows, gathered, count);
			count = 0;
		}
		memcpy(gathered + count, row, row->size);
		count += row->size;
	}
	write_all(rows, gathered, count);
}

static void write_piece(struct rows *rows)
{
	struct row_run run = {.from = rows->written};

	if (rows->fd < 0)
		rows->fd = temporary_open();
	if (rows->fd < 0) {
		rows->error = rows->fd;
		return;
	}
	sort_piece(rows);
	if (rows->disordered)
		write_gathered(rows);
	else
		write_all(rows, rows->piece, rows->used);
	run.to = rows->written;
	array_push(&rows->runs, run);
	rows->places.count = 0;
	rows->disordered = false;
	rows->before += rows->used;
	rows->used = 0;
}

uint64_t rows_add(struct rows *rows, const struct row *row, size_t size)
{
	struct row *copy;
	uint64_t at;

	size = (size + 7) & ~(size_t)7;
	if (rows->error)
		return UINT64_MAX;
	if (rows->used + size > rows->piece_bytes)
		write_piece(rows);
	rows->piece = array_reserve(rows->piece, 1, rows->used, size, &rows->capacity);
	if (rows->used && !rows->disordered && !comes_behind(rows, row))
		begin_places(rows);
	copy = (struct row *)(void *)(rows->piece + rows->used);
	memcpy(copy, row, size);
	copy->size = (uint32_t)size;
	if (rows->disordered)
		add_place(rows, rows->used);
	rows->latest_start_ns = row->start_ns;
	rows->latest_end_ns = row->end_ns;
	rows->latest_kind = row->kind;
	at = rows->before + rows->used;
	rows->used += size;
	rows->count++;
	rows->has_ownerless |= !row->pid && (row->kind == ROW_GPU || row->kind == ROW_SYNC);
	rows->has_functions |= row->kind == ROW_FUNCTION;
	rows->bytes += size;
	if (row->start_ns < rows->start_ns)
		rows->start_ns = row->start_ns;
	rows_see_end(rows, row->end_ns);
	return at;
}

struct row *rows_kept(struct rows *rows, uint64_t at)
{
	return at >= rows->before && at - rows->before < rows->used
		       ? (struct row *)(void *)(rows->piece + (at - rows->before))
		       : NULL;
}

void rows_see_end(struct rows *rows, uint64_t end_ns)
{
	if (end_ns > rows->end_ns)
		rows->end_ns = end_ns;
}

int rows_sort(struct rows *rows)
{
	if (rows->runs.count && rows->used && !rows->error)
		write_piece(rows);
	else
		sort_piece(rows);
	if (rows->runs.count) {
		free(rows->piece);
		rows->piece = NULL;
		array_free(&rows->places);
		rows->heap = xcalloc(rows->runs.count, sizeof(*rows->heap));
	}
	return rows->error;
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

static const struct row *first_of(const struct row_run *run)
{
	return (const struct row *)(const void *)(run->buffer + run->next);
}

/* Gets a whole row into the buffer; false: the run is over, or an error. */
static bool fill_buffer(struct rows *rows, struct row_run *run)
{
	size_t left = run->used - run->next;

	if (left >= sizeof(struct row) && left >= first_of(run)->size)
		return true;
	memmove(run->buffer, run->buffer + run->next, left);
	run->next = 0;
	run->used = left;
	while (run->used < RUN_BYTES && run->at < run->to) {
		size_t most = RUN_BYTES - run->used;
		ssize_t got = pread(rows->fd, run->buffer + run->used,
				    run->to - run->at < most ? run->to - run->at : most, (off_t)run->at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			rows->error = got < 0 ? -errno : -EIO;
			return false;
		}
		run->used += (size_t)got;
		run->at += (uint64_t)got;
	}
	return run->used > 0;
}

/* The sort key of the run's next row: `at` is the run. */
static struct row_place place_of(const struct rows *rows, uint32_t run)
{
	const struct row *row = first_of(&rows->runs.items[run]);

	return (struct row_place){row->start_ns, row->end_ns, run, row->kind};
}

static void sink_down(struct rows *rows, size_t at)
{
	struct row_place *heap = rows->heap, place = heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < rows->heap_count && by_time(&heap[child + 1], &heap[child]) < 0)
			child++;
		if (child >= rows->heap_count || by_time(&heap[child], &place) >= 0)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = place;
}

int rows_again(struct rows *rows)
{
	rows->next = 0;
	rows->heap_count = 0;
	for (uint32_t i = 0; i < rows->runs.count && !rows->error; i++) {
		struct row_run *run = &rows->runs.items[i];

		if (!run->buffer)
			run->buffer = xmalloc(RUN_BYTES);
		run->at = run->from;
		run->used = run->next = 0;
		if (fill_buffer(rows, run))
			rows->heap[rows->heap_count++] = place_of(rows, i);
	}
	for (size_t i = rows->heap_count / 2; i-- > 0;)
		sink_down(rows, i);
	/* the next rows_next returns the first row and advances nothing */
	if (rows->heap_count)
		rows->next = SIZE_MAX;
	return rows->error;
}

/* Steps past the row that was returned last. */
static void advance_run(struct rows *rows)
{
	uint32_t number = rows->heap[0].at;
	struct row_run *run = &rows->runs.items[number];

	run->next += first_of(run)->size;
	if (fill_buffer(rows, run))
		rows->heap[0] = place_of(rows, number);
	else
		rows->heap[0] = rows->heap[--rows->heap_count];
	if (rows->heap_count > 1)
		sink_down(rows, 0);
}

static const struct row *next_of_piece(struct rows *rows)
{
	const struct row *row;

	if (rows->disordered)
		return rows->next < rows->places.count ? row_at(rows, rows->next++) : NULL;
	if (rows->next >= rows->used)
		return NULL;
	row = (const struct row *)(const void *)(rows->piece + rows->next);
	rows->next += row->size;
	return row;
}

const struct row *rows_next(struct rows *rows)
{
	if (rows->error)
		return NULL;
	if (!rows->runs.count)
		return next_of_piece(rows);
	if (rows->next == SIZE_MAX)
		rows->next = 0;
	else if (rows->heap_count)
		advance_run(rows);
	return rows->heap_count && !rows->error ? first_of(&rows->runs.items[rows->heap[0].at]) : NULL;
}
