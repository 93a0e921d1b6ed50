/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX ranges, marks and domains of an SQLite file of nsys'. */
#ifndef GPUTRACE_INPUT_NSYS_RANGES_H
#define GPUTRACE_INPUT_NSYS_RANGES_H

#include "input/database_reader.h"

void nsys_read_ranges(struct database_reader *reader);

#endif
