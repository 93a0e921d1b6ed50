/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From when to when a timeline goes. */
#ifndef GPUTRACE_TIMELINE_SPAN_H
#define GPUTRACE_TIMELINE_SPAN_H

#include "timeline/timeline.h"

/* After the placement of a part: widens end_ns, and with the first one start_ns. */
void timeline_span_part(struct timeline *timeline, bool first);

#endif
