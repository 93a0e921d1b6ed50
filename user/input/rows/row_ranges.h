/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * NVTX ranges of another tool's file, which has start and end in one row.  Keeps the open pushed ranges by thread and
 * domain, so that each pop matches its own push even if one range ends when the next begins.
 */
#pragma once

#include "input/rows/rows.h"
#include "model/builder.h"

struct foreign_file;
struct row_ranges;

struct row_ranges *row_ranges_new(const struct foreign_file *file);
void row_ranges_free(struct row_ranges *ranges);

/*
 * The rows of a range whose start and end the file has in one entry. PUSH gets a second row for its end. what: MARK,
 * PUSH or START.
 */
void row_ranges_add(struct rows *rows, const struct row_range *range, bool ended);

/* One pass, for one builder. */
void row_ranges_begin(struct row_ranges *ranges);
bool row_ranges_feed(struct row_ranges *ranges, struct builder *builder, const struct row_range *range);
