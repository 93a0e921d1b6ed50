/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From when to when a timeline goes. */
#ifndef GPUTRACE_TIMELINE_SPAN_H
#define GPUTRACE_TIMELINE_SPAN_H

#include "timeline/timeline.h"

/* After the placement: fills start_ns and end_ns in. */
void timeline_find_span(struct timeline *timeline);

#endif
