/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cuts records at the end of a recording.  A recording may end at a given time, but probes stay in place for a while
 * after that, and agents go on until they notice.  A call of that time does not belong to the recording, nor does what
 * an agent reports of it.  GPU work is not cut here: it belongs to its launch (model/join/join_outside.c).
 */
#ifndef GPUTRACE_CAPTURE_CUT_H
#define GPUTRACE_CAPTURE_CUT_H

#include <stdint.h>

#include <gputrace/record.h>

/*
 * Returns the record itself, or `room` with the part of it that belongs to the recording, or NULL: it does not belong.
 * room: at least record->size bytes, 8-byte aligned.
 */
const struct gpt_record *cut_at(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room);

/*
 * Returns the record without an agent's records of a schedule, for a recording that has none: the schedule is that of
 * another gputrace that traces the same process.  room: as above; the record may lie there already.
 */
const struct gpt_record *cut_schedule(const struct gpt_record *record, struct gpt_record *room);

#endif
