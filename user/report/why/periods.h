/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What changed when: the same figures of one period of a trace after the other (report --every), and of all of it. */
#pragma once

#include "model/steps/steps.h"
#include "model/trace.h"
#include "report/page/options.h"

struct period {
	uint64_t from_ns, to_ns; /* CLOCK_MONOTONIC */
	uint64_t timed_ns;	 /* of it: with GPU times */
	uint64_t busy_ns;	 /* of all GPUs */
	uint64_t launches;	 /* of kernels and graphs that have GPU work */
	uint64_t steps;		 /* that begin in it, of all processes */
	uint64_t median_ns, p99_ns;
	uint64_t looked_ns, lost_ns; /* as `why` has them (analyze/why/why.h) */
	uint64_t loss_ns;	     /* the largest finding; 0: there is none */
	const char *cause;	     /* why_cause_name of the one with most of it, NULL */
	uint64_t cause_ns;	     /* how much of it that cause has */
	char *loss;		     /* its causes and place in words, NULL */
};

struct periods {
	ARRAY(struct period) list;
	struct period whole;
	uint64_t start_ns; /* of the recording; set by the caller */
	uint32_t gpus;	   /* that worked in the trace */
};

/*
 * Looks at the slice of the trace that is the period.  steps: of the whole trace, NULL.  0 or -errno of reading.  The
 * caller frees period->loss.
 */
int period_look(struct period *period, struct trace *slice, const struct steps *steps,
		const struct report_options *options);

/* Looks at the whole trace and writes the table.  Returns as report_write. */
int report_write_periods(FILE *out, struct trace *whole, struct periods *periods, const struct report_options *options);

void periods_free(struct periods *periods);
