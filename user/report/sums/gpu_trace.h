/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every GPU activity as a row, written as it comes. */
#pragma once

#include "report/page/page.h"

void gpu_trace_begin(struct report *report);

/*
 * An analyze_options.each_gpu; context: the report.  Returns false if writing failed: the reader may have seen enough.
 */
bool gpu_trace_add(void *context, const struct analyses *all, const struct gpu_event *event);

/* Says what is not in the list. */
void gpu_trace_end(struct report *report);
