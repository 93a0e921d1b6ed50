/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPU time by Python line, from samples (--cpu): a line's own time, and that of all that ran under it; the number of
 * threads, and the native function with most of the line's own time.
 */
#pragma once

#include "analyze/sums/line_sums.h"

struct cpu_lines {
	struct line_sums sums; /* line_row.launches counts samples */
	uint64_t samples, kernel_ns;
	uint32_t process;     /* of all samples; NONE, PROCESS_MANY */
	struct tally threads; /* caller, thread; when finished: line; more: threads with own time */
	struct tally natives; /* caller, native function; when finished: line; more: model.strings + 1 */
};

void cpu_lines_init(struct cpu_lines *cpu, const struct model *model);
void cpu_lines_free(struct cpu_lines *cpu);
void cpu_lines_add_sample(struct cpu_lines *cpu, const struct sample_event *event);
void cpu_lines_finish(struct cpu_lines *cpu, struct lines *lines);

/* Once finished: of a line's own time. */
uint64_t cpu_line_threads(struct cpu_lines *cpu, uint32_t line);
uint32_t cpu_line_native(struct cpu_lines *cpu, uint32_t line); /* model.strings, NONE: not known */

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_CPU_LINES(X)                                                                                          \
	X(CPU_LINES, begin, cpu_lines_init(&all->cpu_lines, event->first))                                             \
	X(CPU_LINES, part, all->cpu_lines.sums.model = event->part)                                                    \
	X(CPU_LINES, sample, cpu_lines_add_sample(&all->cpu_lines, event))                                             \
	X(CPU_LINES, finish, cpu_lines_finish(&all->cpu_lines, event->lines))                                          \
	X(CPU_LINES, free, cpu_lines_free(&all->cpu_lines))
