/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arguments of collectives' ops and kernels, as in Kineto. */
#pragma once

#include "model/collectives.h"
#include "timeline/visit.h"

/* Adds the arguments to an op or a kernel; collective NULL: adds none.  The draft refers to *room. */
void draft_collective(struct draft *draft, const struct model *model, const struct model_collective *collective,
		      bool of_kernel, struct collective *room);
