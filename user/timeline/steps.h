/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps of training as slices of a timeline.  They are on the track of their thread, as in torch.profiler, if they are
 * known to nest with everything there; else they have a track of their own.
 */
#pragma once

#include "timeline/timeline.h"

/* Finds the steps of the timeline; must be called before tracks are added. */
void timeline_steps_begin(struct timeline *timeline);
