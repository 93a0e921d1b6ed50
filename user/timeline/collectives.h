/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of the ops and the kernels of collectives, as Kineto gives them. */
#ifndef GPUTRACE_TIMELINE_COLLECTIVES_H
#define GPUTRACE_TIMELINE_COLLECTIVES_H

#include "model/collectives.h"
#include "timeline/visit.h"

/* Of an op, or of a kernel; collective NULL: nothing.  The draft refers to *room. */
void draft_collective(struct draft *draft, const struct model *model, const struct model_collective *collective,
		      bool of_kernel, struct collective *room);

#endif
