/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Launches whose GPU records ended with their process, or stayed in its agent: that has not said that it stopped, and
 * no later launch of the process has a record. Part by part; parts in order of time.
 */
#pragma once

#include "base/array.h"
#include "model/model.h"

struct cut_launches {
	/* by process: launches without records since the latest one with a record */
	struct {
		struct cut_process {
			uint64_t missed, first_ns;
		} * items;
		size_t count, capacity;
	} processes;
};

/* The part must have the processes and gaps of the whole trace. */
void cut_launches_add(struct cut_launches *launches, const struct model *part, const struct model_call *call,
		      enum launch_fate fate);

/* Fills in the receipt's members that begin with cut. */
void cut_launches_count(const struct cut_launches *launches, const struct model *last, struct model_receipt *receipt);
