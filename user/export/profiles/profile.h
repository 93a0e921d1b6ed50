/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trace as a profile: a tree of frames, root first, with the sums of each stack.  The basis of the files for profile
 * viewers; knows none of these formats.  Memory depends on the number of different stacks, not on the length of the
 * trace.
 */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "export/file/format.h"
#include "export/file/stack_frames.h"
#include "export/file/texts.h"

enum profile_value {
	PROFILE_GPU_NS,
	PROFILE_LAUNCHES,   /* calls that put work on a GPU; a graph counts once, at its launch */
	PROFILE_IDLE_NS,    /* idle time of GPUs between operations, by the line to blame: that frame and the cause */
	PROFILE_CPU_NS,	    /* PyTorch ops' own time, if ops have stacks; whole microseconds of each */
	PROFILE_SAMPLED_NS, /* CPU time, from samples */
	PROFILE_OPERATIONS, /* GPU operations with a time: those that PROFILE_GPU_NS sums up */
	PROFILE_SAMPLES,    /* those of PROFILE_SAMPLED_NS */
	PROFILE_VALUES
};

struct profile_frame {
	enum stack_frame_kind kind;
	uint32_t name, file; /* numbers in profile.texts */
	uint32_t line, first_line;
};

/* A frame below another; stands for the stack from the root to it. */
struct profile_node {
	uint32_t parent; /* has a smaller index; PROFILE_ROOT: none */
	uint32_t frame;
	uint32_t layer; /* number in profile.texts: the module of PyTorch that was called; PROFILE_NO_LAYER */
	uint64_t values[PROFILE_VALUES]; /* of this stack itself, without those below it */
};

#define PROFILE_ROOT UINT32_MAX
#define PROFILE_NO_LAYER UINT32_MAX

struct profile {
	ARRAY(struct profile_frame) frames;
	ARRAY(struct profile_node) nodes;
	struct texts texts;
	struct tally frame_ids; /* key: kind and line, name, file, first line */
	struct tally node_ids;	/* key: parent, frame, layer */
	bool has_layers;	/* stacks that differ in their layers are apart, in a last node each */
	bool has[PROFILE_VALUES];
	uint64_t start_ns, end_ns; /* the recording, or the slice of it */
	int64_t wall_offset_ns;
	const char *target; /* what was asked for, "": not known */
	char *title;	    /* what was traced, "": not known */
};

/*
 * Sums the trace up.  Returns 0 or -errno; the caller calls profile_free either way.  The trace must outlive the
 * profile.
 */
int profile_make(struct profile *profile, struct trace *trace, const struct export_options *options);
/* The same, where stacks that differ in the innermost module of PyTorch are apart. */
int profile_make_with_layers(struct profile *profile, struct trace *trace, const struct export_options *options);
void profile_free(struct profile *profile);

/* Valid UTF-8, as in the model. */
static inline const char *profile_text(const struct profile *profile, uint32_t text)
{
	return texts_at(&profile->texts, text);
}

/* A profile for pprof (.pb.gz): profile.proto of github.com/google/pprof, gzipped. */
export_write_fn pprof_write;

/* A profile for speedscope (.speedscope.json): one list of stacks per value. */
export_write_fn speedscope_write;

/*
 * A profile for Python's pstats and snakeviz (.prof): cProfile's format, with GPU time as time and launches as calls.
 */
export_write_fn pstats_write;
