/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* report --every: the trace cut into periods of one length, each of which is looked at as a slice of its own. */
#pragma once

#include <stdio.h>

#include "cmd/output/reading.h"
#include "report/page/options.h"

/* The most rows of its table: each period is read by itself. */
#define EVERY_MOST 1000u

/* Whether the trace was recorded throughout and has at most so many periods; else a message says so. */
bool every_can(const struct reading *reading);

/* Returns as report_write. */
int every_write(FILE *out, const struct reading *reading, const struct report_options *options);
