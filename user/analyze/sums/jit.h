/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Lines that made the driver compile: a program without code for this GPU pays for it at its first launches. */
#ifndef GPUTRACE_ANALYZE_JIT_H
#define GPUTRACE_ANALYZE_JIT_H

#include "analyze/events.h"
#include "analyze/lines.h"

struct jit_row {
	uint32_t line;
	uint8_t operation; /* enum gpt_agent_jit_operation */
	uint8_t entry;	   /* enum gpt_agent_jit_entry */
	uint64_t ns, count;
};

struct jit {
	struct tally callers; /* caller, operation, entry */
	struct jit_row *rows; /* most time first */
	size_t count;
};

void jit_free(struct jit *jit);
void jit_add_jit(struct jit *jit, const struct jit_event *event);
void jit_finish(struct jit *jit, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_JIT(X)                                                                                                \
	X(JIT, jit, jit_add_jit(&all->jit, event))                                                                     \
	X(JIT, finish, jit_finish(&all->jit, event->lines))                                                            \
	X(JIT, free, jit_free(&all->jit))

#endif
