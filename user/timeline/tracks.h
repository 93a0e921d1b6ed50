/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups, tracks and counters of a timeline. */
#ifndef GPUTRACE_TIMELINE_TRACKS_H
#define GPUTRACE_TIMELINE_TRACKS_H

#include "base/tally.h"
#include "model/model.h"
#include "timeline/timeline.h"

/* With the first part: groups for the processes and for CUPTI, whether several processes are active. */
void timeline_add_processes(struct timeline *timeline, int process);

/* Of each part, when it is placed: counters, GPUs and tracks that were not there before. */
void timeline_add_counters(struct timeline *timeline);
void timeline_add_tracks(struct timeline *timeline);

/* With the last part. */
void timeline_find_busiest(struct timeline *timeline);

/* Whose memory a model_memory counts to: the key of its counter. */
struct tally_key timeline_counter_key(const struct model_memory *memory);

#endif
