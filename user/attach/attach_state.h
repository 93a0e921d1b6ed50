/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What attach.c and notice.c share, and nobody else. */
#ifndef GPUTRACE_ATTACH_STATE_H
#define GPUTRACE_ATTACH_STATE_H

#include "attach/agents.h"
#include "attach/attach.h"
#include "attach/files.h"
#include "attach/processes.h"
#include "attach/symbols.h"

struct attach {
	struct attach_options options;
	struct programs programs;
	struct files files;
	struct processes processes;
	struct agents agents;
	struct rides rides;
	struct symbols *symbols;
	struct links lifecycle;
	struct probed_file *agent; /* our own library, probed before anyone has loaded it */
	attach_emit emit;
	void *emit_context;
	bool reconcile; /* what is wanted may have changed */
	uint64_t agents_checked_ns;
};

/* The agent's file in a process; the one that it will load, when it has not yet. */
const struct probed_file *attach_process_agent(const struct attach *attach, const struct followed *process);

#endif
