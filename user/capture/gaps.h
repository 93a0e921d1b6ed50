/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The GPU's short gaps while a trace is made, from the batches of agents: for what samples are taken, and how often. An
 * estimate for that only; what a report says of gaps is made from the log.
 */
#pragma once

#include <stdint.h>

#include <gputrace/record.h>

/* Shorter ones are the price of a launch; longer ones have two samples at the usual rate. */
#define GAPS_LEAST_NS 200000u
#define GAPS_MOST_NS 20000000u

#define GAPS_GPUS 64u /* GPUs of processes that are told apart */

struct gaps {
	struct {
		uint64_t gpu; /* process and GPU, 0: none */
		uint64_t end_ns;
	} last[GAPS_GPUS];
	uint64_t short_ns; /* the sum of short gaps so far */
};

/* Any record; only batches count. */
void gaps_add(struct gaps *gaps, const struct gpt_record *record);
