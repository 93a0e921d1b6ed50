/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * CUPTI's API callback, which runs on the application's threads at the entry and the return of every followed CUDA
 * call. No allocation, no lock, no system call except one gettid per thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* CUPTI's callback function (cupti_api_callback). */
void callbacks_api(void *user, uint32_t domain, uint32_t cbid, const void *data);

/* Also report calls that load code. */
void callbacks_report_loads(bool wanted);

/* Reports calls from now on; resets the counters. */
void callbacks_start(uint32_t (*graph_node_id)(void *node, uint64_t *id), void (*capture)(bool starts));
void callbacks_stop(void);

/* After callbacks_stop: reports again and keeps the counters. */
void callbacks_go_on(void);

/* In the child of a fork: reports no more calls. */
void callbacks_forked(void);

/* Calls reported since callbacks_start. */
uint64_t callbacks_count(void);

/* Sets the callbacks_* of the agent's counters: what the callbacks took since callbacks_start. */
struct gpt_agent_stats;
void callbacks_cost(struct gpt_agent_stats *stats);

/* Of those, the calls that have not returned. */
uint64_t callbacks_open(void);

/* The highest correlation id reported (they grow, and may wrap around); 0: none. */
uint32_t callbacks_last_corr(void);

/* The latest asynchronous error that CUPTI reported (state domain, 12.2 and later); false: none since the last call. */
bool callbacks_state_error(uint32_t *result, char *text, uint32_t size);
