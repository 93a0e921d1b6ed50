/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Measures, on this machine, the way into a probe's BPF program and out of it, which the program's own clock does not
 * see. A process of its own runs into such a probe some thousand times, which takes a few milliseconds; gputrace goes
 * on meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/load/programs.h"

/* ns a run; 0: not measured. */
struct entry_costs {
	double probe; /* by a breakpoint */
	double agent; /* in the agent */
};

/* All zero: not started. */
struct calibration {
	pid_t child; /* 0: none, or it is over */
	int answer;
	struct entry_costs costs;
};

/*
 * at_nop5: the agent's probes are at its nop5, for which the kernel may have a faster way. To be called before there is
 * a guard, whose links are gputrace's. What cannot be measured stays so.
 */
void calibrate_start(struct calibration *calibration, const struct programs *programs, bool at_nop5);

/* Whether calibrate_finish does not wait. */
bool calibrate_is_over(const struct calibration *calibration);

/* Waits for the result, if that was started; for a second at most, then nothing is measured.  It stays known. */
struct entry_costs calibrate_finish(struct calibration *calibration);
