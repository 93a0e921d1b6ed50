/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What agents report of calls that a log leaves out as they come after its end: the log leaves that out, too.  Goes by
 * the correlation ids of these calls, not by times: the GPU may run work long after its launch.
 */
#pragma once

#include <gputrace/record.h>

#include "base/lookup.h"

struct later_work {
	struct lookup calls; /* (pid, correlation id) of those that were left out */
};

void later_work_free(struct later_work *later);

/* The record is of a call that is left out; of other records nothing is noted. */
void later_work_note(struct later_work *later, const struct gpt_record *record);

/*
 * Returns the record, or, if it is a batch with work of noted calls, `room` with the rest of it.  room: at least
 * record->size bytes, 8-byte aligned; the record may lie there already.
 */
const struct gpt_record *later_work_cut(const struct later_work *later, const struct gpt_record *record,
					struct gpt_record *room);
