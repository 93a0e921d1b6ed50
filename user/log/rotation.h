/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A log in several files, each a whole log of the time after the one before it.  A file ends at a moment between two
 * segments: the next one begins there, and it goes on itself until what happened before has come, of which it keeps
 * just that.  When a disk is full, the file ends with what it has, and the next one begins when there is room again.
 * Belongs to the writer's thread, but for the start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

#include "log/part.h"
#include "log/segment.h"

/* How long a file waits for what happened before its end. */
#define ROTATION_WAITS_NS 1000000000ull

/* A time of which nothing was written. */
struct rotation_gap {
	uint64_t from_ns, to_ns;
	uint64_t records; /* that were not written; a batch counts as one */
	int error;	  /* why */
};

struct rotation_options {
	uint64_t bytes;	  /* a file with this size ends; 0: no limit */
	uint64_t span_ns; /* and when it is so long; 0: any */
	/* Whether the recording has, with rotation_set_start; a file from before that goes on. */
	bool (*has_begun)(void *context);
	/* Opens the next file, which is empty and regular: a descriptor, or -errno. */
	int (*open)(void *context);
	/* The file is over: gives it its name, or removes it if it is not kept. */
	void (*close)(void *context, int fd, bool is_kept);
	/* The GPT_END of a file that begins and ends then, but for its time and reason; the caller frees it. */
	struct gpt_end *(*make_end)(void *context, uint64_t start_ns, uint64_t end_ns);
	/* Subtracts what was counted before the file from the end of the recording. */
	void (*subtract)(void *context, uint64_t start_ns, struct gpt_end *end);
	/* The file that was opened last begins then: CLOCK_REALTIME minus CLOCK_MONOTONIC.  Not for the first one. */
	int64_t (*begin)(void *context, uint64_t start_ns);
	/* No file can be written; and there is room again. */
	void (*say_full)(void *context, int error);
	void (*say_room)(void *context, const struct rotation_gap *gap);
	cut_fn *cut;
	void *context;
};

struct rotation;

struct rotation *rotation_new(const struct rotation_options *options);
/* NULL is allowed.  Without rotation_finish no file stays that is still open: the recording never began. */
void rotation_free(struct rotation *rotation);

/* When the recording begins; may be called again, in which case the first file is changed.  From any thread. */
int rotation_set_start(struct rotation *rotation, uint64_t start_ns, int64_t wall_offset_ns);

/* records: those that the segment does not repeat. */
void rotation_add(struct rotation *rotation, const struct segment *segment, const uint8_t *records, size_t bytes,
		  struct appended appended);

/* The recording is over: ends the last file.  -errno: it could not be written, or had not been before. */
int rotation_finish(struct rotation *rotation, struct gpt_end *end);
