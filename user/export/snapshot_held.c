/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The segments with their blocks, and the lists of devices, which are known once all events are. */
#include "base/order.h"
#include "export/snapshot_state.h"

#define SMALL_SEGMENT_BYTES (2u << 20) /* kSmallBuffer of c10/core/AllocatorConfig.h, PyTorch 2.15 */

static int compare_places(uint32_t device, uint64_t address, uint32_t other_device, uint64_t other_address)
{
	if (device != other_device)
		return device < other_device ? -1 : 1;
	return (address > other_address) - (address < other_address);
}

DEFINE_ORDER(compare_blocks, struct block, compare_places(a->device, a->address, b->device, b->address))

DEFINE_ORDER(compare_segments, struct segment, compare_places(a->device, a->address, b->device, b->address))

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

	array_each (block, &snapshot->blocks) {
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
	snapshot_put_pair(snapshot, TEXT_ADDRESS, address);
	snapshot_put_pair(snapshot, TEXT_SIZE, bytes);
	snapshot_put_pair(snapshot, TEXT_REQUESTED_SIZE, bytes);
	snapshot_put_text_pair(snapshot, TEXT_STATE, block ? TEXT_ACTIVE_ALLOCATED : TEXT_INACTIVE);
	snapshot_put_frames(snapshot, block ? block->stack : NONE);
	sink_literal(snapshot->out, "ua");
}

/* Writes the blocks from *next on that lie in the segment, and the free space between them; returns the bytes held. */
static uint64_t put_blocks(struct snapshot *snapshot, const struct segment *segment, size_t *next)
{
	uint64_t at = segment->address, end = segment->address + segment->bytes, held = 0;

	snapshot_put_text(snapshot, TEXT_BLOCKS);
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
	snapshot_put_pair(snapshot, TEXT_DEVICE, snapshot->devices.items[segment->device].index);
	snapshot_put_pair(snapshot, TEXT_ADDRESS, segment->address);
	snapshot_put_pair(snapshot, TEXT_TOTAL_SIZE, segment->bytes);
	snapshot_put_pair(snapshot, TEXT_STREAM, 0);
	snapshot_put_text_pair(snapshot, TEXT_SEGMENT_TYPE,
			       segment->bytes <= SMALL_SEGMENT_BYTES ? TEXT_SMALL : TEXT_LARGE);
	snapshot_put_text(snapshot, TEXT_SEGMENT_POOL_ID);
	sink_literal(snapshot->out, "K\0K\0\x86"); /* (0, 0) */
	snapshot_put_text(snapshot, TEXT_IS_EXPANDABLE);
	sink_char(snapshot->out, '\x89'); /* False */
	snapshot_put_frames(snapshot, segment->stack);
	held = put_blocks(snapshot, segment, next_block);
	snapshot_put_pair(snapshot, TEXT_ALLOCATED_SIZE, held);
	snapshot_put_pair(snapshot, TEXT_ACTIVE_SIZE, held);
	snapshot_put_pair(snapshot, TEXT_REQUESTED_SIZE, held);
	sink_literal(snapshot->out, "ua");
}

void snapshot_put_segments(struct snapshot *snapshot)
{
	size_t next_block = 0;

	array_sort(&snapshot->blocks, compare_blocks);
	array_sort(&snapshot->segments, compare_segments);
	add_older_segments(snapshot);
	array_sort(&snapshot->segments, compare_segments);
	snapshot_put_text(snapshot, TEXT_SEGMENTS);
	sink_char(snapshot->out, ']');
	for (size_t i = 0; i < snapshot->segments.count; i++)
		if (snapshot->segments.items[i].held && snapshot->segments.items[i].of_torch)
			put_segment(snapshot, &snapshot->segments.items[i], &next_block);
	sink_char(snapshot->out, 's');
}

static const struct device *device_with_events(const struct snapshot *snapshot, uint32_t index)
{
	return array_find(&snapshot->devices, item, item->index == index && item->trace);
}

static uint32_t highest_index(const struct snapshot *snapshot)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < snapshot->devices.count; i++)
		if (snapshot->devices.items[i].trace && snapshot->devices.items[i].index > highest)
			highest = snapshot->devices.items[i].index;
	return highest;
}

void snapshot_put_devices(struct snapshot *snapshot)
{
	uint32_t highest = highest_index(snapshot);
	const struct device *device;

	snapshot_put_text(snapshot, TEXT_DEVICE_TRACES);
	sink_literal(snapshot->out, "](");
	for (uint32_t i = 0; i <= highest; i++) {
		device = device_with_events(snapshot, i);
		if (device)
			snapshot_put_again(snapshot, device->trace);
		else
			sink_char(snapshot->out, ']');
	}
	sink_literal(snapshot->out, "es");
	snapshot_put_text(snapshot, TEXT_GPUTRACE_DEVICES);
	sink_char(snapshot->out, ']');
	for (uint32_t i = 0; i <= highest; i++) {
		device = device_with_events(snapshot, i);
		if (!device)
			continue;
		sink_literal(snapshot->out, "}(");
		snapshot_put_pair(snapshot, TEXT_DEVICE, i);
		snapshot_put_pair(snapshot, TEXT_PID, snapshot->part->processes[device->process].pid);
		sink_literal(snapshot->out, "ua");
	}
	sink_char(snapshot->out, 's');
}
