/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training as slices of a timeline.  They are on the track of their thread, as torch.profiler has them, where
 * they are known to nest with all that is there; else they have a track of their own.
 */
#ifndef GPUTRACE_TIMELINE_STEPS_H
#define GPUTRACE_TIMELINE_STEPS_H

#include "timeline/timeline.h"

/* Before tracks are added: which steps the timeline has. */
void timeline_steps_begin(struct timeline *timeline);

#endif
