/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of why.h. */
#pragma once

#include "analyze/why/why.h"
#include "base/distance.h"

#define WHY_PROCESS_SHIFT 8u

/* Adds a process to a key, and removes it. */
static inline struct tally_key why_charge_key(struct tally_key key, uint32_t process)
{
	key.part[1] |= process << WHY_PROCESS_SHIFT;
	return key;
}

static inline struct tally_key why_key_of_charge(struct tally_key key)
{
	key.part[1] &= (1u << WHY_PROCESS_SHIFT) - 1;
	return key;
}

/* Adds time that is in no gap to the sum of a key. */
void why_charge(struct why *why, struct tally_key key, uint64_t ns);
void why_charge_several(struct why *why, struct tally_key key, uint64_t ns, uint64_t count, uint64_t longest_ns);

/* Adds time to the sums by block; STEP_BLOCK_NONE: does nothing. */
void why_charge_block(struct why *why, const struct tally_key *key, uint32_t block, uint64_t ns, uint64_t count);

/* To be called when no operation of the device is still to come. */
void why_settle_copies(struct why *why, struct why_device *device);

/* The time that losses are looked for in. */
static inline struct why_span why_looked_at(const struct why *why)
{
	return (struct why_span){later_time(why->window->start_ns, why->idle->from_ns),
				 earlier_time(why->window->end_ns, why->idle->to_ns)};
}

static inline bool why_is_copy(const struct model_gpu *op)
{
	if (gpu_is_migration(op))
		return op->memcpy_kind != MODEL_MEMCPY_MANAGED_BETWEEN_DEVICES;
	return op->kind == MODEL_MEMCPY && (op->memcpy_kind == WHY_HTOD || op->memcpy_kind == WHY_DTOH);
}

/* The GPU of that number; its index in why.devices stays. */
struct why_device *why_device_at(struct why *why, uint32_t number);

void why_shared_free(struct why *why);

/* Work of a GPU up to that time, of operations that began before it. */
uint64_t why_worked_by(const struct why_sharing *sharing, uint64_t time_ns);

/* Keeps worked_ns at the borders of the time looked at; to be called with each operation, before it counts. */
void why_pass_borders(const struct why *why, struct why_sharing *sharing, uint64_t time_ns);

/* Counts are of collectives whose last rank came in the window; what is around a slice is fed, too. */
static inline bool why_is_in_window(const struct why *why, uint64_t time_ns)
{
	return time_ns >= why->window->start_ns && time_ns < why->window->end_ns;
}

/*
 * The time until the last rank came, at last_ns, in which the GPU of one that waited did nothing else; now:
 * why_worked_by of that GPU then.  Time that waits of before have is not counted again.
 */
uint64_t why_waited_ns(struct why *why, const struct why_arrival *arrival, uint64_t last_ns, uint64_t now);
