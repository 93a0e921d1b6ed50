/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Local variables of a frame, as short safe text. */
#ifndef GPUTRACE_DUMP_LOCALS_H
#define GPUTRACE_DUMP_LOCALS_H

#include "dump/python.h"

/* Fills in the variables of a frame that have a value. */
void locals_read(struct python_look *look, const struct raw_frame *raw, struct dump_frame *frame);

#endif
