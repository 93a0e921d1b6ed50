/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/share/share.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/record.h>

#include "agent/process/clock.h"
#include "agent/process/fork_gate.h"
#include "agent/share/control.h"
#include "agent/share/filters.h"
#include "agent/share/join.h"
#include "agent/share/ring.h"
#include "agent/share/stacks.h"
#include "agent/process/thread_id.h"

#define JOIN_WAITS_NS 4000000000ull /* longer than a thread takes to join */

enum { APART, JOINING, DONE };

static _Atomic uint32_t state; /* futex */
static bool fork_registered;

static void join_now(const char *name, bool patient)
{
	struct joined joined;

	if (!fork_registered)
		fork_gate_in_child(share_forked);
	fork_registered = true;
	if (join(name, patient, &joined) && stacks_open(joined.ring->shared.reader.pid)) {
		ring_open(joined.ring);
		stacks_look(); /* before a thread launches: of several threads only one takes an update */
		__atomic_store_n(&share_control, joined.control, __ATOMIC_RELEASE);
	}
	atomic_store(&state, DONE);
	futex_wake(&state);
}

bool share_join(const char *name)
{
	const char *wanted = name ? name : secure_getenv(GPUTRACE_SHARE);
	uint32_t before = atomic_load(&state);
	uint64_t end_ns;

	if (!wanted || (before == DONE && (!name || share_listener())))
		return true;
	if (!name && filters_kill(false))
		return false;
	if (before != JOINING && atomic_compare_exchange_strong(&state, &before, JOINING)) {
		join_now(wanted, name != NULL);
		return true;
	}
	/* Wait: the first call of this thread must not come before the collector. */
	end_ns = clock_now_ns() + JOIN_WAITS_NS;
	while (atomic_load(&state) == JOINING && clock_now_ns() < end_ns)
		futex_wait(&state, JOINING, JOIN_WAITS_NS / 10);
	return true;
}

void share_leave(void)
{
	if (!share_control)
		return;
	if (!share_listener())
		ring_release();
	if (!SHARE_WANTS(session) && !SHARE_WANTS(ops))
		stacks_release();
}

static _Atomic uint32_t given_way;

void share_yield(void)
{
	ring_given_way(atomic_fetch_add(&given_way, 1) + 1);
}

void share_take_up(void)
{
	ring_given_way(0);
}

bool share_may_resume(void)
{
	const volatile struct gpt_share_reader *reader = share_listener() ? ring_reader() : NULL;
	uint32_t number = atomic_load(&given_way);

	return reader && number && reader->resume == number;
}

void share_forked(void)
{
	share_control = NULL;
	ring_forget();
	stacks_forget();
	atomic_store(&state, APART);
}

static bool someone_listens(void)
{
	const volatile struct gpt_share_control *control = share_listener();

	return control && control->batch;
}

typedef uint64_t inherited_stack(void);

static inherited_stack *_Atomic inherited;

void share_inherit(uint64_t (*function)(void))
{
	atomic_store(&inherited, function);
}

/* enum gpt_stack_state */
static uint32_t take_stack(uint64_t *id, uint32_t lost)
{
	uint32_t stack_state = stacks_take(id, lost);
	inherited_stack *of_another = atomic_load_explicit(&inherited, memory_order_relaxed);

	if (!of_another || (stack_state != GPT_STACK_NO_THREAD && stack_state != GPT_STACK_EMPTY))
		return stack_state;
	*id = of_another();
	return *id ? GPT_STACK_BACKWARD : stack_state;
}

uint64_t share_stack_id(void)
{
	uint64_t id = 0;

	if (someone_listens()) {
		stacks_announce_thread();
		take_stack(&id, GPT_COUNTER_STACKS_LOST);
	}
	return id;
}

void share_call(uint32_t corr, uint32_t api)
{
	uint64_t now_ns = clock_now_ns(), stack_id;
	struct gpt_call *record;
	uint32_t stack_state;

	if (!someone_listens())
		return;
	stacks_announce_thread();
	stack_state = take_stack(&stack_id, GPT_COUNTER_STACKS_LOST);
	record = ring_reserve(sizeof(*record));
	if (!record) {
		ring_count(GPT_COUNTER_CALLS_LOST);
		return;
	}
	*record = (struct gpt_call){
		.hdr = {.size = sizeof(*record), .type = GPT_CALL},
		.time_ns = now_ns,
		.pid = stacks_pid(),
		.tid = thread_id(),
		.stack_id = stack_id,
		.corr = corr,
		.api = (uint16_t)api,
		.origin = GPT_ORIGIN_AGENT,
		.stack_state = (uint8_t)stack_state,
	};
	ring_submit(record);
}

void share_stack(uint32_t what, uint64_t number)
{
	uint64_t now_ns = clock_now_ns(), stack_id;
	struct gpt_stack_at *record;
	uint32_t stack_state;

	if (!someone_listens())
		return;
	stacks_announce_thread();
	stack_state = take_stack(&stack_id, GPT_COUNTER_OP_STACKS_LOST);
	record = ring_reserve(sizeof(*record));
	if (!record) {
		ring_count(GPT_COUNTER_OP_STACKS_LOST);
		return;
	}
	*record = (struct gpt_stack_at){
		.hdr = {.size = sizeof(*record), .type = GPT_STACK_AT},
		.time_ns = now_ns,
		.stack_id = stack_id,
		.number = number,
		.pid = stacks_pid(),
		.tid = thread_id(),
		.what = what,
		.stack_state = (uint8_t)stack_state,
	};
	ring_submit(record);
}

void share_batch(const void *data, uint64_t bytes)
{
	uint64_t size = sizeof(struct gpt_agent_batch) + gpt_padded(bytes);
	struct gpt_agent_batch *record;

	if (!someone_listens())
		return;
	ring_count(GPT_COUNTER_BATCHES);
	record = ring_reserve(size);
	if (!record) {
		ring_count(GPT_COUNTER_BATCHES_LOST);
		return;
	}
	*record = (struct gpt_agent_batch){
		.hdr = {.size = (uint32_t)size, .type = GPT_AGENT_BATCH},
		.time_ns = clock_now_ns(),
		.pid = stacks_pid(),
		.tid = thread_id(),
		.bytes = (uint32_t)bytes,
	};
	memcpy(record->data, data, bytes);
	ring_submit(record);
}

void share_state(uint32_t agent_state)
{
	if (someone_listens())
		ring_state(agent_state);
}
