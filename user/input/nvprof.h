/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An SQLite file of nvprof (`nvprof -o FILE`, .nvvp, .prof).  docs/formats.md says what is taken of it. */
#ifndef GPUTRACE_INPUT_NVPROF_H
#define GPUTRACE_INPUT_NVPROF_H

#include "input/database_reader.h"

bool nvprof_is(struct database_reader *reader);
void nvprof_read(struct database_reader *reader);

#endif
