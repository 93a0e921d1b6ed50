/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a profile: a tree of frames, root first, with what each stack of them sums up to.  What the files of
 * profilers' viewers are made of; knows none of them.  Memory depends on how many different stacks there are,
 * not on how long the trace is.
 */
#ifndef GPUTRACE_PROFILE_H
#define GPUTRACE_PROFILE_H

#include "base/array.h"
#include "base/tally.h"
#include "export/format.h"
#include "export/stack_frames.h"
#include "export/texts.h"

enum profile_value {
	PROFILE_GPU_NS,
	PROFILE_LAUNCHES,   /* calls that put work on a GPU; a graph counts once, at its launch */
	PROFILE_IDLE_NS,    /* of GPUs between operations, by the line that is to blame: that frame and the cause */
	PROFILE_CPU_NS,	    /* own time of PyTorch's ops, where ops have stacks; whole microseconds of each */
	PROFILE_SAMPLED_NS, /* CPU time, as samples saw it */
	PROFILE_OPERATIONS, /* of a GPU, those with a time: what PROFILE_GPU_NS is the sum of */
	PROFILE_VALUES
};

struct profile_frame {
	enum stack_frame_kind kind;
	uint32_t name, file; /* of profile.texts */
	uint32_t line, first_line;
};

/* A frame below another: the stack from the root to it. */
struct profile_node {
	uint32_t parent; /* of smaller index; PROFILE_ROOT: none */
	uint32_t frame;
	uint64_t values[PROFILE_VALUES]; /* of this stack itself, not of those below it */
};

#define PROFILE_ROOT UINT32_MAX

struct profile {
	ARRAY(struct profile_frame) frames;
	ARRAY(struct profile_node) nodes;
	struct texts texts;
	struct tally frame_ids; /* kind and line, name, file, first line */
	struct tally node_ids;	/* parent, frame */
	bool has[PROFILE_VALUES];
	uint64_t start_ns, end_ns; /* the recording, or the slice of it */
	int64_t wall_offset_ns;
	const char *target; /* what was asked for, "" not known */
	char *title;	    /* what was traced, "" not known */
};

/* Sums the trace up.  0 or -errno; profile_free is for the caller either way.  The trace has to stay. */
int profile_make(struct profile *profile, struct trace *trace, const struct export_options *options);
void profile_free(struct profile *profile);

/* UTF-8, valid, as the model has it. */
static inline const char *profile_text(const struct profile *profile, uint32_t text)
{
	return texts_at(&profile->texts, text);
}

/* A profile for pprof (.pb.gz): profile.proto of github.com/google/pprof, through gzip. */
export_write_fn pprof_write;

/* A profile for speedscope (.speedscope.json): one list of stacks for each of its values. */
export_write_fn speedscope_write;

/*
 * A profile for Python's pstats and snakeviz (.prof): what cProfile writes, with time on GPUs in the place of time and
 * launches in the place of calls.
 */
export_write_fn pstats_write;

#endif
