/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What only the Chrome trace of gputrace has: NVTX ranges, memory from CUDA, collections and imports, nodes of graphs
 * and the calls that they were captured from, steps that gputrace found, and what it says of processes.
 */
#ifndef GPUTRACE_INPUT_KINETO_OWN_H
#define GPUTRACE_INPUT_KINETO_OWN_H

#include "input/kineto/kineto_event.h"

/* The document's "gputrace".  False: the reader has stopped. */
bool kineto_own_head(struct json *json, struct foreign_file *file, text_buffer *scratch);

/* Whether it is one that no other tool writes; its row is added. */
bool kineto_own_event(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading);

/* Whether an op may be a step that gputrace found. */
bool kineto_own_step(const struct kineto_event *event, struct kineto_own *own);

/* What is told of a call, or of GPU work, besides. */
void kineto_own_call(const struct kineto_event *event, struct row_call *call);
void kineto_own_gpu(struct foreign_file *file, const struct kineto_event *event, struct row_gpu *gpu);

/* All was told. */
void kineto_own_finish(struct kineto_own *own, struct foreign_file *file);

#endif
