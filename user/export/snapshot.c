/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The keys are those of torch/csrc/cuda/Module.cpp (THCPModule_memorySnapshot, PyTorch 2.15).  The opcodes are those of
 * protocol 2 of CPython's Lib/pickle.py that the viewer's own reader also supports (torch/utils/viz/MemoryViz.js); that
 * reader has none that takes a value off its stack.  So an event is appended to the list of its device under a key of
 * the snapshot, which holds its last value in the end.
 *
 * Segments are the memory that PyTorch got from the driver.  If its allocation is in the trace, a segment is recognised
 * by the block that PyTorch takes from its start at once.  Of older ones only the blocks are known: the range that
 * these span is a segment.
 */
#include "export/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/lookup.h"
#include "base/order.h"

#define SMALL_SEGMENT_BYTES (2u << 20) /* kSmallBuffer of c10/core/AllocatorConfig.h, PyTorch 2.15 */
#define MEMORY_KIND_DEVICE 3	       /* CUpti_ActivityMemoryKind, cupti_activity.h of CUDA 13.0 */
#define DEVICES_BY_ID 1024u	       /* a device with a higher number gets the next free place */

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

static const char *const texts[] = {
#define TEXT(name, text) text,
	TEXTS(TEXT)
#undef TEXT
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

/* ---- pickle --------------------------------------------------------------------------------------------------------
 */

static void put_le(struct sink *out, uint64_t value, unsigned bytes)
{
	char *at = sink_room(out, 8);

	for (unsigned i = 0; i < bytes; i++)
		at[i] = (char)(value >> 8 * i);
	out->used += bytes;
}

static void put_integer(struct sink *out, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX) {
		sink_char(out, 'J');
		put_le(out, (uint64_t)value, 4);
	} else {
		sink_char(out, '\x8a');
		sink_char(out, 8);
		put_le(out, (uint64_t)value, 8);
	}
}

static void put_number(struct sink *out, uint64_t value)
{
	put_integer(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_string(struct sink *out, const char *text)
{
	size_t length = strlen(text);

	sink_char(out, 'X');
	put_le(out, length, 4);
	sink_put(out, text, length);
}

/* Memoizes what was written last; returns 1 + its memo. */
static uint32_t memoize_last(struct snapshot *snapshot)
{
	sink_char(snapshot->out, 'r');
	put_le(snapshot->out, snapshot->memo, 4);
	return ++snapshot->memo;
}

static void put_again(struct snapshot *snapshot, uint32_t remembered)
{
	sink_char(snapshot->out, 'j');
	put_le(snapshot->out, remembered - 1, 4);
}

static void put_text(struct snapshot *snapshot, enum text text)
{
	if (snapshot->texts[text]) {
		put_again(snapshot, snapshot->texts[text]);
	} else {
		put_string(snapshot->out, texts[text]);
		snapshot->texts[text] = memoize_last(snapshot);
	}
}

static void put_pair(struct snapshot *snapshot, enum text key, uint64_t value)
{
	put_text(snapshot, key);
	put_number(snapshot->out, value);
}

static void put_text_pair(struct snapshot *snapshot, enum text key, enum text value)
{
	put_text(snapshot, key);
	put_text(snapshot, value);
}

/* ---- stacks ---------------------------------------------------------------------------------------------------------
 */

static void put_frame(struct snapshot *snapshot, uint32_t index)
{
	const struct model_frame *frame = &snapshot->part->frames[index];
	const struct model_code *code = &snapshot->part->codes[frame->code];

	while (snapshot->frames.count <= index)
		array_push(&snapshot->frames, 0);
	if (snapshot->frames.items[index]) {
		put_again(snapshot, snapshot->frames.items[index]);
		return;
	}
	sink_char(snapshot->out, '}');
	snapshot->frames.items[index] = memoize_last(snapshot);
	sink_char(snapshot->out, '(');
	put_text(snapshot, TEXT_NAME);
	put_string(snapshot->out, code->name);
	put_text(snapshot, TEXT_FILENAME);
	put_string(snapshot->out, code->file);
	put_pair(snapshot, TEXT_LINE, model_shown_line(snapshot->part, frame));
	sink_char(snapshot->out, 'u');
}

/* Innermost first, as in the snapshots of PyTorch. */
static void put_frames(struct snapshot *snapshot, uint32_t stack)
{
	size_t place = stack == NONE ? 0 : (size_t)stack + 1;

	put_text(snapshot, TEXT_FRAMES);
	while (snapshot->stacks.count <= place)
		array_push(&snapshot->stacks, 0);
	if (snapshot->stacks.items[place]) {
		put_again(snapshot, snapshot->stacks.items[place]);
		return;
	}
	sink_char(snapshot->out, ']');
	snapshot->stacks.items[place] = memoize_last(snapshot);
	if (stack == NONE)
		return;
	sink_char(snapshot->out, '(');
	for (uint32_t i = 0; i < snapshot->part->stacks[stack].depth; i++)
		put_frame(snapshot, snapshot->part->stack_frames[snapshot->part->stacks[stack].first + i]);
	sink_char(snapshot->out, 'e');
}

/* ---- events ---------------------------------------------------------------------------------------------------------
 */

static bool is_taken(const struct snapshot *snapshot, uint32_t index)
{
	for (size_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].index == index)
			return true;
	return false;
}

/* If two processes have a GPU of the same number, the second one gets another place. */
static uint32_t free_index(const struct snapshot *snapshot, uint32_t id)
{
	uint32_t index = id < DEVICES_BY_ID ? id : 0;

	while (is_taken(snapshot, index))
		index++;
	return index;
}

static uint32_t device_of(struct snapshot *snapshot, uint32_t process, uint32_t id)
{
	for (uint32_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].process == process && snapshot->devices.items[i].id == id)
			return i;
	array_push(&snapshot->devices,
		   ((struct device){.process = process, .id = id, .index = free_index(snapshot, id)}));
	return (uint32_t)snapshot->devices.count - 1;
}

static uint64_t wall_us(const struct snapshot *snapshot, uint64_t time_ns)
{
	return (time_ns + (uint64_t)model_source(snapshot->part)->wall_offset_ns) / 1000;
}

/* From here to end_event the event is on the stack, and below it the list of its device and a key of the snapshot. */
static void begin_event(struct snapshot *snapshot, uint32_t device, enum text action)
{
	struct device *at = &snapshot->devices.items[device];

	put_text(snapshot, TEXT_DEVICE_TRACES);
	if (at->trace) {
		put_again(snapshot, at->trace);
	} else {
		sink_char(snapshot->out, ']');
		at->trace = memoize_last(snapshot);
	}
	sink_literal(snapshot->out, "}(");
	put_text_pair(snapshot, TEXT_ACTION, action);
}

static void end_event(struct snapshot *snapshot, uint64_t time_ns, uint64_t bytes, uint32_t stack)
{
	put_pair(snapshot, TEXT_SIZE, bytes);
	put_pair(snapshot, TEXT_STREAM, 0);
	put_pair(snapshot, TEXT_TIME_US, wall_us(snapshot, time_ns));
	put_frames(snapshot, stack);
	sink_literal(snapshot->out, "uas");
}

static void put_event(struct snapshot *snapshot, uint32_t device, enum text action, uint64_t time_ns, uint64_t address,
		      uint64_t bytes, uint32_t stack)
{
	begin_event(snapshot, device, action);
	put_pair(snapshot, TEXT_ADDR, address);
	end_event(snapshot, time_ns, bytes, stack);
}

static uint32_t call_stack(const struct snapshot *snapshot, uint32_t call)
{
	return call == NONE ? NONE : snapshot->part->calls[call].stack;
}

/* The index of the entry at a device's address in an array of blocks or segments; if new, the next index. */
static uint32_t at_address(struct lookup *lookup, uint32_t device, uint64_t address, size_t count)
{
	return *lookup_put(lookup, device + 1, address, (uint32_t)count);
}

static struct segment *segment_at(struct snapshot *snapshot, uint32_t device, uint64_t address)
{
	uint32_t at = at_address(&snapshot->segments_at, device, address, snapshot->segments.count);

	if (at == snapshot->segments.count)
		array_push(&snapshot->segments,
			   ((struct segment){.address = address, .device = device, .first_ns = UINT64_MAX}));
	return &snapshot->segments.items[at];
}

static struct block *block_at(struct snapshot *snapshot, uint32_t device, uint64_t address, uint64_t time_ns)
{
	uint32_t at = at_address(&snapshot->blocks_at, device, address, snapshot->blocks.count);

	if (at == snapshot->blocks.count)
		array_push(&snapshot->blocks,
			   ((struct block){.address = address, .device = device, .first_ns = time_ns}));
	return &snapshot->blocks.items[at];
}

/* Memory from the driver is shown once it turns out to be PyTorch's. */
static void add_driver_memory(struct snapshot *snapshot, const struct model_memory *memory)
{
	uint32_t device = device_of(snapshot, memory->process, memory->device);
	struct segment *segment = segment_at(snapshot, device, memory->address);
	uint32_t stack = call_stack(snapshot, memory->call);

	if (!memory->released) {
		segment->bytes = memory->bytes;
		segment->time_ns = memory->time_ns;
		segment->stack = stack;
		segment->held = true;
		segment->of_torch = false;
	} else if (segment->held) {
		segment->held = false;
		if (segment->of_torch)
			put_event(snapshot, device, TEXT_SEGMENT_FREE, memory->time_ns, segment->address,
				  segment->bytes, stack);
	}
}

static void find_segment(struct snapshot *snapshot, uint32_t device, uint64_t address)
{
	const uint32_t *at = lookup_get(&snapshot->segments_at, device + 1, address);
	struct segment *segment = at ? &snapshot->segments.items[*at] : NULL;

	if (!segment || !segment->held || segment->of_torch)
		return;
	segment->of_torch = true;
	if (segment->time_ns < segment->first_ns)
		segment->first_ns = segment->time_ns;
	put_event(snapshot, device, TEXT_SEGMENT_ALLOC, segment->time_ns, address, segment->bytes, segment->stack);
}

static void add_block(struct snapshot *snapshot, uint32_t device, const struct model_torch_memory *event)
{
	bool freed = event->kind == GPT_AGENT_TORCH_MEMORY_FREED;
	uint64_t bytes = freed ? 0 - (uint64_t)event->bytes : (uint64_t)event->bytes;
	struct block *block;

	if (!freed)
		find_segment(snapshot, device, event->address);
	block = block_at(snapshot, device, event->address, event->time_ns);
	block->bytes = bytes;
	block->stack = event->stack;
	block->held = !freed;
	if (block->most_bytes < bytes)
		block->most_bytes = bytes;
	put_event(snapshot, device, freed ? TEXT_FREE_REQUESTED : TEXT_ALLOC, event->time_ns, event->address, bytes,
		  event->stack);
	if (freed)
		put_event(snapshot, device, TEXT_FREE_COMPLETED, event->time_ns, event->address, bytes, event->stack);
}

/* The free memory of the device is not recorded. */
static void add_out_of_memory(struct snapshot *snapshot, uint32_t device, const struct model_torch_memory *event)
{
	begin_event(snapshot, device, TEXT_OOM);
	put_text(snapshot, TEXT_DEVICE_FREE);
	put_integer(snapshot->out, -1);
	end_event(snapshot, event->time_ns, (uint64_t)event->bytes, event->stack);
}

static void add_torch_memory(struct snapshot *snapshot, const struct model_torch_memory *event)
{
	uint32_t process = snapshot->part->threads[event->thread].process, device;

	if (event->device_type != GPT_TORCH_CUDA || (snapshot->process >= 0 && process != (uint32_t)snapshot->process))
		return;
	device = device_of(snapshot, process, (uint32_t)event->device);
	if (event->kind == GPT_AGENT_TORCH_MEMORY_OUT)
		add_out_of_memory(snapshot, device, event);
	else
		add_block(snapshot, device, event);
}

static bool is_of_a_gpu(const struct snapshot *snapshot, const struct model_memory *memory)
{
	return memory->kind == MEMORY_KIND_DEVICE &&
	       (snapshot->process < 0 || memory->process == (uint32_t)snapshot->process);
}

static void add_part(struct snapshot *snapshot)
{
	const struct model *part = snapshot->part;
	uint32_t memory = part->memories_in_part.from, end = in_part_end(&part->memories_in_part, part->memory_count);

	for (uint32_t i = 0; i <= part->torch_memory_count; i++) {
		uint64_t until_ns = i < part->torch_memory_count ? part->torch_memories[i].time_ns : UINT64_MAX;

		for (; memory < end && part->memories[memory].time_ns <= until_ns; memory++)
			if (is_of_a_gpu(snapshot, &part->memories[memory]))
				add_driver_memory(snapshot, &part->memories[memory]);
		if (i < part->torch_memory_count)
			add_torch_memory(snapshot, &part->torch_memories[i]);
	}
}

/* ---- what is held at the end ----------------------------------------------------------------------------------------
 */

static int compare_places(uint32_t device, uint64_t address, uint32_t other_device, uint64_t other_address)
{
	if (device != other_device)
		return device < other_device ? -1 : 1;
	return (address > other_address) - (address < other_address);
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *first = a, *second = b;

	return compare_places(first->device, first->address, second->device, second->address);
}

static int compare_segments(const void *a, const void *b)
{
	const struct segment *first = a, *second = b;

	return compare_places(first->device, first->address, second->device, second->address);
}

/*
 * Whether a block lies in the nearest of the first `count` segments at or before it, and is not older than that
 * segment.
 */
static bool is_in_a_segment(const struct snapshot *snapshot, const struct block *block, size_t count)
{
	const struct segment *segment = snapshot->segments.items;
	size_t low = count_while(
		count, i, compare_places(segment[i].device, segment[i].address, block->device, block->address) <= 0);

	if (!low)
		return false;
	segment += low - 1;
	return segment->device == block->device && segment->first_ns <= block->first_ns &&
	       block->address - segment->address <= segment->bytes &&
	       block->most_bytes <= segment->bytes - (block->address - segment->address);
}

/* Makes segments of blocks that are in no known segment: adjacent blocks make one.  Blocks are sorted. */
static void add_older_segments(struct snapshot *snapshot)
{
	size_t known = snapshot->segments.count;
	struct segment *last = NULL;

	for (size_t i = 0; i < snapshot->blocks.count; i++) {
		const struct block *block = &snapshot->blocks.items[i];

		if (is_in_a_segment(snapshot, block, known))
			continue;
		if (!last || last->device != block->device || last->address + last->bytes < block->address)
			last = array_push(&snapshot->segments, ((struct segment){.address = block->address,
										 .device = block->device,
										 .stack = NONE,
										 .held = true,
										 .of_torch = true}));
		if (last->bytes < block->address - last->address + block->most_bytes)
			last->bytes = block->address - last->address + block->most_bytes;
	}
}

static void put_block(struct snapshot *snapshot, uint64_t address, uint64_t bytes, const struct block *block)
{
	sink_literal(snapshot->out, "}(");
	put_pair(snapshot, TEXT_ADDRESS, address);
	put_pair(snapshot, TEXT_SIZE, bytes);
	put_pair(snapshot, TEXT_REQUESTED_SIZE, bytes);
	put_text_pair(snapshot, TEXT_STATE, block ? TEXT_ACTIVE_ALLOCATED : TEXT_INACTIVE);
	put_frames(snapshot, block ? block->stack : NONE);
	sink_literal(snapshot->out, "ua");
}

/* Writes the blocks from *next on that lie in the segment, and the free space between them; returns the bytes held. */
static uint64_t put_blocks(struct snapshot *snapshot, const struct segment *segment, size_t *next)
{
	uint64_t at = segment->address, end = segment->address + segment->bytes, held = 0;

	put_text(snapshot, TEXT_BLOCKS);
	sink_char(snapshot->out, ']');
	for (; *next < snapshot->blocks.count; ++*next) {
		const struct block *block = &snapshot->blocks.items[*next];

		if (compare_places(block->device, block->address, segment->device, end) >= 0)
			break;
		if (!block->held || block->device != segment->device || block->address < at ||
		    block->bytes > end - block->address)
			continue;
		if (block->address > at)
			put_block(snapshot, at, block->address - at, NULL);
		put_block(snapshot, block->address, block->bytes, block);
		at = block->address + block->bytes;
		held += block->bytes;
	}
	if (at < end)
		put_block(snapshot, at, end - at, NULL);
	return held;
}

static void put_segment(struct snapshot *snapshot, const struct segment *segment, size_t *next_block)
{
	uint64_t held;

	sink_literal(snapshot->out, "}(");
	put_pair(snapshot, TEXT_DEVICE, snapshot->devices.items[segment->device].index);
	put_pair(snapshot, TEXT_ADDRESS, segment->address);
	put_pair(snapshot, TEXT_TOTAL_SIZE, segment->bytes);
	put_pair(snapshot, TEXT_STREAM, 0);
	put_text_pair(snapshot, TEXT_SEGMENT_TYPE, segment->bytes <= SMALL_SEGMENT_BYTES ? TEXT_SMALL : TEXT_LARGE);
	put_text(snapshot, TEXT_SEGMENT_POOL_ID);
	sink_literal(snapshot->out, "K\0K\0\x86"); /* (0, 0) */
	put_text(snapshot, TEXT_IS_EXPANDABLE);
	sink_char(snapshot->out, '\x89'); /* False */
	put_frames(snapshot, segment->stack);
	held = put_blocks(snapshot, segment, next_block);
	put_pair(snapshot, TEXT_ALLOCATED_SIZE, held);
	put_pair(snapshot, TEXT_ACTIVE_SIZE, held);
	put_pair(snapshot, TEXT_REQUESTED_SIZE, held);
	sink_literal(snapshot->out, "ua");
}

static void put_segments(struct snapshot *snapshot)
{
	size_t next_block = 0;

	array_sort(&snapshot->blocks, compare_blocks);
	array_sort(&snapshot->segments, compare_segments);
	add_older_segments(snapshot);
	array_sort(&snapshot->segments, compare_segments);
	put_text(snapshot, TEXT_SEGMENTS);
	sink_char(snapshot->out, ']');
	for (size_t i = 0; i < snapshot->segments.count; i++)
		if (snapshot->segments.items[i].held && snapshot->segments.items[i].of_torch)
			put_segment(snapshot, &snapshot->segments.items[i], &next_block);
	sink_char(snapshot->out, 's');
}

static const struct device *device_with_events(const struct snapshot *snapshot, uint32_t index)
{
	for (size_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].index == index && snapshot->devices.items[i].trace)
			return &snapshot->devices.items[i];
	return NULL;
}

static uint32_t highest_index(const struct snapshot *snapshot)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].trace && snapshot->devices.items[i].index > highest)
			highest = snapshot->devices.items[i].index;
	return highest;
}

/* Writes the lists of all devices by place, and which devices they are. */
static void put_devices(struct snapshot *snapshot)
{
	uint32_t highest = highest_index(snapshot);
	const struct device *device;

	put_text(snapshot, TEXT_DEVICE_TRACES);
	sink_literal(snapshot->out, "](");
	for (uint32_t i = 0; i <= highest; i++) {
		device = device_with_events(snapshot, i);
		if (device)
			put_again(snapshot, device->trace);
		else
			sink_char(snapshot->out, ']');
	}
	sink_literal(snapshot->out, "es");
	put_text(snapshot, TEXT_GPUTRACE_DEVICES);
	sink_char(snapshot->out, ']');
	for (uint32_t i = 0; i <= highest; i++) {
		device = device_with_events(snapshot, i);
		if (!device)
			continue;
		sink_literal(snapshot->out, "}(");
		put_pair(snapshot, TEXT_DEVICE, i);
		put_pair(snapshot, TEXT_PID, snapshot->part->processes[device->process].pid);
		sink_literal(snapshot->out, "ua");
	}
	sink_char(snapshot->out, 's');
}

/* ---- the file -------------------------------------------------------------------------------------------------------
 */

static void snapshot_free(struct snapshot *snapshot)
{
	array_free(&snapshot->stacks);
	array_free(&snapshot->frames);
	array_free(&snapshot->devices);
	array_free(&snapshot->blocks);
	array_free(&snapshot->segments);
	lookup_free(&snapshot->blocks_at);
	lookup_free(&snapshot->segments_at);
}

int snapshot_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct snapshot snapshot = {.out = sink, .process = options->process};
	int error = 0;

	sink_literal(sink, "\x80\x02}"); /* protocol 2, the snapshot's dictionary */
	for (snapshot.part = trace_first(trace); snapshot.part; snapshot.part = trace_next(trace))
		add_part(&snapshot);
	snapshot.part = trace->part;
	if (trace->error) {
		error = trace->error;
	} else if (!snapshot.memo && options->process < 0) {
		error = -ENODATA;
	} else {
		put_segments(&snapshot);
		put_devices(&snapshot);
		sink_char(sink, '.');
	}
	snapshot_free(&snapshot);
	return error;
}
