/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of why.h. */
#pragma once

#include "analyze/why/why.h"

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

/* To be called before the device counts as busy with the operation; only [start_ns, end_ns) of it counts. */
void why_shared_add_gpu(struct why *why, size_t device, const struct gpu_event *event, uint64_t start_ns,
			uint64_t end_ns, bool copy);
void why_shared_free(struct why *why);

/* Work of a GPU up to that time, of operations that began before it. */
uint64_t why_worked_by(const struct why_sharing *sharing, uint64_t time_ns);

/*
 * The time until the last rank came, at last_ns, in which the GPU of one that waited did nothing else; now:
 * why_worked_by of that GPU then.  Time that waits of before have is not counted again.
 */
uint64_t why_waited_ns(struct why *why, const struct why_arrival *arrival, uint64_t last_ns, uint64_t now);
