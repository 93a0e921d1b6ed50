/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/tables/torch_memory.h"

#include <string.h>

#include "model/tables/op_sweep.h"
#include "model/order.h"

/* Freed addresses are dropped once they exceed the allocated ones by this and a factor. */
#define FORGOTTEN_MIN 1024u

void torch_memory_free(struct torch_memory *memory)
{
	array_free(&memory->pending);
	array_free(&memory->blocks);
	array_free(&memory->allocated);
	array_free(&memory->losses);
	lookup_free(&memory->by_address);
	lookup_free(&memory->devices);
	lookup_free(&memory->lost_of);
}

/* ---- reported events --------------------------------------------------------------------------------------------- */

void torch_memory_add(struct torch_memory *memory, struct process_image program,
		      const struct gpt_agent_torch_memory *event)
{
	array_push(&memory->pending, ((struct pending_torch_memory){.program = program, .memory = *event}));
}

void torch_memory_add_state(struct torch_memory *memory, struct process_table *processes, struct process_image program,
			    const struct gpt_agent_torch_memory_state *state, struct text detail)
{
	struct model_process *process = &processes->list.items[program.process];
	uint32_t index = *lookup_put(&memory->lost_of, program.epoch, 0, (uint32_t)memory->losses.count);

	if (index == memory->losses.count)
		array_push(&memory->losses, 0);
	/* an agent that starts over counts from 0 */
	if (state->lost < memory->losses.items[index])
		memory->lost += memory->losses.items[index];
	memory->losses.items[index] = state->lost;
	process->torch_memory_reported = true;
	process->torch_memory_detail = string_keep(processes->strings, detail.bytes, detail.size);
}

uint64_t torch_memory_lost(const struct torch_memory *memory)
{
	uint64_t lost = memory->lost;

	for (size_t i = 0; i < memory->losses.count; i++)
		lost += memory->losses.items[i] < UINT32_MAX ? memory->losses.items[i] : UINT32_MAX;
	return lost;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

/* Index in `allocated` of a device.  The CPU's shared memory has its own, as its allocator reports totals. */
static uint32_t find_device(struct torch_memory *memory, uint32_t epoch, const struct model_torch_memory *event,
			    bool has_totals)
{
	uint64_t device =
		(uint64_t)has_totals << 40 | (uint64_t)(uint8_t)event->device_type << 32 | (uint32_t)event->device;
	uint32_t index = *lookup_put(&memory->devices, epoch, device, (uint32_t)memory->allocated.count);

	if (index == memory->allocated.count)
		array_push(&memory->allocated, 0);
	return index;
}

static uint32_t new_block(struct torch_memory *memory, const struct model_torch_memory *event)
{
	struct torch_block block = {.bytes = (uint64_t)event->bytes,
				    .since_ns = event->time_ns,
				    .op_name = event->op_name,
				    .stack = event->stack,
				    .forward = event->forward};
	uint32_t index = memory->free_block;

	memory->held++;
	if (index == NONE) {
		array_push(&memory->blocks, block);
		return (uint32_t)memory->blocks.count - 1;
	}
	memory->free_block = memory->blocks.items[index].next_free;
	memory->blocks.items[index] = block;
	return index;
}

/* Removes and returns the block at an address; NULL: none is known. */
static const struct torch_block *take_block(struct torch_memory *memory, uint32_t device, uint64_t address)
{
	uint32_t *found = lookup_get(&memory->by_address, device + 1, address), block = found ? *found : NONE;

	if (block == NONE)
		return NULL;
	*found = NONE;
	memory->blocks.items[block].next_free = memory->free_block;
	memory->free_block = block;
	memory->held--;
	memory->allocated.items[device] -= memory->blocks.items[block].bytes;
	if (memory->by_address.count > FORGOTTEN_MIN + 4 * memory->held)
		lookup_shrink(&memory->by_address);
	return &memory->blocks.items[block];
}

static void hand_out(struct torch_memory *memory, uint32_t device, const struct model_torch_memory *event)
{
	uint32_t block;

	/* a block already at the address was freed, and the event was lost */
	take_block(memory, device, event->address);
	block = new_block(memory, event);
	*lookup_put(&memory->by_address, device + 1, event->address, NONE) = block;
	memory->allocated.items[device] += (uint64_t)event->bytes;
}

/* False: the freed size is not known. */
static bool take_back(struct torch_memory *memory, uint32_t device, struct model_torch_memory *event, bool has_bytes)
{
	const struct torch_block *block = take_block(memory, device, event->address);

	if (!block)
		return has_bytes;
	if (!has_bytes)
		event->bytes = -(int64_t)block->bytes;
	event->since_ns = block->since_ns;
	event->since_op_name = block->op_name;
	event->since_stack = block->stack;
	event->since_forward = block->forward;
	return true;
}

/* Completes an event from earlier ones; false: the event is useless. */
static bool complete_event(struct torch_memory *memory, uint32_t epoch, struct model_torch_memory *event,
			   bool has_totals)
{
	uint32_t device = find_device(memory, epoch, event, has_totals);

	if (event->kind == GPT_AGENT_TORCH_MEMORY_ALLOCATED)
		hand_out(memory, device, event);
	else if (event->kind == GPT_AGENT_TORCH_MEMORY_FREED && !take_back(memory, device, event, has_totals))
		return false;
	if (!has_totals)
		event->allocated = memory->allocated.items[device];
	return true;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static uint32_t innermost_stack(const struct ops *ops, const struct op_nesting *nesting)
{
	for (size_t i = nesting->open.count; i-- > 0;)
		if (ops->list.items[nesting->open.items[i]].stack != NONE)
			return ops->list.items[nesting->open.items[i]].stack;
	return NONE;
}

static uint32_t forward_of(const struct ops *ops, const struct op_nesting *nesting)
{
	const struct model_op *node = op_nesting_node(ops, nesting);

	if (!node)
		return NONE;
	return node->forward != NONE ? node->forward : FORWARD_UNKNOWN;
}

/* Each process numbers its visible devices from 0. */
static int32_t device_of(const struct device_table *devices, uint32_t process,
			 const struct gpt_agent_torch_memory *event)
{
	if (event->device_type != GPT_TORCH_CUDA || event->device < 0)
		return event->device;
	return (int32_t)device_table_find(devices, process, (uint32_t)event->device);
}

static void join_one(struct torch_memory *memory, const struct pending_torch_memory *pending, uint32_t thread,
		     const struct sampled_stacks *sampled, const struct device_table *devices, struct op_sweep *sweep)
{
	const struct gpt_agent_torch_memory *from = &pending->memory;
	const struct op_nesting *nesting = op_sweep_at(sweep, thread, from->time_ns);
	struct model_torch_memory event = {.time_ns = from->time_ns,
					   .address = from->address,
					   .bytes = from->bytes,
					   .allocated = from->allocated,
					   .reserved = from->reserved,
					   .op_name = NONE,
					   .since_op_name = NONE,
					   .since_stack = NONE,
					   .forward = NONE,
					   .since_forward = NONE,
					   .thread = thread,
					   .kind = from->kind,
					   .device_type = from->device_type,
					   .device = device_of(devices, pending->program.process, from)};

	event.stack =
		sampled_stacks_find(sampled, pending->program.epoch, GPT_STACK_OF_MEMORY, from->stack, from->time_ns);
	if (nesting->open.count) {
		const struct model_op *op = &sweep->ops->list.items[nesting->open.items[nesting->open.count - 1]];

		event.op = 1 + op->number;
		event.op_name = op->name;
		event.forward = forward_of(sweep->ops, nesting);
		if (event.stack == NONE)
			event.stack = innermost_stack(sweep->ops, nesting);
	}
	if (complete_event(memory, pending->program.epoch, &event, from->has_totals))
		array_push(&memory->list, event);
}

void torch_memory_join(struct torch_memory *memory, const struct ops *ops, const struct ops *known,
		       const struct sampled_stacks *sampled, const struct device_table *devices,
		       const struct model_thread *threads, uint64_t until_ns)
{
	AUTO_FREE struct order_key *keys = NULL;
	struct op_sweep sweep;
	size_t count = 0, waiting = 0;

	memory->list.count = 0;
	if (!memory->pending.count)
		return;
	keys = xmalloc(memory->pending.count * sizeof(*keys));
	for (size_t i = 0; i < memory->pending.count; i++)
		if (memory->pending.items[i].memory.time_ns < until_ns)
			keys[count++] = (struct order_key){.time_ns = memory->pending.items[i].memory.time_ns,
							   .index = (uint32_t)i};
	order_sort(keys, count);
	op_sweep_begin(&sweep, ops, threads, known->processes->threads.count);
	for (size_t i = 0; i < count; i++) {
		const struct pending_torch_memory *pending = &memory->pending.items[keys[i].index];
		uint32_t thread = ops_thread(known, pending->program.process, pending->memory.tid);

		if (thread != NONE)
			join_one(memory, pending, thread, sampled, devices, &sweep);
	}
	op_sweep_end(&sweep);
	for (size_t i = 0; i < memory->pending.count; i++)
		if (memory->pending.items[i].memory.time_ns >= until_ns)
			memory->pending.items[waiting++] = memory->pending.items[i];
	memory->pending.count = waiting;
}
