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
#include "export/snapshot_state.h"

#include <errno.h>

#define MEMORY_KIND_DEVICE 3 /* CUpti_ActivityMemoryKind, cupti_activity.h of CUDA 13.0 */
#define DEVICES_BY_ID 1024u  /* a device with a higher number gets the next free place */

/* ---- events ------------------------------------------------------------------------------------------------------ */

static bool is_taken(const struct snapshot *snapshot, uint32_t index)
{
	return any_of(snapshot->devices.count, i, snapshot->devices.items[i].index == index);
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

	snapshot_put_text(snapshot, TEXT_DEVICE_TRACES);
	if (at->trace) {
		snapshot_put_again(snapshot, at->trace);
	} else {
		sink_char(snapshot->out, ']');
		at->trace = snapshot_memoize(snapshot);
	}
	sink_literal(snapshot->out, "}(");
	snapshot_put_text_pair(snapshot, TEXT_ACTION, action);
}

static void end_event(struct snapshot *snapshot, uint64_t time_ns, uint64_t bytes, uint32_t stack)
{
	snapshot_put_pair(snapshot, TEXT_SIZE, bytes);
	snapshot_put_pair(snapshot, TEXT_STREAM, 0);
	snapshot_put_pair(snapshot, TEXT_TIME_US, wall_us(snapshot, time_ns));
	snapshot_put_frames(snapshot, stack);
	sink_literal(snapshot->out, "uas");
}

static void put_event(struct snapshot *snapshot, uint32_t device, enum text action, uint64_t time_ns, uint64_t address,
		      uint64_t bytes, uint32_t stack)
{
	begin_event(snapshot, device, action);
	snapshot_put_pair(snapshot, TEXT_ADDR, address);
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
	snapshot_put_text(snapshot, TEXT_DEVICE_FREE);
	snapshot_put_integer(snapshot->out, -1);
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

/* ---- the file ---------------------------------------------------------------------------------------------------- */

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
		snapshot_put_segments(&snapshot);
		snapshot_put_devices(&snapshot);
		sink_char(sink, '.');
	}
	snapshot_free(&snapshot);
	return error;
}
