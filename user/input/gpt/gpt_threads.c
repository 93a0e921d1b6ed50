/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What threads ran, and where they waited. */
#include "input/gpt/gpt_records.h"

bool gpt_add_sample(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_sample *event = (const struct gpt_sample *)record;
	struct new_sample sample = {.time_ns = event->time_ns,
				    .stack = event->stack_id,
				    .native = event->native_id,
				    .tid = event->tid,
				    .period_ns = event->period_ns,
				    .stack_state = gpt_stack_state(event->stack_state),
				    .place = event->place};

	builder_see_time(builder, event->time_ns);
	return builder_add_sample(builder, builder_process_image(builder, event->pid), &sample);
}

/* Reads a thread name of at most 15 bytes; bytes that are not printable ASCII become "?". */
static void read_name(char *name, size_t size, const char *comm, size_t comm_size)
{
	size_t length = strnlen(comm, comm_size < size ? comm_size : size - 1);

	for (size_t i = 0; i < length; i++)
		name[i] = comm[i] >= ' ' && comm[i] <= '~' ? comm[i] : '?';
	name[length] = '\0';
}

bool gpt_add_wait(struct builder *builder, const struct gpt_record *record)
{
	const struct gpt_wait *event = (const struct gpt_wait *)record;
	struct new_wait wait = {.start_ns = event->time_ns,
				.woken_ns = event->woken_ns,
				.end_ns = event->end_ns,
				.stack = event->stack_id,
				.native = event->native_id,
				.waker_stack = event->waker_stack_id,
				.arg = event->arg,
				.tid = event->tid,
				.waker_pid = event->waker_pid,
				.waker_tid = event->waker_tid,
				.holder_tid = event->holder_tid,
				.syscall = event->syscall,
				.reason = event->reason,
				.stack_state = gpt_stack_state(event->stack_state),
				.waker = event->waker,
				.waker_stack_state = gpt_stack_state(event->waker_stack_state),
				.open = record->flags & GPT_WAIT_OPEN};

	read_name(wait.waker_name, sizeof(wait.waker_name), event->waker_comm, sizeof(event->waker_comm));
	builder_see_time(builder, event->end_ns);
	return builder_add_wait(builder, builder_process_image(builder, event->pid), &wait);
}
