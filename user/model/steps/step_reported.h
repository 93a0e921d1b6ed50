/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps that were counted while they were made, where a schedule had only some of them recorded: the agent reported
 * each when it began, and what was to become of it.
 */
#ifndef GPUTRACE_MODEL_STEP_REPORTED_H
#define GPUTRACE_MODEL_STEP_REPORTED_H

#include "model/steps/steps.h"

/* The steps that were recorded to be shown; any part of a trace knows all of them. */
void steps_of_schedule(struct steps *steps, const struct model *model);

#endif
