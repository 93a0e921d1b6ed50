/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One file that is being written: what its parts have in common. */
#ifndef GPUTRACE_CHROME_FILE_H
#define GPUTRACE_CHROME_FILE_H

#include "export/chrome/codes.h"
#include "export/chrome/numbers.h"
#include "export/chrome/stacks.h"
#include "export/format.h"
#include "export/sink.h"
#include "timeline/timeline.h"

struct chrome {
	struct sink *out;
	const struct timeline *timeline;
	uint64_t start_ns;		   /* that times are counted from, on the file's clock */
	const char *const *process_labels; /* by model.processes, NULL: "CPU"; all NULL: those of all */
	const char *gpu_label;		   /* of the GPUs of one of several timelines: whose they are */
	const struct export_place *place;  /* NULL: it is the log's own */
	struct chrome_numbers numbers;
	struct chrome_codes codes;
	struct chrome_stacks stacks;
	struct sink text; /* of the current stack */
};

/*
 * The args of a slice: Kineto's names and types, because HTA and the TensorBoard plugin read them, and a few of our
 * own. HTA takes a row for GPU work when its args have `stream`, so what a call was given is named "launch stream" and
 * so on.  All of them with commas in front; the first has none when `bare`.
 */
void chrome_put_args(struct chrome *chrome, const struct timeline_slice *slice, bool bare);

/*
 * The "External id" of the one step that each file has.  Those of PyTorch's ops follow where there are any, else those
 * of NVTX ranges, which begin at CHROME_RANGE_ID beside ops.
 */
#define CHROME_STEP_ID 1u
#define CHROME_RANGE_ID (1ull << 40)

/*
 * What stands in front of the events: Kineto's keys, because HTA's streaming reader stops at traceEvents, and our own
 * "gputrace" object with the receipt of the trace.  Of a trace of several parts that is not known before the events are
 * written, and stands after them.  Up to the first event, and from after the last one to the end of the file.
 */
void chrome_put_head(struct chrome *chrome);
void chrome_put_tail(struct chrome *chrome, bool has_own);

/* That object of our own. */
void chrome_put_own(struct chrome *chrome, struct sink *out);

/* Names and order of processes and threads, as metadata events.  That of CUPTI, first in traceEvents: consumers take
 * the first event for a name and cannot read an empty array. */
void chrome_put_first_name(struct chrome *chrome);

/* Those of all others that are in the timeline by now. */
void chrome_put_names(struct chrome *chrome);

/* Events: a timeline's slices and arrows, memory, and the one step that consumers need. */
void chrome_put_step(struct chrome *chrome);

/* Visitors of a timeline; context: struct chrome. */
bool chrome_put_slice(void *context, const struct timeline_slice *slice);
bool chrome_put_memory(void *context, const struct timeline_memory *memory);

#endif
