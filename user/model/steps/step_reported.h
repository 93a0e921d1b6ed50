/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps counted at run time, when a schedule selected only some for recording: the agent reported the start and the
 * phase of each.
 */
#pragma once

#include "model/steps/steps.h"

/* The steps that were actually recorded; every part of a trace has all of them. */
void steps_of_schedule(struct steps *steps, const struct model *model);
