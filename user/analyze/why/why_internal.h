/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the parts of why.h share. */
#ifndef GPUTRACE_ANALYZE_WHY_INTERNAL_H
#define GPUTRACE_ANALYZE_WHY_INTERNAL_H

#include "analyze/why/why.h"

/* CUpti_ActivityMemcpyKind, CUpti_ActivityMemoryKind */
#define WHY_HTOD 1u
#define WHY_DTOH 2u
#define WHY_PAGEABLE 1u

/* Of what a thread does at one time the last of these counts. */
enum why_rank { WHY_RANK_PEER = 1, WHY_RANK_DATA, WHY_RANK_CALL, WHY_RANK_IMPORT, WHY_RANK_GC, WHY_RANK_COMPILE };

static inline struct tally_key why_key(uint32_t caller, enum why_cause cause, uint32_t detail, uint32_t extra)
{
	return (struct tally_key){{caller, cause, detail, extra}};
}

#define WHY_PROCESS_SHIFT 8u

/* The same key of one process; and back. */
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

static inline bool why_looks_at(const struct why *why, uint64_t time_ns)
{
	return time_ns >= why->from_ns && time_ns < why->to_ns;
}

/* Adds time to the sum of a key; caller: of the launch that came next. */
void why_charge(struct why *why, uint32_t caller, struct tally_key key, uint64_t ns);

/* Of the device no operation is to come. */
void why_settle_copies(struct why *why, struct why_device *device);

#endif
