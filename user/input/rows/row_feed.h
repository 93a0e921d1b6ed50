/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passes the sorted rows of another tool's file on to a builder.  Keeps what a row alone does not say: the Python
 * functions that are open in a thread (the stack of what begins inside), and the process of each correlation id.
 */
#pragma once

#include "input/rows/foreign_file.h"
#include "model/builder.h"

struct row_feed;
struct row_owners;

/* Takes over the owners (row_owners.h), which have learned. */
struct row_feed *row_feed_new(const struct foreign_file *file, struct row_owners *owners);
void row_feed_free(struct row_feed *feed);

/* One pass over the file, for one builder. */
void row_feed_begin(struct row_feed *feed, struct builder *builder);
void row_feed_row(struct row_feed *feed, struct builder *builder, const struct row *row);
void row_feed_end(struct row_feed *feed, struct builder *builder);
