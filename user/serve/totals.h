/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the recording of `gputrace serve` counts itself, as plain numbers for the process that answers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <gputrace/record.h>

/* Who asked for a file. */
enum served_by {
	SERVED_BY_USER,	 /* a signal, or `gputrace serve write` */
	SERVED_BY_EVENT, /* a trigger, or a process that crashed */
	SERVED_BY,
};

/* As the recording counts, from its beginning on. */
struct served_totals {
	int64_t start_wall_ns;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	uint64_t recorded_ns, calls, cpu_ns;
	uint64_t counters[GPT_COUNTER_COUNT];
	bool has_cost; /* what the traced programs paid is known */
	uint64_t cost_ns;
	bool has_steps; /* steps of training are counted */
	uint64_t steps, steps_ns;
	uint64_t step_median_ns, step_p99_ns; /* of the latest ones */
	uint64_t files[SERVED_BY], files_failed;
};
