/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups, tracks and counters of a timeline. */
#ifndef GPUTRACE_TIMELINE_TRACKS_H
#define GPUTRACE_TIMELINE_TRACKS_H

#include "base/tally.h"
#include "model/model.h"
#include "timeline/timeline.h"

/* With the first part: groups for the processes; process as for timeline_new. */
void timeline_add_processes(struct timeline *timeline, int process);

/* Of each part: counters that were not there before.  seen: starts zeroed, freed by the caller. */
void timeline_add_counters(struct timeline *timeline, struct tally *seen);

/* With the last part, when everything is placed: whether several processes are active, the other groups, all tracks. */
void timeline_add_tracks(struct timeline *timeline);

/* Whose memory a model_memory counts to: the key of its counter. */
struct tally_key timeline_counter_key(const struct model_memory *memory);

#endif
