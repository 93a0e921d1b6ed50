/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An SQLite file of NVIDIA Nsight Systems (`nsys export --type sqlite`), and the .sqlite of gputrace's own, which has
 * the same tables.  docs/formats.md says what is taken of it.
 */
#ifndef GPUTRACE_INPUT_NSYS_H
#define GPUTRACE_INPUT_NSYS_H

#include "input/database_reader.h"

bool nsys_is(struct database_reader *reader);
void nsys_read(struct database_reader *reader);

#endif
