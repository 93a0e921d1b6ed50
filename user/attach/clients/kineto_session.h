/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a torch.profiler is in the middle of a session, as its own memory says. */
#ifndef GPUTRACE_ATTACH_CLIENTS_KINETO_SESSION_H
#define GPUTRACE_ATTACH_CLIENTS_KINETO_SESSION_H

#include "attach/probes/probes.h"

/* Of a process, until it executes another program: where it says so. Zeros: not known yet. */
struct kineto_place {
	bool known;
	struct kineto_flag flag;
	uint64_t bias;
};

/*
 * In a process that has these files mapped: 1 yes, 0 no, -errno where one of its PyTorchs does not say.  A session
 * that begins later shows itself to the probes on CUPTI, which must be there before.  Once the place is known a look is
 * three small reads of memory.
 */
int kineto_session_lasts(pid_t pid, struct files *files, struct probed_file *const *mapped, size_t count,
			 struct kineto_place *place);

#endif
