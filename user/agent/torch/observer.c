/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Nothing here allocates, waits or calls PyTorch except for the name of the op. The time is taken last at the op's
 * start and first at its end, so that the observer's cost is not part of the op.
 */
#include "agent/torch/observer.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "agent/process/thread_id.h"
#include "agent/process/clock.h"
#include "agent/torch/collectives.h"
#include "agent/process/fork_gate.h"
#include "agent/torch/op_clock.h"
#include "agent/torch/op_hash.h"
#include "agent/torch/op_write.h"
#include "agent/process/own_thread.h"
#include "agent/send/points.h"
#include "agent/torch/schedule.h"

static struct {
	/*
	 * The members that every op uses are in one cache line, which the op's own work has evicted since the previous
	 * op. Those after session are copies from observer.torch and op_clock_counts.
	 */
	_Atomic uint32_t session; /* 0: nothing is observed */
	_Atomic uint32_t epoch;	  /* of names */
	uint64_t seed;
	uint64_t collective_op; /* hash of its name, 0: collectives are not reported */
	const char *(*name)(const void *op);
	/* bytes from the start of an op */
	uint16_t at_thread, at_scope, at_sequence, at_forward_thread, at_handle, at_async;
	bool clock_counts;
	_Atomic bool forked; /* a forked child that has run no op yet */

	_Atomic uint64_t handle; /* of the callback, 0: not registered */
	bool with_inputs, scheduled;
	bool only_named; /* ops that the program names, as it names its steps */
	struct torch torch;
	pthread_mutex_t registering; /* held while PyTorch's list of callbacks is changed */
} observer __attribute__((aligned(CACHE_LINE))) = {.registering = PTHREAD_MUTEX_INITIALIZER};

/* ---- names ------------------------------------------------------------------------------------- */

static void forget_written(struct op_buffer *buffer)
{
	op_forget_written(buffer, atomic_load_explicit(&observer.session, memory_order_relaxed),
			  atomic_load_explicit(&observer.epoch, memory_order_relaxed));
}

static uint64_t take_name(struct op_buffer *buffer, const void *op)
{
	const char *text = observer.name(op);
	size_t bytes = text ? strnlen(text, OP_NAME_MAX + 1) : 0;
	uint64_t hash;

	if (!bytes)
		return 0;
	hash = op_hash_name(observer.seed, text, bytes);
	forget_written(buffer);
	return op_write_name(buffer, hash, text, bytes) ? hash : 0;
}

/* ---- inputs ------------------------------------------------------------------------------------ */

/* Call it after take_name, which forgets texts that must be written again. */
static uint64_t take_inputs(struct op_buffer *buffer, const void *op)
{
	uint32_t count = op_inputs_take(observer.torch.layout, op, buffer->words);
	uint64_t hash;

	if (!count)
		return 0;
	if (count <= OP_INPUTS_WORDS) {
		hash = op_hash_inputs(observer.seed, buffer->words, count);
		if (op_write_inputs(buffer, hash, count))
			return hash;
	}
	op_buffer_lose_inputs(buffer);
	return 0;
}

/* ---- begin and end ----------------------------------------------------------------------------- */

static uint64_t read_member(const void *op, unsigned offset)
{
	uint64_t value;

	memcpy(&value, (const char *)op + offset, sizeof(value));
	return value;
}

static void take_facts(struct op_facts *facts, const void *op, uint32_t tid)
{
	facts->sequence = (int64_t)read_member(op, observer.at_sequence);
	facts->handle = read_member(op, observer.at_handle);
	facts->thread = read_member(op, observer.at_thread);
	facts->forward_thread = read_member(op, observer.at_forward_thread);
	facts->scope = *((const uint8_t *)op + observer.at_scope);
	facts->tid = tid;
}

/*
 * Takes the stacks of forward ops and of the nodes of backward passes, in which Python code may run with a deeper
 * stack. Not part of the op's time.
 */
static void take_stack(struct op_buffer *buffer, struct op_facts *facts)
{
	facts->stack = 0;
	if (facts->sequence < 0 || !points_take_forward_lines())
		return;
	facts->stack = ++buffer->stacks;
	points_stack(GPT_STACK_OF_OP, facts->stack);
}

static void close_slot(struct op_slot *slot)
{
	uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);

	if (turn & 1)
		atomic_store_explicit(&slot->turn, turn + 1, memory_order_release);
}

/* ~ObserverContext(): PyTorch no longer uses the result of `begin`. A delete does not call the first of the two. */
static void destroy_context(void *context)
{
	close_slot(context);
}

static void delete_context(void *context)
{
	close_slot(context);
	op_buffer_give_back_slot(context);
}

/* By the C++ ABI: offset to top, type, then the functions, where an object's pointer leads. */
static const struct {
	const void *top, *type;
	void (*destroy)(void *context);
	void (*delete)(void *context);
} context_vtable = {NULL, NULL, destroy_context, delete_context};

static void unregister_observer(void)
{
	uint64_t handle = atomic_exchange(&observer.handle, 0);

	if (handle)
		observer.torch.remove(handle);
}

/*
 * A thread that the fork did not copy may have locked PyTorch's list of callbacks: then only this thread waits for it.
 * Otherwise a fork waits for this thread, and the grandchild has neither the observer nor a locked list.
 */
static void unregister_in_child(void)
{
	fork_gate_begin_unsure();
	unregister_observer();
	fork_gate_end_unsure();
}

/* At the child's first op. If no thread can be made, the observer stays and observes nothing. */
static void leave_child(void)
{
	bool forked = true;

	if (atomic_compare_exchange_strong(&observer.forked, &forked, false))
		own_thread_start(unregister_in_child);
}

static void take_collective(struct op_buffer *buffer, struct op_collective *collective)
{
	char text[COLLECTIVE_TEXT_MAX];
	size_t bytes = collectives_text(text, &collective->sequence);
	uint64_t hash = bytes ? op_hash_name(observer.seed, text, bytes) : 0;

	if (hash && op_write_name(buffer, hash, text, bytes))
		collective->text = hash;
}

/* Compiled twice, with and without inputs, so that these cost nothing unless they are wanted. */
static inline __attribute__((always_inline)) struct op_slot *open_slot(const void *op, bool with_inputs)
{
	uint32_t session = atomic_load_explicit(&observer.session, memory_order_acquire);
	struct op_buffer *buffer;
	struct op_slot *slot;
	uint64_t turn;

	if (!session) {
		if (__builtin_expect(atomic_load_explicit(&observer.forked, memory_order_relaxed), 0))
			leave_child();
		return NULL;
	}
	buffer = op_buffer_of_thread();
	if (!buffer)
		return NULL;
	slot = op_buffer_take_slot(buffer);
	if (!slot) {
		op_buffer_lose(buffer);
		return NULL;
	}
	slot->vtable = &context_vtable.destroy;
	slot->session = session;
	take_facts(&slot->facts, op, buffer->tid);
	slot->facts.name = take_name(buffer, op);
	slot->collective.text = 0;
	if (slot->facts.name && slot->facts.name == observer.collective_op)
		take_collective(buffer, &slot->collective);
	slot->facts.inputs = with_inputs ? take_inputs(buffer, op) : 0;
	take_stack(buffer, &slot->facts);
	slot->facts.start = op_clock_stamp_if(observer.clock_counts);
	turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
	atomic_store_explicit(&slot->turn, turn + 1, memory_order_release);
	return slot;
}

/* std::unique_ptr<ObserverContext> start(const RecordFunction &): returned through `result`. */
static void **begin_op(void **result, const void *op)
{
	*result = open_slot(op, false);
	return result;
}

static void **begin_with_inputs(void **result, const void *op)
{
	*result = open_slot(op, true);
	return result;
}

static uint8_t scope_of(const void *op)
{
	return *((const uint8_t *)op + observer.at_scope);
}

/* With a schedule: the op that begins a step is the step's first op. */
static inline __attribute__((always_inline)) struct op_slot *open_scheduled_slot(const void *op, bool with_inputs)
{
	const char *name;

	if (!atomic_load_explicit(&observer.session, memory_order_acquire))
		return open_slot(op, false);
	name = scope_of(op) == GPT_AGENT_OP_USER_SCOPE ? observer.name(op) : NULL;
	if (name && schedule_op_begins(op, name, thread_id()))
		observer_follow_schedule();
	return schedule_rests() ? NULL : open_slot(op, with_inputs);
}

static void **begin_scheduled(void **result, const void *op)
{
	*result = open_scheduled_slot(op, false);
	return result;
}

static void **begin_scheduled_with_inputs(void **result, const void *op)
{
	*result = open_scheduled_slot(op, true);
	return result;
}

static void end_op(const void *op, void *context)
{
	uint64_t end = op_clock_stamp_if(observer.clock_counts), turn;
	struct op_slot *slot = context;
	struct op_entry_op *entry = NULL;
	struct op_buffer *buffer;

	if (!slot)
		return;
	turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
	if (!(turn & 1))
		return;
	if (slot->session != atomic_load_explicit(&observer.session, memory_order_acquire)) {
		close_slot(slot);
		return;
	}
	buffer = op_buffer_of_thread();
	if (buffer) {
		if (buffer != slot->buffer) /* that buffer's names may be read later */
			take_name(buffer, op);
		entry = op_write_op(buffer, slot);
	}
	if (entry) {
		entry->end = end;
		entry->end_tid = buffer->tid;
		entry->is_reported = atomic_load_explicit(&slot->reported_turn, memory_order_acquire) == turn;
		if (entry->is_reported)
			entry->facts.start = slot->reported_start_ns;
		entry->is_async = *((const uint8_t *)op + observer.at_async) || buffer != slot->buffer;
		op_buffer_commit(buffer, entry->entry.bytes);
	} else if (buffer) {
		op_buffer_lose(buffer);
	}
	close_slot(slot);
}

static void end_scheduled(const void *op, void *context)
{
	end_op(op, context);
	if (atomic_load_explicit(&observer.session, memory_order_acquire) && scope_of(op) == GPT_AGENT_OP_USER_SCOPE &&
	    schedule_op_ends(op, thread_id()))
		observer_follow_schedule();
}

uint64_t observer_open_op(struct op_slot *slot, uint32_t session, struct op_facts *facts)
{
	uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);

	if (!(turn & 1) || slot->session != session)
		return 0;
	*facts = slot->facts;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn ? turn : 0;
}

void observer_repeat_names(void)
{
	atomic_fetch_add(&observer.epoch, 1);
}

/* ---- registered -------------------------------------------------------------------------------- */

/* During rest PyTorch calls the observer only for ops that the program names; other ops cost nothing then. */
static void register_scheduled(const struct torch *torch)
{
	void *start = observer.with_inputs ? (void *)begin_scheduled_with_inputs : (void *)begin_scheduled;
	enum torch_scopes scopes = schedule_rests() || observer.only_named ? TORCH_USER_SCOPE : TORCH_ALL_SCOPES;

	if (schedule_needs_no_ops() && schedule_rests())
		return;
	atomic_store(&observer.handle, torch->add(torch_callback_make(torch->layout, start, (void *)end_scheduled,
								      observer.with_inputs, scopes)));
}

static void register_observer(const struct torch *torch)
{
	void *start = observer.with_inputs ? (void *)begin_with_inputs : (void *)begin_op;
	enum torch_scopes scopes = observer.only_named ? TORCH_USER_SCOPE : TORCH_ALL_SCOPES;

	if (observer.scheduled)
		register_scheduled(torch);
	else
		atomic_store(&observer.handle, torch->add(torch_callback_make(torch->layout, start, (void *)end_op,
									      observer.with_inputs, scopes)));
}

static void set_what_ops_use(const struct torch *torch)
{
	const struct torch_layout *layout = torch->layout;

	observer.name = torch->name;
	observer.at_thread = layout->op_thread;
	observer.at_scope = layout->op_scope;
	observer.at_sequence = layout->op_sequence;
	observer.at_forward_thread = layout->op_forward_thread;
	observer.at_handle = layout->op_handle;
	observer.at_async = layout->op_async;
	observer.clock_counts = op_clock_counts;
}

bool observer_begin(const struct torch *torch, uint32_t session, struct observed observed, bool scheduled, char *why,
		    size_t why_size)
{
	observer.torch = *torch;
	set_what_ops_use(torch);
	observer.with_inputs = observed.with_inputs;
	observer.only_named = observed.only_named;
	observer.scheduled = scheduled;
	if (!observer.seed)
		observer.seed = op_hash_mix(clock_now_ns(), clock_wall_ns() ^ (uintptr_t)&why) | 1;
	observer.collective_op =
		collectives_open(torch) ? op_hash_name(observer.seed, COLLECTIVE_OP, sizeof(COLLECTIVE_OP) - 1) : 0;
	pthread_mutex_lock(&observer.registering);
	register_observer(torch);
	pthread_mutex_unlock(&observer.registering);
	if (!torch_check(torch, why, why_size)) {
		observer_end();
		return false;
	}
	atomic_store(&observer.session, session);
	return true;
}

void observer_change(struct observed observed)
{
	pthread_mutex_lock(&observer.registering);
	unregister_observer();
	observer.with_inputs = observed.with_inputs;
	observer.only_named = observed.only_named;
	register_observer(&observer.torch);
	pthread_mutex_unlock(&observer.registering);
}

/* On a thread of the program, hence inside the gate. */
void observer_follow_schedule(void)
{
	fork_gate_enter();
	pthread_mutex_lock(&observer.registering);
	if (atomic_load(&observer.session)) {
		unregister_observer();
		register_observer(&observer.torch);
	}
	pthread_mutex_unlock(&observer.registering);
	fork_gate_leave();
}

void observer_end(void)
{
	atomic_store(&observer.session, 0);
	pthread_mutex_lock(&observer.registering);
	unregister_observer();
	pthread_mutex_unlock(&observer.registering);
}

void observer_forked(void)
{
	atomic_store(&observer.session, 0);
	atomic_store(&observer.forked, true);
}
