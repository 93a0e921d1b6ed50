/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations and frees of PyTorch's allocators, by time, with the op and the Python stack of each event.  The CPU's
 * allocator does not report the size of a freed block and the total held; both follow from earlier events.  Blocks from
 * before the trace are not known, and their frees are left out.
 */
#pragma once

#include "base/lookup.h"
#include "model/events.h"
#include "model/tables/device_table.h"
#include "model/tables/ops.h"
#include "model/tables/sampled_stacks.h"

struct pending_torch_memory {
	struct process_image program;
	struct gpt_agent_torch_memory memory;
};

/* An allocated block. */
struct torch_block {
	uint64_t bytes;
	uint64_t since_ns;
	uint32_t op_name, stack, forward; /* of its allocation */
	uint32_t next_free;		  /* free list of unused entries, NONE */
};

struct torch_memory {
	ARRAY(struct pending_torch_memory) pending;
	ARRAY(struct model_torch_memory) list; /* by time; of the whole trace or the current part */
	ARRAY(struct torch_block) blocks;
	uint32_t free_block;
	size_t held;		   /* blocks */
	struct lookup by_address;  /* (index in allocated + 1, address) to blocks; NONE: not allocated */
	ARRAY(uint64_t) allocated; /* on each device, of known blocks */
	struct lookup devices;	   /* (epoch, device) to index in allocated */
	ARRAY(uint64_t) losses;	   /* of the current session */
	struct lookup lost_of;	   /* (epoch, 0) to index in losses */
	uint64_t lost;		   /* of finished sessions */
};

void torch_memory_free(struct torch_memory *memory); /* all but the list, which is the model's */

void torch_memory_add(struct torch_memory *memory, struct process_image program,
		      const struct gpt_agent_torch_memory *event);
void torch_memory_add_state(struct torch_memory *memory, struct process_table *processes, struct process_image program,
			    const struct gpt_agent_torch_memory_state *state, struct text detail);
uint64_t torch_memory_lost(const struct torch_memory *memory);

/* Makes the list of the events before until_ns that were in no list yet; ops are joined up to there. */
void torch_memory_join(struct torch_memory *memory, const struct ops *ops, const struct ops *known,
		       const struct sampled_stacks *sampled, const struct device_table *devices,
		       const struct model_thread *threads, uint64_t until_ns);
