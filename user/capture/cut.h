/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Cuts from records what does not belong to a recording: what was not asked for, and what comes after its end.  A
 * recording may end at a given time, but probes stay in place for a while after that, and agents go on until they
 * notice.  A call of that time does not belong to the recording, nor does what an agent reports of it.  GPU work is not
 * cut here: it belongs to its launch (model/join/join_outside.c).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>
#include <gputrace/schedule.h>

/*
 * Returns the record itself, or `room` with the part of it that belongs to the recording, or NULL: it does not belong.
 * room: at least record->size bytes, 8-byte aligned; the record may lie there already.
 */
const struct gpt_record *cut_at(const struct gpt_record *record, uint64_t end_ns, struct gpt_record *room);

/*
 * The same before a recording that waits for its moment: what is over by `before_ns`, which is well before the start,
 * and is no part of what comes later: calls, samples, waits, GPU work and ops.  left_out: is increased by the number of
 * calls.  What describes (code, stacks, names, nodes of graphs), and what may still be open then (ranges, functions),
 * stays.  room: as above; the record may lie there already.
 */
const struct gpt_record *cut_before(const struct gpt_record *record, uint64_t before_ns, struct gpt_record *room,
				    uint64_t *left_out);

/* What the recording asks of agents besides GPU work. */
struct agent_request {
	bool ops, torch_memory;
	struct gpt_schedule schedule; /* active 0: none */
};

/*
 * A batch comes from a process, which may belong to anyone, or to another gputrace, too.  Returns the record itself, or
 * `room` with the part of the batch that consists of whole records which the recording has asked for, or NULL: it is no
 * batch.  malformed: the batch had bytes that are no whole record.  room: as above; the record does not lie there.
 */
const struct gpt_record *cut_unasked(const struct gpt_record *record, const struct agent_request *asked,
				     struct gpt_record *room, bool *malformed);
