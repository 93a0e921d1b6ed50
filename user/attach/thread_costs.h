/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What traced threads paid to BPF programs in the last second, with the way into these: as the receipt's line of the
 * thread that paid most, but now.  A thread that ends within a second is not in it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "attach/costs.h"
#include "base/array.h"

struct attach;

struct thread_cost {
	uint64_t ns; /* in a second */
	uint32_t pid, tid;
};

struct thread_paid {
	uint32_t tid;
	uint64_t from_ns; /* since when it pays: tells apart threads of one number */
	uint64_t ns, runs;
};

struct thread_costs {
	ARRAY(struct thread_paid) paid; /* when it was last measured, by tid */
	struct cost_entries entries;
	uint64_t measured_ns, took_ns; /* 0: not yet; how long that took */
};

/* Begins a second. */
void thread_costs_begin(struct thread_costs *costs, struct attach *attach, uint64_t now_ns);

/* Once a second has passed since then: sets *most to what the thread that paid most has paid in it, and begins the next
 * one. */
bool thread_costs_measure(struct thread_costs *costs, struct attach *attach, uint64_t now_ns, struct thread_cost *most);

void thread_costs_free(struct thread_costs *costs);
