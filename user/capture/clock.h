/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock of every record, and how far wall time is from it. */
#ifndef GPUTRACE_CAPTURE_CLOCK_H
#define GPUTRACE_CAPTURE_CLOCK_H

#include <stdint.h>

#include <gputrace/record.h>

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t clock_now_ns(void);

/* Fills a GPT_CLOCK record from the tightest of twenty readings of both clocks. */
void clock_sample(struct gpt_clock *out);

#endif
