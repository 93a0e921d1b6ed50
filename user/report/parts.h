/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the report, in the order in which they appear. */
#ifndef GPUTRACE_REPORT_PARTS_H
#define GPUTRACE_REPORT_PARTS_H

#include "base/tally.h"
#include "report/page.h"

/* The line of a call, of an operation's call, of a call by index. */
static inline uint32_t line_of_call(struct report *report, const struct model_call *call)
{
	return line_of(&report->all->lines, caller_of(&report->all->callers, call));
}

static inline uint32_t line_of_index(struct report *report, uint32_t call)
{
	return call != NONE ? line_of_call(report, &report->model->calls[call])
			    : line_of(&report->all->lines, CALLER_UNSEEN);
}

static inline uint32_t line_of_launch(struct report *report, const struct model_gpu *op, uint32_t call)
{
	return call != NONE || !op->before ? line_of_index(report, call) : line_of(&report->all->lines, CALLER_BEFORE);
}

static inline uint32_t line_of_gpu(struct report *report, const struct model_gpu *op)
{
	return line_of_launch(report, op, gpu_attributed_call(report->model, op));
}

void report_processes(struct report *report);	/* header.c */
void report_devices(struct report *report);	/* devices.c */
void report_gpu_by_line(struct report *report); /* gpu_lines.c */
void report_gpu_by_kernel(struct report *report);
void report_ranges(struct report *report);	     /* ranges.c */
void report_memcpys(struct report *report);	     /* memcpys.c */
void report_idle(struct report *report);	     /* idle.c */
void report_waits(struct report *report);	     /* waits.c */
void report_jit(struct report *report);		     /* jit.c */
void report_memory(struct report *report);	     /* memory.c */
void report_calls_by_line(struct report *report);    /* gpu_lines.c: where there are no GPU times */
void report_untimed_launches(struct report *report); /* where there are, of those launches that have none */
void report_calls(struct report *report);	     /* calls.c */
void report_interpreter(struct report *report);	     /* interpreter.c */
void report_failed(struct report *report);
void report_no_gpu(struct report *report);   /* agent.c: why there are no GPU times */
void report_complete(struct report *report); /* complete.c */

#endif
