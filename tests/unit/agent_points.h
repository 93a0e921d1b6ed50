/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent's probe points for tests: they keep what the agent reports. Include once per test program. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/agent.h>

#include "agent/send/points.h"

unsigned short gputrace_agent_semaphore = 2, gputrace_agent_batch_semaphore = 1;
unsigned short gputrace_agent_yield_semaphore, gputrace_agent_resume_semaphore, gputrace_agent_restart_semaphore;
unsigned short gputrace_agent_calls_semaphore = 1;
unsigned short gputrace_agent_share_semaphore, gputrace_agent_ops_semaphore, gputrace_agent_shapes_semaphore;
unsigned short gputrace_agent_shapes_off_semaphore, gputrace_agent_ops_off_semaphore;
unsigned short gputrace_agent_torch_memory_semaphore, gputrace_agent_memory_lines_semaphore;
unsigned short gputrace_agent_stack_semaphore, gputrace_agent_forward_lines_semaphore;
unsigned short gputrace_agent_schedule_semaphores[GPT_SCHEDULE_SEMAPHORES];

#define TEST_SET(enumerator, name) unsigned short gputrace_agent_activity_set_##name##_semaphore = 1;
GPT_AGENT_ACTIVITY_SETS(TEST_SET)

static struct {
	uint32_t corr[64], api[64];
	unsigned calls;
	uint8_t data[1 << 20] __attribute__((aligned(8)));
	size_t bytes;
	unsigned batches;
	uint32_t states[8];
	uint64_t stacks[64]; /* numbers */
	uint32_t stacks_of[64];
	_Atomic unsigned stack_count;
	unsigned state_count;
} said;

void gputrace_agent_call(uint32_t corr, uint32_t api, const void *params)
{
	if (said.calls < 64) {
		said.corr[said.calls] = corr;
		said.api[said.calls] = api;
	}
	said.calls++;
}

void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread)
{
	if (bytes <= GPT_AGENT_BATCH_MAX && said.bytes + bytes <= sizeof(said.data)) {
		memcpy(said.data + said.bytes, data, bytes);
		said.bytes += bytes;
	}
	said.batches++;
}

void gputrace_agent_state(uint32_t state, uint32_t abi)
{
	if (said.state_count < 8)
		said.states[said.state_count++] = state;
}

void gputrace_agent_stack(uint32_t what, uint64_t number)
{
	unsigned n = said.stack_count++;

	if (n < 64) {
		said.stacks_of[n] = what;
		said.stacks[n] = number;
	}
}

/* The n-th record of a type in all batches so far; NULL when there are fewer. */
static inline const void *said_record(uint16_t type, unsigned n)
{
	const struct gpt_record *record;
	size_t at;

	for (at = 0; at < said.bytes; at += record->size) {
		record = (const struct gpt_record *)(said.data + at);
		if (record->type == type && !n--)
			return record;
	}
	return NULL;
}

static inline const struct gpt_agent_ops *last_ops(void)
{
	const struct gpt_agent_ops *last = NULL, *one;

	for (unsigned n = 0; (one = said_record(GPT_AGENT_OPS, n)); n++)
		last = one;
	return last;
}

static inline bool ops_are(uint32_t state)
{
	const struct gpt_agent_ops *last = last_ops();

	return last && last->state == state;
}

#define PATIENCE_MS 20000

#define UNTIL(condition)                                                                                               \
	do {                                                                                                           \
		const struct timespec pause = {.tv_nsec = 1000000};                                                    \
		unsigned waited;                                                                                       \
		for (waited = 0; !(condition) && waited < PATIENCE_MS; waited++)                                       \
			nanosleep(&pause, NULL);                                                                       \
		assert_true(waited < PATIENCE_MS);                                                                     \
	} while (0)

/* agent.mk wraps the clock for every test of the agent: some tests step it. */
#include <time.h>
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
static time_t wall_clock_step_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int result = __real_clock_gettime(clock, t);

	if (clock == CLOCK_REALTIME)
		t->tv_sec += wall_clock_step_s;
	return result;
}
