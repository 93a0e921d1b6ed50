/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A file that is being written: what its parts share, and field numbers, which are those of
 * protos/perfetto/trace/perfetto_trace.proto of github.com/google/perfetto.
 */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "export/file/format.h"
#include "export/file/protobuf.h"
#include "export/file/texts.h"
#include "timeline/rows/nesting.h"
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

	EVENT_CATEGORY = 3, /* category_iids: all by number */
	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_DOUBLE_VALUE = 44, /* double_counter_value */
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
	INTERNED_ID = 1,      /* in each interned entry */
	INTERNED_TEXT = 2,    /* in interned texts */
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

/* All packets of a timeline are in one sequence, so that they share interned data. */
#define SEQUENCE_FIRST 1
#define SEQUENCE_CLEARED 1u /* sequence_flags */
#define SEQUENCE_INTERNED 2u

#define CLOCK_OF_WALL 1 /* builtin_clock.proto */
#define CLOCK_OF_TRACE 3
#define CLOCK_SINCE_BOOT 6

/* Python functions and NVTX ranges that began in an earlier part: each is on a row where it overlaps no other. */
struct long_row {
	uint32_t track;
	uint64_t end_ns; /* end of the latest slice on it */
};

/* Texts of one kind; their numbers in the file start at 1. */
struct interned_texts {
	struct texts texts;
	uint32_t kind; /* INTERNED_... */
	uint32_t put;  /* number of texts already in the file */
};

struct perfetto {
	struct sink *out;
	struct sink packet;   /* the packet that is being built */
	struct sink interned; /* and a packet with the data it refers to, which goes to the file first */
	struct timeline *timeline;
	uint32_t member; /* index of the timeline in the file */
	/* The next three are for a timeline that shares its file, or its time axis, with others. */
	struct export_used_ids *used;	   /* NULL: pids and tids stay as they were */
	const char *const *process_labels; /* by model.processes, NULL: none */
	const char *gpu_label;		   /* whose its GPUs are; NULL: no label needed */
	int64_t wall_offset_ns;		   /* CLOCK_REALTIME = the file's times + this */
	int64_t slept_ns;		   /* CLOCK_BOOTTIME = the file's times + this */
	ARRAY(uint32_t) pids;		   /* by group, if they may differ from the original ones */
	ARRAY(uint32_t) tids;		   /* by track, the same */
	struct interned_texts names, values, functions, sources;
	struct tally frames;	    /* key: code, line, left out; more: its number among values, 0: none yet */
	struct tally stacks;	    /* key: number of a stack */
	ARRAY(uint32_t) code_names; /* by code of the timeline: number in the file among names, 0: none yet */
	/* Slices wait here until all of their part are known, and are then written in the order of their nesting. */
	struct nesting waiting;
	ARRAY(size_t) waiting_at; /* offsets of their start packets in waiting_text, as they arrived */
	ARRAY(uint64_t) open;	  /* ends of the slices that are open while the waiting ones are written */
	struct sink waiting_text;
	ARRAY(struct long_row) long_rows;
	size_t groups, tracks, counters; /* number already described */
	struct tally gpu_counters;	 /* described ones: GPU, counter of it */
	uint64_t part_from_ns;		 /* start of the current part */
	uint64_t next_from_ns;		 /* start of the next part */
};

/* A packet of a file: begin, add fields of TracePacket to file->packet, end. */
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
 * Writes a timeline into the file, from its first packet to its last.  The caller sets out, timeline, and the members
 * for several timelines, and zeroes the rest.  Returns 0 or -errno of the trace.
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

static inline uint64_t gpu_counter_uuid(const struct perfetto *file, uint32_t number)
{
	return uuid_of(file, 0x40000000ull + number);
}

static inline uint64_t long_row_uuid(const struct perfetto *file, uint32_t row)
{
	return uuid_of(file, 0x30000000ull + row);
}

/* Describes the tracks that are new in the current part; and all of them again, once their names are known. */
void perfetto_put_tracks(struct perfetto *file);
void perfetto_put_tracks_again(struct perfetto *file);
void perfetto_put_long_row(struct perfetto *file, uint32_t row);

/* The counter of a value, which is described if it is new. */
uint64_t perfetto_gpu_counter(struct perfetto *file, const struct timeline_value *value);

/* ---- interned.c -----------------------------------------------------------------------------------------------------
 */

/* Interns what each file has from the start: categories, by enum timeline_category + 1; annotations, by key + 1. */
void perfetto_intern_all_known(struct perfetto *file);
void perfetto_interned_begin(struct perfetto *file);
void perfetto_interned_free(struct perfetto *file);

/* The number of a slice's name; of a stack; of an argument's text, and of an argument that is a line of Python. */
uint64_t perfetto_name(struct perfetto *file, const struct timeline_name *name);
uint64_t perfetto_stack(struct perfetto *file, const struct timeline_stack *stack);
uint64_t perfetto_value(struct perfetto *file, const char *text);
uint64_t perfetto_line(struct perfetto *file, const struct timeline_frame *frame);

/* ---- slices.c -------------------------------------------------------------------------------------------------------
 */

/* Visitors of a timeline; context: struct perfetto. */
bool perfetto_put_slice(void *context, const struct timeline_slice *slice);
bool perfetto_put_memory(void *context, const struct timeline_memory *memory);
bool perfetto_put_value(void *context, const struct timeline_value *value);

/* Writes the waiting slices of a part. */
void perfetto_put_waiting(struct perfetto *file);

/* ---- args.c ---------------------------------------------------------------------------------------------------------
 */

/* Writes arguments as annotations, into a sink that collects in memory. */
void perfetto_put_args(struct perfetto *file, struct sink *event, const struct timeline_slice *slice);
