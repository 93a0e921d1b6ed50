/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an op of a Kineto trace says of the collective that it stands for. */
#ifndef GPUTRACE_INPUT_KINETO_COLLECTIVE_H
#define GPUTRACE_INPUT_KINETO_COLLECTIVE_H

#include "input/kineto/kineto_event.h"

/* A text of the form of model/collectives.h; ROW_NO_TEXT: it is none. */
uint32_t kineto_collective(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch);

#endif
