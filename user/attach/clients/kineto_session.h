/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a torch.profiler is in a session, read from its own memory. */
#pragma once

#include "attach/probes/probes.h"

/* Where a process keeps that flag; valid until its next exec. Zeroed: not known yet. */
struct kineto_place {
	bool known;
	struct kineto_flag flag;
	uint64_t bias;
};

/*
 * Checks a process that has these files mapped: 1 yes, 0 no, -errno if one of its PyTorchs does not show it. A session
 * that starts later is reported by the probes on CUPTI, which must be attached before. Once the place is known a check
 * is three small reads of memory.
 */
int kineto_session_lasts(pid_t pid, struct files *files, struct probed_file *const *mapped, size_t count,
			 struct kineto_place *place);
