/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why a collective's kernel began no earlier: what the account of idle time (analyze/why/idle.h) charges the gap to
 * that the kernel ended on its GPU.  A kernel without such a gap followed other work.
 */
#pragma once

#include "analyze/ranks/collective_kernels.h"
#include "analyze/why/idle.h"

#define CAUSES_MAX 64u /* parts of a gap that are kept, the latest */

struct gap_part {
	uint64_t from_ns, to_ns;
	uint32_t device, charge;
};

struct collective_causes {
	ARRAY(struct gap_part) parts;
	uint64_t left_out_from_ns; /* start of the first gap that is not among them, 0: all are */
};

/* An idle_take_gap; the context is a struct collective_causes. */
void collective_causes_take(void *context, uint32_t device, const struct idle_part *parts, size_t count);

/* Sets the causes of kernels.  idle and lines: finished. */
void collective_causes_apply(struct collective_causes *causes, struct idle *idle, struct lines *lines,
			     struct collective_kernels *kernels);
void collective_causes_free(struct collective_causes *causes);
