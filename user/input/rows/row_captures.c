/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A capture lasts from the end of the call that begins it to the start of the call that ends it; see row_captures.h. */
#include "input/rows/row_captures.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define NOTED_MAX (1u << 20)

void row_captures_add_call(struct foreign_file *file, const struct row_call *call)
{
	const struct row *row = &call->row;
	const char *name = api_is_named(call->api) ? api_name(call->api) : "";
	/* of CUDA's runtime, its driver and HIP; versions of a call have a longer name */
	bool begins = strstr(name, "StreamBeginCapture") != NULL, ends = strstr(name, "StreamEndCapture") != NULL;

	rows_add(&file->rows, row, sizeof(*call));
	if ((!begins && !ends) || (begins && call->result))
		return;
	if (file->capture_calls.count >= NOTED_MAX) {
		file->bad[BAD_ROOM]++;
		return;
	}
	array_push(&file->capture_calls, ((struct foreign_capture){.time_ns = begins ? row->end_ns : row->start_ns,
								   .pid = row->pid,
								   .tid = row->tid,
								   .begins = begins}));
}

DEFINE_ORDER(compare_noted, struct foreign_capture,
	     lower_first(a->pid, b->pid) ?: lower_first(a->tid, b->tid) ?: lower_first(a->time_ns, b->time_ns))

/* Makes a capture of each start that the thread's next noted call ends. */
void row_captures_finish(struct foreign_file *file)
{
	const struct foreign_capture *all = file->capture_calls.items;
	size_t count = file->capture_calls.count;

	if (!count)
		return;
	qsort(file->capture_calls.items, count, sizeof(*all), compare_noted);
	for (size_t i = 0; i + 1 < count; i++)
		if (all[i].begins && !all[i + 1].begins && all[i + 1].pid == all[i].pid && all[i + 1].tid == all[i].tid)
			array_push(&file->captures, ((struct owned_span){.start_ns = all[i].time_ns,
									 .end_ns = all[i + 1].time_ns,
									 .owner = all[i].pid}));
	array_free(&file->capture_calls);
	owned_spans_merge(&file->captures);
}
