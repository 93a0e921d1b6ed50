/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of idle.h share. */
#ifndef GPUTRACE_ANALYZE_IDLE_INTERNAL_H
#define GPUTRACE_ANALYZE_IDLE_INTERNAL_H

#include "analyze/why/idle.h"

/* Of what a thread does at one time the last of these counts. */
enum why_rank { WHY_RANK_PEER = 1, WHY_RANK_DATA, WHY_RANK_CALL, WHY_RANK_IMPORT, WHY_RANK_GC, WHY_RANK_COMPILE };

#endif
