/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Launches that should have GPU times and have none, by Python line. */
#ifndef GPUTRACE_ANALYZE_UNTIMED_H
#define GPUTRACE_ANALYZE_UNTIMED_H

#include "analyze/events.h"
#include "analyze/lines.h"

struct untimed_row {
	uint32_t line;
	uint32_t process; /* PROCESS_MANY: several */
	uint64_t launches;
};

struct untimed {
	struct tally callers; /* caller, process */
	struct tally firsts;  /* process; ns: time of its first launch without GPU times */
	uint64_t launches;
	struct untimed_row *rows; /* most launches first */
	size_t count;
};

void untimed_free(struct untimed *untimed);
void untimed_add_call(struct untimed *untimed, const struct call_event *event);
/* The earliest time from which a process has GPU times. */
uint64_t untimed_end(struct untimed *untimed, const struct model *model, const struct window *window);

void untimed_finish(struct untimed *untimed, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_UNTIMED(X)                                                                                            \
	X(UNTIMED, call, untimed_add_call(&all->untimed, event))                                                       \
	X(UNTIMED, finish, untimed_finish(&all->untimed, event->lines))                                                \
	X(UNTIMED, free, untimed_free(&all->untimed))

#endif
