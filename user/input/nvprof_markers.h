/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVTX markers of an nvprof file, and which thread a row of it is of. */
#ifndef GPUTRACE_INPUT_NVPROF_MARKERS_H
#define GPUTRACE_INPUT_NVPROF_MARKERS_H

#include "input/database_reader.h"

/* CUpti_ActivityObjectKind */
enum {
	NVPROF_PROCESS = 1,
	NVPROF_THREAD = 2,
};

/* Columns objectKind and objectId; tid 0: of the process alone.  False: it is neither. */
bool nvprof_object(struct database_rows *rows, unsigned kind, unsigned id, uint32_t *pid, uint32_t *tid);

/* Begin and end are rows of their own, of one id. */
void nvprof_read_markers(struct database_reader *reader);

#endif
