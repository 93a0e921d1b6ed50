/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For the files of snapshots alone: the state of one that is written, and what writes values of a pickle. */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "export/snapshot.h"

#define TEXTS(X)                                                                                                       \
	X(ACTION, "action")                                                                                            \
	X(ACTIVE_ALLOCATED, "active_allocated")                                                                        \
	X(ACTIVE_SIZE, "active_size")                                                                                  \
	X(ADDR, "addr")                                                                                                \
	X(ADDRESS, "address")                                                                                          \
	X(ALLOC, "alloc")                                                                                              \
	X(ALLOCATED_SIZE, "allocated_size")                                                                            \
	X(BLOCKS, "blocks")                                                                                            \
	X(DEVICE, "device")                                                                                            \
	X(DEVICE_FREE, "device_free")                                                                                  \
	X(DEVICE_TRACES, "device_traces")                                                                              \
	X(FILENAME, "filename")                                                                                        \
	X(FRAMES, "frames")                                                                                            \
	X(FREE_COMPLETED, "free_completed")                                                                            \
	X(FREE_REQUESTED, "free_requested")                                                                            \
	X(GPUTRACE_DEVICES, "gputrace_devices")                                                                        \
	X(INACTIVE, "inactive")                                                                                        \
	X(IS_EXPANDABLE, "is_expandable")                                                                              \
	X(LARGE, "large")                                                                                              \
	X(LINE, "line")                                                                                                \
	X(NAME, "name")                                                                                                \
	X(OOM, "oom")                                                                                                  \
	X(PID, "pid")                                                                                                  \
	X(REQUESTED_SIZE, "requested_size")                                                                            \
	X(SEGMENT_ALLOC, "segment_alloc")                                                                              \
	X(SEGMENT_FREE, "segment_free")                                                                                \
	X(SEGMENT_POOL_ID, "segment_pool_id")                                                                          \
	X(SEGMENT_TYPE, "segment_type")                                                                                \
	X(SEGMENTS, "segments")                                                                                        \
	X(SIZE, "size")                                                                                                \
	X(SMALL, "small")                                                                                              \
	X(STATE, "state")                                                                                              \
	X(STREAM, "stream")                                                                                            \
	X(TIME_US, "time_us")                                                                                          \
	X(TOTAL_SIZE, "total_size")

enum text {
#define TEXT(name, text) TEXT_##name,
	TEXTS(TEXT)
#undef TEXT
		TEXT_COUNT
};

/* A GPU as seen by one process: its addresses are valid in that process only. */
struct device {
	uint32_t process, id; /* model.processes, model_device.id */
	uint32_t index;	      /* in device_traces */
	uint32_t trace;	      /* 1 + memo of its list of events, 0: none yet */
};

/* An address at which PyTorch has handed out blocks: the latest one. */
struct block {
	uint64_t address, bytes;
	uint64_t most_bytes, first_ns; /* of all blocks at this address */
	uint32_t device;	       /* index in snapshot.devices */
	uint32_t stack;		       /* model.stacks, NONE */
	bool held;
};

/* An address at which the driver has given memory: the latest time. */
struct segment {
	uint64_t address, bytes;
	uint64_t time_ns, first_ns; /* first: of PyTorch's segments, UINT64_MAX: none yet */
	uint32_t device, stack;
	bool held;
	bool of_torch; /* a block was taken from its start */
};

struct snapshot {
	struct sink *out;
	const struct model *part;
	int process; /* index into model.processes, -1: all */
	uint32_t memo;
	uint32_t texts[TEXT_COUNT]; /* 1 + memo, 0: not written yet */
	ARRAY(uint32_t) stacks;	    /* the same for lists of frames, by model.stacks */
	ARRAY(uint32_t) frames;	    /* and for frames, by model.frames */
	ARRAY(struct device) devices;
	ARRAY(struct block) blocks;
	ARRAY(struct segment) segments;
	struct lookup blocks_at, segments_at; /* (device + 1, address) to these */
};

void snapshot_put_integer(struct sink *out, int64_t value);

/* Memoizes what was written last; returns 1 + its memo. */
uint32_t snapshot_memoize(struct snapshot *snapshot);
void snapshot_put_again(struct snapshot *snapshot, uint32_t remembered);
void snapshot_put_text(struct snapshot *snapshot, enum text text);
void snapshot_put_pair(struct snapshot *snapshot, enum text key, uint64_t value);
void snapshot_put_text_pair(struct snapshot *snapshot, enum text key, enum text value);

/* Innermost first, as in the snapshots of PyTorch. */
void snapshot_put_frames(struct snapshot *snapshot, uint32_t stack);

/* What PyTorch holds at the end. */
void snapshot_put_segments(struct snapshot *snapshot);

/* Writes the lists of all devices by place, and which devices they are. */
void snapshot_put_devices(struct snapshot *snapshot);
