/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Joins CPU samples and waits of threads.  Their times are on CLOCK_MONOTONIC, and they need no call. */
#include <string.h>

#include "model/join/tables.h"

/*
 * Threads are found when an event comes, and never later: by then their pids may be other processes'.  Both passes find
 * them in the same order, so that a thread has the same index in both.
 */
static uint32_t thread_of(struct builder *builder, uint32_t process, uint32_t tid)
{
	return process_table_find_thread(&builder->processes, process, tid);
}

bool builder_add_sample(struct builder *builder, const struct sender *none, const struct gpt_sample *sample)
{
	struct pending_sample pending = {.program = builder_process_image(builder, sample->pid), .record = *sample};

	(void)none; /* the record has its process */
	builder_see_time(builder, sample->time_ns);
	if (sample->place != GPT_SAMPLE_USER && sample->place != GPT_SAMPLE_KERNEL)
		return false;
	pending.of.thread = thread_of(builder, pending.program.process, sample->tid);
	if (sample->time_ns >= builder->model->start_ns)
		receive_sample(builder, &pending, 0);
	return true;
}

static void find_waker(struct builder *builder, struct pending_wait *pending)
{
	struct gpt_wait *wait = &pending->record;
	struct process_image waker = process_table_image_at(&builder->processes, wait->waker_pid, wait->woken_ns);

	/* a thread may get no CPU until its waker has ended and the pid is a new process's */
	if (process_began_after(&builder->processes, waker.process, wait->woken_ns)) {
		wait->waker = GPT_WAKER_OTHER;
		return;
	}
	pending->of.waker = thread_of(builder, waker.process, wait->waker_tid);
	pending->of.waker_epoch = waker.epoch;
}

/* What was waited before the recording is not part of it. */
static void cut_at_start(struct gpt_wait *wait, uint64_t start_ns)
{
	if (wait->time_ns < start_ns)
		wait->time_ns = start_ns;
	if (wait->woken_ns && wait->woken_ns < start_ns)
		wait->woken_ns = start_ns;
}

bool builder_add_wait(struct builder *builder, const struct sender *none, const struct gpt_wait *wait)
{
	struct pending_wait pending = {.program = builder_process_image(builder, wait->pid), .record = *wait};
	uint32_t process = pending.program.process;

	(void)none; /* the record has its process */
	builder_see_time(builder, wait->end_ns);
	if (wait->time_ns > wait->end_ns || (wait->woken_ns && wait->woken_ns < wait->time_ns) ||
	    wait->woken_ns > wait->end_ns)
		return false;
	if (wait->reason >= GPT_WAIT_REASONS || wait->waker > GPT_WAKER_OTHER) /* newer than this reader */
		return true;
	pending.of.thread = thread_of(builder, process, wait->tid);
	pending.of.holder = wait->holder_tid ? thread_of(builder, process, wait->holder_tid) : NONE;
	pending.of.waker = NONE;
	if (wait->waker == GPT_WAKER_THREAD)
		find_waker(builder, &pending);
	cut_at_start(&pending.record, builder->model->start_ns);
	if (wait->end_ns > builder->model->start_ns)
		receive_wait(builder, &pending, 0);
	return true;
}

/* Finds a Python stack by its key; its state remains the record's, or becomes the reason why the stack is missing. */
static uint32_t find_stack_of_key(struct builder *builder, uint32_t epoch, uint64_t key, uint8_t *state)
{
	uint32_t stack = stacks_find(&builder->stacks, epoch, key);

	if (stack == NONE && (*state == GPT_STACK_OK || *state == GPT_STACK_BACKWARD))
		*state = stacks_is_unreadable(&builder->stacks, epoch, key) ? GPT_STACK_UNREADABLE : GPT_STACK_LOST;
	return stack;
}

bool join_sample(struct builder *builder, const struct pending_sample *pending, uint64_t complete_ns)
{
	const struct gpt_sample *from = &pending->record;
	struct model_sample sample = {
		.time_ns = from->time_ns,
		.thread = pending->of.thread,
		.native = stacks_find_native(&builder->stacks, pending->program.epoch, from->native_id),
		.period_ns = from->period_ns,
		.stack_state = stack_state_known(from->stack_state),
		.place = from->place};
	struct clock_span moment = {.start_ns = from->time_ns, .end_ns = from->time_ns};

	(void)complete_ns;
	sample.stack = find_stack_of_key(builder, pending->program.epoch, from->stack_id, &sample.stack_state);
	if (!lies_outside(builder, NONE, moment))
		array_push(&builder->samples, sample);
	return true;
}

bool builder_add_await(struct builder *builder, const struct sender *none, const struct gpt_await *await)
{
	struct pending_await pending = {.program = builder_process_image(builder, await->pid), .record = *await};

	(void)none; /* the record has its process */
	builder_see_time(builder, await->time_ns);
	if (await->end_ns < await->time_ns || !await->tasks || await->tasks > await->all)
		return false;
	pending.of.thread = thread_of(builder, pending.program.process, await->tid);
	if (await->end_ns >= builder->model->start_ns)
		receive_await(builder, &pending, 0);
	return true;
}

bool join_await(struct builder *builder, const struct pending_await *pending, uint64_t complete_ns)
{
	const struct gpt_await *from = &pending->record;
	struct clock_span span = {.start_ns = from->time_ns, .end_ns = from->end_ns};
	uint8_t state = GPT_STACK_OK;

	(void)complete_ns;
	if (!lies_outside(builder, NONE, span))
		array_push(&builder->awaits,
			   ((struct model_await){
				   .time_ns = from->time_ns,
				   .end_ns = from->end_ns,
				   .thread = pending->of.thread,
				   .stack = find_stack_of_key(builder, pending->program.epoch, from->stack_id, &state),
				   .tasks = from->tasks,
				   .all = from->all}));
	return true;
}

/* Reads a thread's name; bytes that are not printable ASCII become "?". */
static void read_name(char name[MODEL_WAKER_NAME], const char comm[GPT_COMM])
{
	size_t length = strnlen(comm, MODEL_WAKER_NAME - 1);

	for (size_t i = 0; i < length; i++)
		name[i] = comm[i] >= ' ' && comm[i] <= '~' ? comm[i] : '?';
	name[length] = '\0';
}

static void join_waker(struct builder *builder, const struct pending_wait *pending, struct model_wait *wait)
{
	const struct gpt_wait *from = &pending->record;

	wait->waker = pending->of.waker;
	wait->waker_stack = NONE;
	if (from->waker == GPT_WAKER_NONE || from->waker == GPT_WAKER_INTERRUPT)
		return;
	wait->waker_pid = from->waker_pid;
	wait->waker_tid = from->waker_tid;
	read_name(wait->waker_name, from->waker_comm);
	if (from->waker == GPT_WAKER_THREAD)
		wait->waker_stack = find_stack_of_key(builder, pending->of.waker_epoch, from->waker_stack_id,
						      &wait->waker_stack_state);
}

bool join_wait(struct builder *builder, const struct pending_wait *pending, uint64_t complete_ns)
{
	const struct gpt_wait *from = &pending->record;
	uint32_t epoch = pending->program.epoch;
	struct model_wait wait = {.start_ns = from->time_ns,
				  .woken_ns = from->woken_ns,
				  .end_ns = from->end_ns,
				  .arg = from->arg,
				  .thread = pending->of.thread,
				  .native = stacks_find_native(&builder->stacks, epoch, from->native_id),
				  .holder = pending->of.holder,
				  .syscall = from->syscall,
				  .reason = from->reason,
				  .woken_by = from->waker,
				  .stack_state = stack_state_known(from->stack_state),
				  .waker_stack_state = stack_state_known(from->waker_stack_state),
				  .open = from->hdr.flags & GPT_WAIT_OPEN};
	struct clock_span span = {.start_ns = wait.start_ns, .end_ns = wait.end_ns};

	(void)complete_ns;
	wait.stack = find_stack_of_key(builder, epoch, from->stack_id, &wait.stack_state);
	join_waker(builder, pending, &wait);
	if (!lies_outside(builder, NONE, span))
		array_push(&builder->waits, wait);
	return true;
}
