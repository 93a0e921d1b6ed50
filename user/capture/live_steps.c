/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/live_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

static bool begins_with(const struct gpt_agent_name *name, size_t room, const char *with)
{
	size_t length = strlen(with);

	return name->bytes >= length && room >= length && !memcmp(name->text, with, length);
}

static struct live_name *find_name(struct live_steps *steps, uint32_t pid, uint32_t name)
{
	/* Free ones come last. */
	for (unsigned i = 0; i < LIVE_NAMES && steps->names[i].seen; i++)
		if (steps->names[i].pid == pid && steps->names[i].name == name)
			return &steps->names[i];
	return NULL;
}

/* A free one, or the oldest, of the process's own steps if there are enough: they do not replace others' names. */
static struct live_name *make_room(struct live_steps *steps, uint32_t pid, bool of_profiler)
{
	struct live_name *oldest = &steps->names[0], *own = NULL;
	unsigned profiled = 0;

	for (unsigned i = 0; i < LIVE_NAMES; i++) {
		struct live_name *name = &steps->names[i];

		oldest = name->seen < oldest->seen ? name : oldest;
		if (!name->seen || !name->of_profiler || name->pid != pid)
			continue;
		own = !profiled++ || name->seen < own->seen ? name : own;
	}
	return of_profiler && profiled >= LIVE_PROFILED ? own : oldest;
}

/* The latest meaning of a name counts. */
static void see_name(struct live_steps *steps, uint32_t pid, const struct gpt_agent_name *name)
{
	size_t room = name->hdr.size - sizeof(*name);
	bool of_profiler = begins_with(name, room, "ProfilerStep#");
	struct live_name *known;

	if (!of_profiler && !begins_with(name, room, "Optimizer.step#"))
		return;
	known = find_name(steps, pid, name->id);
	if (!known)
		known = make_room(steps, pid, of_profiler);
	*known = (struct live_name){
		.pid = pid, .name = name->id, .of_profiler = of_profiler, .seen = ++steps->name_count};
}

/* In place of the one whose last step is oldest, if there are too many. */
static struct live_thread *find_thread(struct live_steps *steps, uint32_t pid, uint32_t tid)
{
	struct live_thread *thread, *oldest = &steps->threads[0];

	for (unsigned i = 0; i < steps->thread_count; i++) {
		thread = &steps->threads[i];
		if (thread->pid == pid && thread->tid == tid)
			return thread;
		oldest = thread->last_end_ns < oldest->last_end_ns ? thread : oldest;
	}
	thread = steps->thread_count < LIVE_THREADS ? &steps->threads[steps->thread_count++] : oldest;
	*thread = (struct live_thread){.pid = pid, .tid = tid};
	return thread;
}

DEFINE_ORDER(by_length, uint64_t, least_first(*a, *b))

static uint64_t median_of(const struct live_thread *thread)
{
	unsigned count = thread->count < LIVE_STEPS ? thread->count : LIVE_STEPS;
	uint64_t sorted[LIVE_STEPS];

	if (count < LIVE_STEPS_LEAST)
		return 0;
	memcpy(sorted, thread->lasted_ns, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), by_length);
	return sorted[median_of_order(count)];
}

static void end_step(struct live_thread *thread, uint64_t start_ns, uint64_t end_ns, struct live_step *step)
{
	*step = (struct live_step){.ns = end_ns - start_ns, .end_ns = end_ns, .median_ns = median_of(thread)};
	thread->lasted_ns[thread->count++ % LIVE_STEPS] = step->ns;
	thread->last_end_ns = end_ns;
}

static bool end_optimizer(struct live_thread *thread, const struct gpt_agent_op *op, struct live_step *step)
{
	uint64_t before_ns = thread->last_end_ns;

	/* an optimizer called by another one, or a second one of a step */
	if (thread->by_profiler || op->start_ns < before_ns || (thread->name && thread->name != op->name))
		return false;
	thread->name = op->name;
	if (!before_ns) { /* where its first step began is not known */
		thread->last_end_ns = op->end_ns;
		return false;
	}
	end_step(thread, before_ns, op->end_ns, step);
	return true;
}

static bool see_op(struct live_steps *steps, uint32_t pid, const struct gpt_agent_op *op, struct live_step *step)
{
	struct live_thread *thread;
	const struct live_name *name;

	if (op->flags & (GPT_AGENT_OP_OPEN | GPT_AGENT_OP_ASYNC) || op->end_ns < op->start_ns)
		return false;
	name = find_name(steps, pid, op->name);
	if (!name)
		return false;
	thread = find_thread(steps, pid, op->tid);
	if (!name->of_profiler)
		return end_optimizer(thread, op, step);
	if (!thread->by_profiler)
		*thread = (struct live_thread){.pid = pid, .tid = op->tid, .by_profiler = true};
	end_step(thread, op->start_ns, op->end_ns, step);
	return true;
}

bool live_steps_see(struct live_steps *steps, uint32_t pid, const struct gpt_record *record, struct live_step *step)
{
	if (record->type == GPT_AGENT_NAME && record->size >= sizeof(struct gpt_agent_name))
		see_name(steps, pid, (const struct gpt_agent_name *)record);
	return record->type == GPT_AGENT_OP && record->size >= sizeof(struct gpt_agent_op) &&
	       see_op(steps, pid, (const struct gpt_agent_op *)record, step);
}
