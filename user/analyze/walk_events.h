/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What analyses get of one event: the event, and what it was joined with. */
#ifndef GPUTRACE_ANALYZE_WALK_EVENTS_H
#define GPUTRACE_ANALYZE_WALK_EVENTS_H

#include "analyze/walk.h"

/* The index: where it stands in the order of its kind in this part; it is taken already. */
void walk_feed(struct walk *walk, enum walk_kind kind, uint32_t index);

#endif
