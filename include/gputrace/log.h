/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The structures of a log file (.gpt) around its records. docs/log-format.md is the guide; record.h and agent.h
 * describe the records.
 *
 *     struct gpt_log_header, the schema, zeros up to a multiple of 8
 *     segments:  struct gpt_log_segment, kinds, processes, zeros; a zstd frame, zeros
 *     struct gpt_log_index, entries
 *     struct gpt_log_trailer, the last bytes of the file
 *
 * All integers are little-endian. Header, schema, segment headers, frames, index and trailer begin at multiples of 8.
 * Fields are only ever appended to structures: `header_size` says where the next part begins. A log without index and
 * trailer was cut short; it is read from its start to its last whole segment.
 */
#pragma once

#include <linux/types.h>

#define GPT_LOG_MAGIC 0x0a545047	 /* "GPT\n" */
#define GPT_LOG_SEGMENT_MAGIC 0x0a474553 /* "SEG\n" */
#define GPT_LOG_INDEX_MAGIC 0x0a584449	 /* "IDX\n" */
#define GPT_LOG_TRAILER_MAGIC 0x0a444e45 /* "END\n" */
#define GPT_LOG_VERSION 2

/* A reader refuses a log with larger values as damaged. */
#define GPT_LOG_HEADER_MAX 4096u
#define GPT_LOG_SCHEMA_MAX (256u << 10)
#define GPT_LOG_SEGMENT_HEADER_MAX (64u << 10)
#define GPT_LOG_RECORD_BYTES_MAX (64u << 20) /* of a segment's records; the same bound holds for its packed form */
#define GPT_LOG_BODY_BYTES_MAX (65u << 20)   /* of a segment's frame */

/* The first 24 bytes are those of version 1. */
struct gpt_log_header {
	__u32 magic;	       /* GPT_LOG_MAGIC */
	__u16 version;	       /* GPT_LOG_VERSION; a reader refuses another one */
	__u16 header_size;     /* bytes; the schema follows */
	__u64 start_ns;	       /* when recording began, CLOCK_MONOTONIC */
	__s64 wall_offset_ns;  /* CLOCK_REALTIME minus CLOCK_MONOTONIC at start */
	__u32 schema_bytes;    /* of the schema: UTF-8 text that says how records are packed (log-format.md) */
	__u32 flags;	       /* GPT_LOG_* */
	__u32 schema_checksum; /* zlib's crc32 of the schema's text */
	/*
	 * Segments with lower numbers are also in a log before this one: of GPU work in them, this log has only that
	 * of its own calls, and what belongs to no call and began after the start.  0: none.
	 */
	__u32 shared_below;
	__u64 reserved[3]; /* 0 */
};

#define GPT_LOG_PART 1 /* flags: a part of a recording; segments before its first one are not there on purpose */
/*
 * flags: another log goes on where this one ends, and has what was launched after the end.  All work with the id of a
 * call that is here was not.
 */
#define GPT_LOG_CONTINUED 2

/*
 * Records that can be read without any other segment: all that they refer to is among them. Records at the front may
 * repeat earlier segments' for this. A reader that has read the preceding segment has these already, and skips them.
 *
 * Times, kinds and processes cover the records after the repeated ones.
 */
struct gpt_log_segment {
	__u32 magic;	    /* GPT_LOG_SEGMENT_MAGIC */
	__u32 header_size;  /* bytes, both lists and their padding included, a multiple of 8; the frame follows */
	__u32 body_bytes;   /* of the zstd frame, which has the size of its content; zeros to a multiple of 8 follow */
	__u32 packed_bytes; /* content of the frame: the packed records */
	__u32 record_bytes; /* the unpacked records */
	__u32 records;	    /* count, including repeated ones, excluding those inside a batch */
	__u32 repeated;	    /* count of repeated ones, which come first */
	__u32 sequence;	    /* number of the segment, from 0 */
	/* Lowest and highest CLOCK_MONOTONIC time in its records; both 0: no times. */
	__u64 first_ns, last_ns;
	/* The same for CUPTI's times (fields named *_wall_ns), in most cases CLOCK_REALTIME. */
	__u64 first_wall_ns, last_wall_ns;
	__u32 flags;	 /* GPT_LOG_SEGMENT_* */
	__u32 checksum;	 /* zlib's crc32 of this header with its lists (this field as 0) and of the frame */
	__u32 kinds;	 /* count; the struct gpt_log_kind follow */
	__u32 processes; /* count; the u32 pids follow the kinds; GPT_LOG_ANY_PROCESS: too many to list, none follows */
};

#define GPT_LOG_SEGMENT_FORGOT 1 /* flags: its records may refer to descriptions that only earlier segments have */
#define GPT_LOG_ANY_PROCESS 0xffffffffu

/* How many records of a type a segment has, those inside batches included, by types in ascending order. */
struct gpt_log_kind {
	__u16 type;
	__u16 zero;
	__u32 count;
};

/* Entries follow, one per segment, in file order: a struct gpt_log_entry, then a copy of the segment's header. */
struct gpt_log_index {
	__u32 magic;	   /* GPT_LOG_INDEX_MAGIC */
	__u32 header_size; /* bytes; the first entry follows */
	__u64 bytes;	   /* of the index, this header included */
	__u32 segments;
	__u32 checksum; /* zlib's crc32 of the whole index, with this field as 0 */
};

struct gpt_log_entry {
	__u64 offset; /* of the segment in the file */
};

struct gpt_log_trailer {
	__u64 index_offset; /* in the file */
	__u64 index_bytes;
	__u32 flags; /* 0 */
	__u32 magic; /* GPT_LOG_TRAILER_MAGIC */
};

_Static_assert(sizeof(struct gpt_log_header) == 64, "log layout");
_Static_assert(sizeof(struct gpt_log_segment) == 80, "log layout");
_Static_assert(sizeof(struct gpt_log_kind) == 8, "log layout");
_Static_assert(sizeof(struct gpt_log_index) == 24, "log layout");
_Static_assert(sizeof(struct gpt_log_entry) == 8, "log layout");
_Static_assert(sizeof(struct gpt_log_trailer) == 24, "log layout");
