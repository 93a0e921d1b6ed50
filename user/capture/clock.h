/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The offset of wall time from CLOCK_MONOTONIC, the clock of all records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

/* Fills a GPT_CLOCK record from the tightest of twenty readings of both clocks. */
void clock_sample(struct gpt_clock *out);

/* The kernel's bound of CLOCK_REALTIME's error in ns, UINT64_MAX: not known.  *unsynced: nothing keeps it right. */
uint64_t clock_wall_error(bool *unsynced);
