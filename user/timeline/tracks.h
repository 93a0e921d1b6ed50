/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The groups, tracks and counters of a timeline. */
#pragma once

#include "base/tally.h"
#include "model/model.h"
#include "timeline/timeline.h"

/* With the first part: groups for the processes and for CUPTI, whether several processes are active. */
void timeline_add_processes(struct timeline *timeline, int process);

/* For each part, once it is placed: adds its new counters, GPUs and tracks. */
void timeline_add_counters(struct timeline *timeline);
void timeline_add_tracks(struct timeline *timeline);

/* Called with the last part. */
void timeline_find_busiest(struct timeline *timeline);

/* The key of the counter to which a model_memory counts. */
struct tally_key timeline_counter_key(const struct model_memory *memory);
