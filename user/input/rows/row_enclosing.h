/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The NVTX ranges and ops that are open in each thread of another tool's file: in a file without Python the innermost
 * one is the place of a call.  A range counts in the thread that began it, if the file has its end.
 */
#pragma once

#include "input/rows/rows.h"

struct foreign_file;
struct row_enclosing;

/* Open ones of a thread that are kept; inside further ones the last of these is the place. */
#define ROW_ENCLOSING_MAX 256u

/* NULL: the file has Python, or gputrace recorded it. */
struct row_enclosing *row_enclosing_new(const struct foreign_file *file);
void row_enclosing_free(struct row_enclosing *enclosing);

/* One pass, for one builder; all of it does nothing for NULL. */
void row_enclosing_begin(struct row_enclosing *enclosing);
void row_enclosing_add_range(struct row_enclosing *enclosing, const struct row_range *range);
void row_enclosing_add_op(struct row_enclosing *enclosing, const struct row_op *op);

/* The innermost one when a row begins, valid until the next is added; NULL: none. */
struct new_enclosing *row_enclosing_find(struct row_enclosing *enclosing, const struct row *row);
