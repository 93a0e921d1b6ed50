/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/trace.h"

const struct model *trace_last(struct trace *trace)
{
	if (trace->part && !trace->part->more && !trace->error)
		return trace->part;
	for (const struct model *part = trace_first(trace); part;)
		part = trace_next(trace);
	return trace->error ? NULL : trace->part;
}
