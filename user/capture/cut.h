/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What of a record belongs to a recording.  One may end at a certain time.  Probes are in place for a while after that,
 * and agents go on until they notice: a call that comes then is not of the recording, nor is what an agent says of that
 * time.  GPU work is not cut here: it belongs to its launch (model/join/join_outside.c).
 */
#ifndef GPUTRACE_CAPTURE_CUT_H
#define GPUTRACE_CAPTURE_CUT_H

#include <stdint.h>

#include <gputrace/record.h>

/*
 * The record, `room` with those parts of a batch that belong, or NULL: it does not belong.  room: at least
 * record->size bytes, 8-byte aligned.
 */
const struct gpt_record *cut_at(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room);

/*
 * The record without what an agent says of a schedule, as for a recording that has none: it is another gputrace's,
 * which traces the same process.  room: as above; the record may lie there already.
 */
const struct gpt_record *cut_schedule(const struct gpt_record *record, struct gpt_record *room);

#endif
