/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording took of the traced programs: sums of the BPF programs, and what their clocks do not see. */
#pragma once

#include <stdint.h>

struct attach;

/* The way into programs that recorded something, and out of them: runs so far, and what that took. */
struct cost_entries {
	uint64_t runs;
	double ns;
};

struct cost_entries costs_sum_entries(struct attach *attach);

/* Begins to measure what the programs' clocks do not see; before there is a guard. */
void costs_start(struct attach *attach);

/* Once all probes are gone: emits a GPT_COST for each part, and for the thread that paid most. */
void costs_report(struct attach *attach);
