/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which descriptions a reader has returned since the last gap in what it reads.  A segment repeats what it refers to,
 * also what only segments in the gap described: that must be returned, and what has been returned need not be again.
 * Goes by content: a description that was replaced by another one comes again as a record of its own, which is returned
 * in any case.
 */
#pragma once

#include <stdbool.h>

#include <gputrace/record.h>

#include "base/lookup.h"

struct returned {
	struct lookup hashes; /* of descriptions */
};

void returned_open(struct returned *returned);
void returned_close(struct returned *returned);

/* A gap: forgets all. */
void returned_forget(struct returned *returned);

/* Notes what the record describes, if anything; false: all of that was noted before. */
bool returned_note(struct returned *returned, const struct gpt_record *record);
