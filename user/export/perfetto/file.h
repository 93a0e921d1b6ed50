/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One file that is being written: what its parts have in common, and the numbers of fields, which are those of
 * protos/perfetto/trace/perfetto_trace.proto of github.com/google/perfetto.
 */
#ifndef GPUTRACE_PERFETTO_FILE_H
#define GPUTRACE_PERFETTO_FILE_H

#include "base/array.h"
#include "base/tally.h"
#include "export/format.h"
#include "export/protobuf.h"
#include "export/texts.h"
#include "timeline/nesting.h"
#include "timeline/timeline.h"

enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10, /* trusted_packet_sequence_id */
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TIMESTAMP_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	EVENT_CATEGORY = 3, /* all by their number */
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOWS = 47,
	EVENT_ENDING_FLOWS = 48,
	EVENT_CALLSTACK = 56,

	ANNOTATION_NAME = 1, /* by its number */
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_ARRAY = 12,
	ANNOTATION_TEXT = 17, /* string_value_iid: by its number */

	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_ANNOTATIONS = 3,
	INTERNED_FUNCTIONS = 5,
	INTERNED_FRAMES = 6,
	INTERNED_CALLSTACKS = 7,
	INTERNED_SOURCES = 18, /* source_paths */
	INTERNED_MAPPINGS = 19,
	INTERNED_VALUES = 29, /* debug_annotation_string_values */
	INTERNED_ID = 1,      /* of each of them */
	INTERNED_TEXT = 2,    /* of those that are texts */
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_ADDRESS = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	CALLSTACK_FRAMES = 2,
};

enum event_type {
	EVENT_BEGINS = 1,
	EVENT_ENDS = 2,
	EVENT_INSTANT = 3,
	EVENT_COUNTER = 4,
};

/* All packets of a timeline are of one sequence, so that they share what is interned. */
#define SEQUENCE_FIRST 1
#define SEQUENCE_CLEARED 1u /* sequence_flags */
#define SEQUENCE_INTERNED 2u

#define CLOCK_OF_WALL 1 /* builtin_clock.proto */
#define CLOCK_OF_TRACE 3
#define CLOCK_SINCE_BOOT 6

/* Python functions and NVTX ranges that began in an earlier part: each on a row where it meets no other. */
struct long_row {
	uint32_t track;
	uint64_t end_ns; /* of the latest on it */
};

/* Texts of one kind: their numbers in the file are from 1 on. */
struct interned_texts {
	struct texts texts;
	uint32_t kind; /* INTERNED_... */
	uint32_t put;  /* that are in the file */
};

struct perfetto {
	struct sink *out;
	struct sink packet;   /* the one that is being made */
	struct sink interned; /* and one of what it refers to, which goes to the file before it */
	struct timeline *timeline;
	uint32_t member; /* which of the file's timelines it is */
	/* Those three of one that shares its file, or its time, with others. */
	struct export_used_ids *used;	   /* NULL: its numbers are as they were */
	const char *const *process_labels; /* by model.processes, NULL: none */
	const char *gpu_label;		   /* whose its GPUs are, NULL: it need not be said */
	int64_t wall_offset_ns;		   /* CLOCK_REALTIME = the file's times + this */
	int64_t slept_ns;		   /* CLOCK_BOOTTIME = the file's times + this */
	ARRAY(uint32_t) pids;		   /* by group, where they may be others than they were */
	ARRAY(uint32_t) tids;		   /* by track, the same */
	struct interned_texts names, values, functions, sources;
	struct tally frames;	    /* code, line, left out; more: its number among values, 0: none yet */
	struct tally stacks;	    /* number of a stack */
	ARRAY(uint32_t) code_names; /* by code of the timeline: number in the file among names, 0: none yet */
	/* Slices whose packets wait until all of its part are known: they are written in the order of their nesting. */
	struct nesting waiting;
	ARRAY(size_t) waiting_at; /* where the start of each is in waiting_text, as they came */
	ARRAY(uint64_t) open;	  /* ends of the slices that are open while those that wait are written */
	struct sink waiting_text;
	ARRAY(struct long_row) long_rows;
	size_t groups, tracks, counters; /* that have been described */
	uint64_t part_from_ns;		 /* begin of the current part */
	uint64_t next_from_ns;		 /* and of the next one */
};

/* A packet of a file: begin, fields of TracePacket into file->packet, end. */
static inline size_t packet_begin(struct perfetto *file)
{
	return proto_begin(&file->packet, TRACE_PACKET);
}

static inline uint64_t sequence_of(const struct perfetto *file)
{
	return SEQUENCE_FIRST + (uint64_t)file->member;
}

static inline void packet_end(struct perfetto *file, size_t begin)
{
	proto_end(&file->packet, begin);
	proto_move(file->out, &file->packet);
}

/* ---- perfetto.c -----------------------------------------------------------------------------------------------------
 */

/*
 * A timeline into the file, from its first packet to its last: out, timeline, and what is said above of several, are
 * filled in, the rest is zeroed.  0 or -errno of the trace.
 */
int perfetto_put_timeline(struct perfetto *file);

/* ---- tracks.c -------------------------------------------------------------------------------------------------------
 */

static inline uint64_t uuid_of(const struct perfetto *file, uint64_t number)
{
	return ((uint64_t)file->member << 32) + number;
}

static inline uint64_t track_uuid(const struct perfetto *file, uint32_t track)
{
	return uuid_of(file, 0x10000000ull + track);
}

static inline uint64_t counter_uuid(const struct perfetto *file, uint32_t counter)
{
	return uuid_of(file, 0x20000000ull + counter);
}

static inline uint64_t long_row_uuid(const struct perfetto *file, uint32_t row)
{
	return uuid_of(file, 0x30000000ull + row);
}

/* Those that are new in the current part; and all of them again, when what they are called is known. */
void perfetto_put_tracks(struct perfetto *file);
void perfetto_put_tracks_again(struct perfetto *file);
void perfetto_put_long_row(struct perfetto *file, uint32_t row);

/* ---- interned.c -----------------------------------------------------------------------------------------------------
 */

/* What each file has from its beginning: categories, by enum timeline_category + 1; annotations, by key + 1. */
void perfetto_intern_all_known(struct perfetto *file);
void perfetto_interned_begin(struct perfetto *file);
void perfetto_interned_free(struct perfetto *file);

/* Number of what a slice is called; of a stack; of an argument's text, and of one that is a line of Python. */
uint64_t perfetto_name(struct perfetto *file, const struct timeline_name *name);
uint64_t perfetto_stack(struct perfetto *file, const struct timeline_stack *stack);
uint64_t perfetto_value(struct perfetto *file, const char *text);
uint64_t perfetto_line(struct perfetto *file, const struct timeline_frame *frame);

/* ---- slices.c -------------------------------------------------------------------------------------------------------
 */

/* Visitors of a timeline; context: struct perfetto. */
bool perfetto_put_slice(void *context, const struct timeline_slice *slice);
bool perfetto_put_memory(void *context, const struct timeline_memory *memory);

/* Those of a part that wait. */
void perfetto_put_waiting(struct perfetto *file);

/* ---- args.c ---------------------------------------------------------------------------------------------------------
 */

/* Arguments as annotations, into a sink that collects in memory. */
void perfetto_put_args(struct perfetto *file, struct sink *event, const struct timeline_slice *slice);

#endif
