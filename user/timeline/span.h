/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From when to when a timeline goes. */
#ifndef GPUTRACE_TIMELINE_SPAN_H
#define GPUTRACE_TIMELINE_SPAN_H

#include "timeline/timeline.h"

/* After the placement of a part: widens start_ns and end_ns.  first: of the parts. */
void timeline_span_part(struct timeline *timeline, bool first);

/* After the last part. */
void timeline_span_finish(struct timeline *timeline);

#endif
