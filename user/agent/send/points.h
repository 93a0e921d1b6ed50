/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The agent's only way to send: functions that do nothing but carry a probe, and the counters that show whether a probe
 * is attached; gputrace/agent.h has the contract. A collector without BPF gets the same through share/: both kinds may
 * listen at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <gputrace/agent.h>
#include <gputrace/schedule.h>

#include "agent/share/control.h"
#include "agent/share/share.h"

extern unsigned short gputrace_agent_semaphore, gputrace_agent_batch_semaphore;
extern unsigned short gputrace_agent_yield_semaphore, gputrace_agent_resume_semaphore;
extern unsigned short gputrace_agent_restart_semaphore, gputrace_agent_share_semaphore;
extern unsigned short gputrace_agent_calls_semaphore;
extern unsigned short gputrace_agent_ops_semaphore, gputrace_agent_shapes_semaphore;
extern unsigned short gputrace_agent_shapes_off_semaphore, gputrace_agent_ops_off_semaphore;
extern unsigned short gputrace_agent_stack_semaphore, gputrace_agent_forward_lines_semaphore;
extern unsigned short gputrace_agent_torch_memory_semaphore, gputrace_agent_memory_lines_semaphore;

extern unsigned short gputrace_agent_schedule_semaphores[GPT_SCHEDULE_SEMAPHORES];

/* To be called only while points_listening(). */
void gputrace_agent_call(uint32_t corr, uint32_t api, const void *params);
void gputrace_agent_state(uint32_t state, uint32_t abi);

/* To be called only while points_batch_listening(). */
void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread);

/* See gputrace/agent.h. Does nothing without a listener. */
void gputrace_agent_stack(uint32_t what, uint64_t number);

/* Never called; see gputrace/agent.h. */
void gputrace_agent_yield(void);
void gputrace_agent_resume(void);
void gputrace_agent_restart(void);
void gputrace_agent_share(void);
void gputrace_agent_calls(void);
void gputrace_agent_ops(void);
void gputrace_agent_shapes(void);
void gputrace_agent_shapes_off(void);
void gputrace_agent_ops_off(void);
void gputrace_agent_forward_lines(void);
void gputrace_agent_torch_memory(void);
void gputrace_agent_memory_lines(void);
void gputrace_agent_schedule(void);
#define POINTS_SET(enumerator, name)                                                                                   \
	extern unsigned short gputrace_agent_activity_set_##name##_semaphore;                                          \
	void gputrace_agent_activity_set_##name(void); /* never called */
GPT_AGENT_ACTIVITY_SETS(POINTS_SET)
#undef POINTS_SET

/* volatile: the kernel writes the counters. */
static inline bool points_listening(void)
{
	return *(volatile unsigned short *)&gputrace_agent_semaphore != 0 || SHARE_WANTS(session);
}

static inline bool points_batch_listening(void)
{
	return *(volatile unsigned short *)&gputrace_agent_batch_semaphore != 0 || SHARE_WANTS(batch);
}

/* Another CUPTI client registered its buffers. */
static inline bool points_must_yield(void)
{
	return *(volatile unsigned short *)&gputrace_agent_yield_semaphore != 0;
}

/* That client wants kinds of GPT_AGENT_SHARED_KINDS. */
static inline bool points_must_share(void)
{
	return *(volatile unsigned short *)&gputrace_agent_share_semaphore != 0;
}

/* A collector listens that can probe calls itself, but does not yet. */
static inline bool points_calls_unseen(void)
{
	return *(volatile unsigned short *)&gputrace_agent_semaphore != 0 &&
	       *(volatile unsigned short *)&gputrace_agent_calls_semaphore == 0;
}

/* The number of listeners that want PyTorch's ops. */
static inline unsigned points_take_ops(void)
{
	return *(volatile unsigned short *)&gputrace_agent_ops_semaphore + SHARE_WANTS(ops);
}

/* A listener wants ops, and not only those that the program names. */
static inline bool points_take_all_ops(void)
{
	unsigned off = SHARE_WANTS(ops) && SHARE_WANTS(detail_level) > GPT_DETAIL_OPS;

	return points_take_ops() > *(volatile unsigned short *)&gputrace_agent_ops_off_semaphore + off;
}

/* A listener wants the inputs of ops. */
static inline bool points_take_shapes(void)
{
	bool shared = SHARE_WANTS(shapes) && SHARE_WANTS(detail_level) <= GPT_DETAIL_SHAPES;

	return shared || *(volatile unsigned short *)&gputrace_agent_shapes_semaphore >
				 *(volatile unsigned short *)&gputrace_agent_shapes_off_semaphore;
}

/* A listener wants the Python stacks of ops that have an autograd number. */
static inline bool points_take_forward_lines(void)
{
	return *(volatile unsigned short *)&gputrace_agent_forward_lines_semaphore != 0 || SHARE_WANTS(forward_lines);
}

/* A listener wants the events of PyTorch's allocators. */
static inline bool points_take_torch_memory(void)
{
	return *(volatile unsigned short *)&gputrace_agent_torch_memory_semaphore != 0 || SHARE_WANTS(torch_memory);
}

/* A listener wants the Python stack of each of those events. */
static inline bool points_take_memory_lines(void)
{
	return *(volatile unsigned short *)&gputrace_agent_memory_lines_semaphore != 0 || SHARE_WANTS(memory_lines);
}

/* The requested schedule; active is 0 where everything is wanted. */
static inline struct gpt_schedule points_schedule(void)
{
	const volatile struct gpt_share_control *control = share_listener();
	const volatile unsigned short *bit = gputrace_agent_schedule_semaphores;
	uint32_t fields[GPT_SCHEDULE_FIELDS] = {0};
	struct gpt_schedule schedule;
	unsigned i, j;

	if (control)
		memcpy(fields, (const void *)&control->schedule, sizeof(fields));

	for (i = 0; i < GPT_SCHEDULE_FIELDS; i++)
		for (j = 0; j < gpt_schedule_field_bits(i); j++)
			fields[i] |= (uint32_t)(*bit++ != 0) << j;
	memcpy(&schedule, fields, sizeof(schedule));
	return schedule;
}

/* The schedule's steps may be counted. */
static inline bool points_schedule_begun(void)
{
	return *(volatile unsigned short *)&gputrace_agent_schedule_semaphores[GPT_SCHEDULE_BEGUN] != 0 ||
	       SHARE_WANTS(schedule_begun);
}

/* A listener came after the session began. */
static inline bool points_asked_again(void)
{
	return *(volatile unsigned short *)&gputrace_agent_restart_semaphore != 0;
}

/* The other CUPTI client has finished. */
static inline bool points_may_resume(void)
{
	return *(volatile unsigned short *)&gputrace_agent_resume_semaphore != 0 || share_may_resume();
}

/* Another CUPTI client is about to register its buffers; points_take_up: the agent registered again. */
static inline void points_yield(void)
{
	share_yield();
}

static inline void points_take_up(void)
{
	share_take_up();
}

/* What the listeners want besides kernels: bit 1 << enum gpt_agent_activity_set. */
static inline unsigned points_activity_sets(void)
{
	unsigned activity_sets = SHARE_WANTS(activity_sets);

#define POINTS_SET_WANTED(enumerator, name)                                                                            \
	if (*(volatile unsigned short *)&gputrace_agent_activity_set_##name##_semaphore)                               \
		activity_sets |= 1u << GPT_AGENT_SET_##enumerator;
	GPT_AGENT_ACTIVITY_SETS(POINTS_SET_WANTED)
#undef POINTS_SET_WANTED
	return activity_sets;
}

/* The nvtx set alone, as it is checked at every range. */
static inline bool points_take_ranges(void)
{
	return *(volatile unsigned short *)&gputrace_agent_activity_set_nvtx_semaphore != 0 ||
	       (SHARE_WANTS(activity_sets) >> GPT_AGENT_SET_NVTX & 1);
}

/* ---- to the listeners ------------------------------------------------------------------------------------------ */

/* params: CUPTI's functionParams. */
static inline void points_call(uint32_t corr, uint32_t api, const void *params)
{
	gputrace_agent_call(corr, api, params);
	if (share_control)
		share_call(corr, api);
}

static inline void points_state(uint32_t state)
{
	gputrace_agent_state(state, GPT_AGENT_ABI);
	if (share_control)
		share_state(state);
}

static inline void points_batch(const void *data, uint64_t bytes, bool own_thread)
{
	gputrace_agent_batch(data, bytes, own_thread);
	if (share_control)
		share_batch(data, bytes);
}

static inline void points_stack(uint32_t what, uint64_t number)
{
	gputrace_agent_stack(what, number);
	if (share_control)
		share_stack(what, number);
}
