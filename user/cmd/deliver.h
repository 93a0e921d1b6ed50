/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a log to everything the user asked for.  The live trace and `report` and `export` come through here, so
 * that what they write is the same byte for byte.
 */
#ifndef GPUTRACE_DELIVER_H
#define GPUTRACE_DELIVER_H

#include <stdbool.h>

#include "cmd/delivery.h"
#include "cmd/exit_code.h"

/*
 * Reads the log, prints the report, writes the outputs, judges completeness.  What fails is said on standard
 * error.  *all_written is false when something asked for is missing.
 */
enum exit_code deliver(const struct delivery *delivery, bool *all_written);

#endif
