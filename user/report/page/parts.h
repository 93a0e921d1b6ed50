/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The parts of the report, in the order in which they appear. */
#pragma once

#include "report/page/page.h"

/* The length of the recording, of which tables of time carry a part. */
static inline uint64_t report_ns(const struct report *report)
{
	const struct window *window = &report->all->window;

	return window->end_ns > window->start_ns ? window->end_ns - window->start_ns : 0;
}

/* 0: before the recording's start. */
static inline uint64_t report_after_start(const struct report *report, uint64_t time_ns)
{
	uint64_t start_ns = report->all->window.start_ns;

	return time_ns > start_ns ? time_ns - start_ns : 0;
}

void report_processes(struct report *report);		     /* header.c */
void report_devices(struct report *report);		     /* devices.c */
void report_overlap(struct report *report, uint64_t gpu_ns); /* why GPU time exceeds GPU busy time */
uint64_t report_timed_ns(const struct report *report);	     /* the part of the recording with GPU times */
void report_gpu_by_line(struct report *report);		     /* gpu_lines.c */
void report_gpu_by_layer(struct report *report);	     /* layers.c */
void report_gpu_by_kernel(struct report *report);
void report_ranges(struct report *report);	/* nvtx.c */
void report_ops(struct report *report);		/* ops.c */
void report_collectives(struct report *report); /* collectives.c */
void report_steps(struct report *report);	/* steps.c */
void report_breakdown(struct report *report);	/* breakdown.c: computation, communication, copies, idle */
void report_add_breakdown(struct table *table, const struct breakdown_sums *sums, uint64_t span_ns); /* percents */
void report_step_idle(struct report *report); /* step_idle.c: idle time of the steps, by cause */
void report_memcpys(struct report *report);   /* memcpys.c */
void report_idle(struct report *report);      /* idle.c */
void report_waits(struct report *report);     /* waits.c */
void report_off_cpu(struct report *report);   /* off_cpu.c */
void report_cpu_lines(struct report *report); /* cpu_lines.c */
void report_compiles(struct report *report);  /* compiles.c */
void report_jit(struct report *report);	      /* jit.c */
void report_torch_memory(struct report *report);
void report_torch_held(struct report *report);
/* torch_growth.c: its growth from step to step */
void report_torch_growth(struct report *report);
void report_torch_growth_table(struct report *report);
/*
 * What grows most, by how much and where, in one line (NULL: nothing does), and who holds that (NULL: nobody looked),
 * in `width` columns where names permit.  The caller frees them.
 */
char *report_torch_growing(const struct analyses *all);
char *report_torch_growing_held(const struct analyses *all, unsigned width);
/*
 * "GPU 0", "CPU"; with its process if there are several, so that pages need no column for it.  "a list of 1,204", "3 of
 * type list with 3,612 items"; "" a tensor itself.  The caller frees them.
 */
char *report_torch_space(const struct analyses *all, uint32_t index);
char *report_holder_container(const struct model_holder *holder);
/* Cells: "+13.0 MB" for a row that grows; the name of the space; the op. */
void report_add_growth(struct table *table, const char *title, bool grows, double per_step);
void report_add_torch_space(struct report *report, struct table *table, uint32_t space);
void report_add_op(const struct report *report, struct table *table, uint32_t op_name);
void report_memory(struct report *report);	 /* memory.c */
void report_gpu_counters(struct report *report); /* gpu_counters.c: clocks, errors, memory by process */
/*
 * That a sampled GPU (gpu_counter_sums.devices) ran at low clocks, why, and what it cost; NULL: it did not for long.
 * The caller frees it.  Why counters of GPUs are not known, or not to the end; NULL: they are, were not asked for, or
 * there is no driver.
 */
char *report_low_clock(const struct analyses *all, size_t index);
/* The GPU that lost most by low clocks, as a line, if that is a twentieth of the time or more; NULL: none did. */
char *report_slow_gpu(const struct analyses *all);
const char *report_no_counters(const struct model *model);
void report_calls_by_line(struct report *report);    /* gpu_lines.c: if there are no GPU times */
void report_untimed_launches(struct report *report); /* if there are: launches without any */
void report_calls(struct report *report);	     /* calls.c */
void report_interpreter(struct report *report);	     /* interpreter.c */
void report_failed(struct report *report);
/*
 * agent.c: why the first process with calls has no GPU times, and how to get them; NULL where there are some, or none
 * with calls.  report_no_gpu prints it for programs; on a page the verdict does.
 */
char *report_untimed_reason(const struct analyses *all);
char *report_unseen_reason(const struct model *model); /* agent.c: why no call was seen, if there are processes */
void report_no_gpu(struct report *report);	       /* agent.c: why there are no GPU times */
void report_complete(struct report *report);	       /* complete.c */
char *report_joined(const struct analyses *all);       /* its first line, without how good times are */
void report_losses(struct report *report);	       /* receipt.c: the content of complete.c, for programs */
void report_receipt(struct report *report);
void report_cost(struct report *report); /* cost.c: what the recording cost the traced programs, by parts */
void report_cost_line(struct report *report);
void report_cost_proof(struct report *report); /* cost_proof.c: of windows with and without recording */
void report_detail(struct report *report);     /* detail.c: what was left out for a while */
void report_start(struct report *report);      /* of the recording: nothing in a slice, or if it is not recorded */
