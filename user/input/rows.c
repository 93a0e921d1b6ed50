/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sorting in pieces and merging them; see rows.h. */
#include "input/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (64u << 20)
#define RUN_BYTES (256u << 10) /* read ahead of each run */
#define ROW_MAX 512u
#define TEXT_BLOCK (1u << 20)
#define TEXT_BYTES_MAX (256u << 20)
#define TEXT_MAX (16u << 10)

struct row_place {
	uint64_t start_ns, end_ns;
	uint32_t at; /* in the piece; rises as rows came, and so do runs */
	uint32_t kind;
};

struct row_run {
	uint64_t from, to; /* in the file */
	uint64_t at;	   /* of what is read next */
	uint8_t *buffer;   /* NULL: nothing is left of it */
	size_t used, next; /* in the buffer */
};

_Static_assert(sizeof(struct row_gpu) <= ROW_MAX && sizeof(struct row_memory) <= ROW_MAX &&
		       sizeof(struct row_sync) <= ROW_MAX && sizeof(struct row_cuda_memory) <= ROW_MAX,
	       "rows of every kind fit");

void rows_open(struct rows *rows)
{
	*rows = (struct rows){.piece_bytes = PIECE_BYTES, .fd = -1, .start_ns = UINT64_MAX, .seed = hash_seed()};
	lookup_init(&rows->text_lookup, rows->seed);
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
	array_free(&rows->runs);
	array_free(&rows->places);
	free(rows->piece);
	free(rows->heap);
	if (rows->fd >= 0)
		close(rows->fd);
	lookup_free(&rows->text_lookup);
	for (size_t i = 0; i < rows->text_blocks.count; i++)
		free(rows->text_blocks.items[i]);
	array_free(&rows->text_blocks);
	array_free(&rows->texts);
	rows->fd = -1;
	rows->piece = NULL;
	rows->heap = NULL;
}

/* ---- the temporary file ------------------------------------------------------------------------------------------ */

/* Has no name, or loses it at once, and is nobody else's to read. */
static int open_temporary(void)
{
	const char *directories[] = {getenv("TMPDIR"), "/var/tmp", "."};
	int err = -ENOENT;

	for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
		char *name;
		int fd;

		if (!directories[i] || !*directories[i])
			continue;
		name = xasprintf("%s/gputrace-rows-XXXXXX", directories[i]);
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0)
			unlink(name);
		else
			err = -errno;
		free(name);
		if (fd >= 0)
			return fd;
	}
	return err;
}

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

/* What is around others first; else as they came. */
static int by_time(const void *a, const void *b)
{
	const struct row_place *one = a, *other = b;

	if (one->start_ns != other->start_ns)
		return one->start_ns < other->start_ns ? -1 : 1;
	if (one->end_ns != other->end_ns)
		return one->end_ns > other->end_ns ? -1 : 1;
	if (one->kind != other->kind)
		return one->kind < other->kind ? -1 : 1;
	return one->at < other->at ? -1 : one->at > other->at;
}

static bool is_sorted(const struct rows *rows)
{
	for (size_t i = 1; i < rows->places.count; i++)
		if (by_time(&rows->places.items[i - 1], &rows->places.items[i]) > 0)
			return false;
	return true;
}

static void sort_piece(struct rows *rows)
{
	if (!is_sorted(rows))
		qsort(rows->places.items, rows->places.count, sizeof(*rows->places.items), by_time);
}

static const struct row *row_at(const struct rows *rows, size_t place)
{
	return (const struct row *)(const void *)(rows->piece + rows->places.items[place].at);
}

static void write_piece(struct rows *rows)
{
	static const size_t gathered_bytes = 1u << 20;
	uint8_t *gathered;
	size_t count = 0;
	struct row_run run = {.from = rows->written};

	if (rows->fd < 0)
		rows->fd = open_temporary();
	if (rows->fd < 0) {
		rows->error = rows->fd;
		return;
	}
	gathered = xmalloc(gathered_bytes);
	sort_piece(rows);
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
	free(gathered);
	run.to = rows->written;
	array_push(&rows->runs, run);
	rows->places.count = 0;
	rows->used = 0;
}

void rows_add(struct rows *rows, const struct row *row, size_t size)
{
	struct row_place place = {row->start_ns, row->end_ns, 0, row->kind};
	struct row *copy;

	size = (size + 7) & ~(size_t)7;
	if (rows->error)
		return;
	if (rows->used + size > rows->piece_bytes)
		write_piece(rows);
	rows->piece = array_reserve(rows->piece, 1, rows->used, size, &rows->capacity);
	place.at = (uint32_t)rows->used;
	copy = (struct row *)(void *)(rows->piece + rows->used);
	memcpy(copy, row, size);
	copy->size = (uint32_t)size;
	array_push(&rows->places, place);
	rows->used += size;
	rows->count++;
	rows->bytes += size;
	if (row->start_ns < rows->start_ns)
		rows->start_ns = row->start_ns;
	if (row->end_ns > rows->end_ns)
		rows->end_ns = row->end_ns;
}

int rows_sort(struct rows *rows)
{
	if (rows->runs.count && rows->places.count && !rows->error)
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

/* A whole row in the buffer; false: the run is over, or error. */
static bool fill(struct rows *rows, struct row_run *run)
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

/* The run's next row, as what it is compared by: `at` is the run. */
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
		if (fill(rows, run))
			rows->heap[rows->heap_count++] = place_of(rows, i);
	}
	for (size_t i = rows->heap_count / 2; i-- > 0;)
		sink_down(rows, i);
	/* the first row is that of the first run, and is passed over when the next one is asked for */
	if (rows->heap_count)
		rows->next = SIZE_MAX;
	return rows->error;
}

/* Behind the row that was given last. */
static void advance(struct rows *rows)
{
	uint32_t number = rows->heap[0].at;
	struct row_run *run = &rows->runs.items[number];

	run->next += first_of(run)->size;
	if (fill(rows, run))
		rows->heap[0] = place_of(rows, number);
	else
		rows->heap[0] = rows->heap[--rows->heap_count];
	if (rows->heap_count)
		sink_down(rows, 0);
}

const struct row *rows_next(struct rows *rows)
{
	if (rows->error)
		return NULL;
	if (!rows->runs.count)
		return rows->next < rows->places.count ? row_at(rows, rows->next++) : NULL;
	if (rows->next == SIZE_MAX)
		rows->next = 0;
	else if (rows->heap_count)
		advance(rows);
	return rows->heap_count && !rows->error ? first_of(&rows->runs.items[rows->heap[0].at]) : NULL;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static const char *keep_text(struct rows *rows, const char *bytes, size_t size)
{
	char *kept;

	if (!rows->text_blocks.count || rows->text_used + size > TEXT_BLOCK) {
		array_push(&rows->text_blocks, xmalloc(TEXT_BLOCK));
		rows->text_used = 0;
	}
	kept = rows->text_blocks.items[rows->text_blocks.count - 1] + rows->text_used;
	memcpy(kept, bytes, size);
	rows->text_used += size;
	return kept;
}

uint32_t rows_text(struct rows *rows, const char *bytes, size_t size)
{
	uint64_t hash;
	uint32_t *found;

	if (!size)
		bytes = "";
	if (size > TEXT_MAX)
		size = TEXT_MAX;
	hash = hash_bytes(rows->seed, bytes, size);
	found = lookup_put(&rows->text_lookup, 1, hash, ROW_NO_TEXT);
	if (*found != ROW_NO_TEXT && rows->texts.items[*found].size == size &&
	    !memcmp(rows->texts.items[*found].bytes, bytes, size))
		return *found;
	if (rows->text_bytes + size > TEXT_BYTES_MAX || rows->texts.count >= ROW_NO_TEXT >> 2)
		return *found = ROW_NO_TEXT;
	rows->text_bytes += size + sizeof(struct text) + sizeof(struct lookup_entry);
	/* two texts of one hash: both are kept, the latest is found */
	*found = (uint32_t)rows->texts.count;
	array_push(&rows->texts, ((struct text){.bytes = keep_text(rows, bytes, size), .size = size}));
	return *found;
}
