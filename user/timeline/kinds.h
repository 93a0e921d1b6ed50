/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each function hands over a part's slices of one kind, by start, until the visitor stops. */
#pragma once

#include "timeline/timeline.h"

struct visit;

#define TIMELINE_VISIT(many) void visit_##many(struct visit *visit);
TIMELINE_VISITS(TIMELINE_VISIT)
#undef TIMELINE_VISIT
