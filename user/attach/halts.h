/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Followed processes that others keep from running for a while: their agents cannot answer meanwhile. */
#pragma once

#include "attach/followed.h"

/* Looks which of those with an agent at work are halted (target/halt.h). */
void halts_look(struct processes *processes, uint64_t now_ns);

/* Notes, once, for how long the process was halted. Called when it has ended. */
void halts_report(const struct processes *processes, struct followed *process);

/* At the end of a trace, when the agents had time to stop: also notes whose agent cannot answer now. */
void halts_report_all(struct processes *processes);
