/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Rows for slices that must not overlap on one track, e.g. the slices of a stream or a thread's compilations.  A slice
 * that overlaps, such as a concurrent kernel of a graph, goes to another row of the same key.  Handles only times and
 * keys.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"
#include "base/tally.h"

#define ROW_NONE UINT32_MAX

/* A GPU runs at most 128 kernels at once (CUDA C++ guide, table of technical specifications). */
#define ROWS_MAX 256

struct slice_row {
	struct tally_key key;
	uint32_t number; /* 0: for slices of the key that do not overlap */
	uint32_t first;	 /* row 0 of the same key */
	uint32_t next;	 /* ROW_NONE: none */
	uint64_t last_end_ns;
};

/* Starts zeroed. */
struct slice_rows {
	ARRAY(struct slice_row) all;
	struct tally by_key; /* more: index of row 0 + 1 */
};

/*
 * The row for a slice; slices of one key must come by start, or all by end.  ROW_NONE: more than ROWS_MAX overlap.  An
 * open slice ends at UINT64_MAX until the caller sets the row's last_end_ns.
 */
uint32_t slice_rows_place(struct slice_rows *rows, struct tally_key key, uint64_t start_ns, uint64_t end_ns);

/* Row 0 of a key, created for slices that may follow. */
uint32_t slice_rows_reserve(struct slice_rows *rows, struct tally_key key);

/* The same without creating it; ROW_NONE: there is none. */
uint32_t slice_rows_first(struct slice_rows *rows, struct tally_key key);

void slice_rows_free(struct slice_rows *rows);

/* The rows of one kind of slices, and the rows of the current part's slices. */
struct placed {
	struct slice_rows rows;
	uint32_t from, end; /* slices of the part, by index in the model */
	uint32_t *row_of;   /* by index less `from`; ROW_NONE: not in the timeline */
	size_t room;
	ARRAY(uint32_t) tracks; /* by row; tracks of new rows are added once the part is placed */
};

/* Begins a part of the trace, with the slices [from, end) of the model; none has a row yet. */
void placed_begin(struct placed *placed, uint32_t from, uint32_t end);

/* The row of a slice in the part, ROW_NONE; and the track of a slice that has a row. */
static inline uint32_t placed_row(const struct placed *placed, uint32_t index)
{
	return placed->row_of[index - placed->from];
}

static inline uint32_t placed_track(const struct placed *placed, uint32_t index)
{
	return placed->tracks.items[placed_row(placed, index)];
}
