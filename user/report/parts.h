/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the report, in the order in which they appear, and what they share. */
#ifndef GPUTRACE_REPORT_PARTS_H
#define GPUTRACE_REPORT_PARTS_H

#include "base/tally.h"
#include "report/lines.h"
#include "report/report.h"
#include "report/table.h"

struct report {
	FILE *out;
	const struct model *model;
	unsigned width, rows;
	bool color;
	struct line_index lines;
	uint64_t start_ns, end_ns; /* what shares of time are of: the recording */
	uint32_t active;	   /* processes with calls or GPU work */
};

/* A blank line, then the title; `aside` is plain text behind it, NULL: none. */
void report_title(struct report *report, const char *title, const char *aside);

/* One line of text, truncated at the page's width. */
void report_line(struct report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Text broken into lines; those after the first are indented by `indent`. */
void report_text(struct report *report, unsigned indent, const char *text);

/* "12 more" and such below a table. */
void report_more(struct report *report, size_t count, const char *what, struct number sum, const char *unit);

/*
 * The entries of a tally by time, or by count where there are no times, most first; equal ones by key.  Returns an
 * array that the caller frees.
 */
struct tally_entry *tally_sorted(const struct tally *tally, bool by_count);

/* Whether its thread stood still in it until the GPU came so far. */
bool call_waits(const struct model_call *call);
bool call_failed(const struct model_call *call);

/* A GPU operation with times; the others are counted, not measured. */
static inline uint64_t gpu_ns(const struct model_gpu *op)
{
	return op->end_ns > op->start_ns ? op->end_ns - op->start_ns : 0;
}

/* "python3 41230", or "8 processes", for a row that more = process + 1 or PROCESS_MANY belongs to. */
#define PROCESS_MANY UINT32_MAX
void process_note(uint64_t *more, uint32_t process);
void report_add_process(struct report *report, struct table *table, uint64_t more);

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
void report_calls_by_line(struct report *report);    /* calls.c: where there are no GPU times */
void report_untimed_launches(struct report *report); /* where there are, of those launches that have none */
void report_calls(struct report *report);
void report_interpreter(struct report *report); /* interpreter.c */
void report_failed(struct report *report);
void report_no_gpu(struct report *report);   /* agent.c: why there are no GPU times */
void report_complete(struct report *report); /* complete.c */

#endif
