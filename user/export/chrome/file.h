/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that is being written: what its parts share. */
#pragma once

#include "export/chrome/codes.h"
#include "export/chrome/numbers.h"
#include "export/chrome/stacks.h"
#include "export/file/format.h"
#include "export/file/sink.h"
#include "timeline/timeline.h"

struct chrome {
	struct sink *out;
	const struct timeline *timeline;
	uint64_t start_ns;		   /* base of all times, on the file's clock */
	const char *const *process_labels; /* by model.processes, NULL: "CPU"; itself NULL: "CPU" for all */
	const char *gpu_label;		   /* with several timelines: whose GPUs these are */
	const struct export_place *place;  /* NULL: the log's own */
	struct chrome_numbers numbers;
	struct chrome_codes codes;
	struct chrome_stacks stacks;
	struct sink text; /* text of the current stack */
};

/*
 * The args of a slice: Kineto's names and types, because HTA and the TensorBoard plugin read them, and a few of
 * gputrace's own.  HTA counts a row as GPU work if its args have `stream`, so the stream argument of a call is named
 * "launch stream" and so on.  Each arg has a comma in front, except the first one if `bare`.
 */
void chrome_put_args(struct chrome *chrome, const struct timeline_slice *slice, bool bare);

/*
 * The "External id" of the step that each file has.  Ids of PyTorch's ops follow if there are any, else those of NVTX
 * ranges; beside ops, those of ranges start at CHROME_RANGE_ID.
 */
#define CHROME_STEP_ID 1u
#define CHROME_RANGE_ID (1ull << 40)

/*
 * Writes everything before the first event: Kineto's keys, because HTA's streaming reader stops at traceEvents, and
 * gputrace's own "gputrace" object with the trace's receipt.  For a trace of several parts the object is known only
 * after the events, so it follows them.  The head ends at the first event; the tail is everything after the last one.
 */
void chrome_put_head(struct chrome *chrome);
void chrome_put_tail(struct chrome *chrome, bool has_own);

/* Writes the "gputrace" object. */
void chrome_put_own(struct chrome *chrome, struct sink *out);

/*
 * Names and order of processes and threads, as metadata events.  CUPTI's comes first in traceEvents: consumers take the
 * first event for a name and cannot read an empty array.
 */
void chrome_put_first_name(struct chrome *chrome);

/* The names of everything else in the timeline so far. */
void chrome_put_names(struct chrome *chrome);

/* Events: a timeline's slices and arrows, memory, and the one step that consumers need. */
void chrome_put_step(struct chrome *chrome);

/* Visitors of a timeline; context: struct chrome. */
bool chrome_put_slice(void *context, const struct timeline_slice *slice);
bool chrome_put_memory(void *context, const struct timeline_memory *memory);
bool chrome_put_counter(void *context, const struct timeline_value *value);
