/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes and threads: starts, names, ends; and other users of CUPTI in them. */
#include "input/gpt/gpt_records.h"

bool gpt_add_thread(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_thread *event = (const struct gpt_thread *)record;
	struct new_thread thread = {.time_ns = event->time_ns,
				    .pid = event->pid,
				    .tid = event->tid,
				    .name = gpt_text(event->comm, GPT_COMM),
				    .has_other_names = record->size >= sizeof(*event)};

	if (thread.has_other_names) {
		thread.own_tid = event->own_tid;
		thread.pointer = event->pointer;
	}
	builder_add_thread(builder, &thread);
	return true;
}

bool gpt_add_fork(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	struct new_fork fork = {.time_ns = event->time_ns,
				.pid = event->pid,
				.parent = event->other_pid,
				.name = gpt_text(event->comm, GPT_COMM)};

	builder_add_fork(builder, &fork);
	return true;
}

bool gpt_add_exec(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;

	builder_add_exec(builder, event->pid, event->time_ns, gpt_text(event->comm, GPT_COMM));
	return true;
}

bool gpt_add_exit(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;

	builder_add_exit(builder, event->pid, event->time_ns, event->other_pid);
	return true;
}

bool gpt_add_process(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_process *event = (const struct gpt_process *)record;
	struct new_description description = {.time_ns = event->time_ns,
					      .start_ns = event->start_ns,
					      .pid = event->pid,
					      .parent = event->parent,
					      .python = event->python,
					      .mounts = event->mounts};
	size_t at = 0;

	if (event->bytes > record->size - sizeof(*event))
		return false;
	description.name = gpt_field(event->text, event->bytes, &at);
	description.exe = gpt_field(event->text, event->bytes, &at);
	description.cmdline = gpt_field(event->text, event->bytes, &at);
	description.python_path = gpt_field(event->text, event->bytes, &at);
	description.rank = gpt_field(event->text, event->bytes, &at);
	description.local_rank = gpt_field(event->text, event->bytes, &at);
	description.uid = gpt_field(event->text, event->bytes, &at);
	description.cgroup = gpt_field(event->text, event->bytes, &at);
	description.container = gpt_field(event->text, event->bytes, &at);
	description.container_name = gpt_field(event->text, event->bytes, &at);
	description.pod = gpt_field(event->text, event->bytes, &at);
	description.pod_name = gpt_field(event->text, event->bytes, &at);
	description.master = gpt_field(event->text, event->bytes, &at);
	description.run_id = gpt_field(event->text, event->bytes, &at);
	builder_describe_process(builder, &description);
	return true;
}

bool gpt_add_cupti_use(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_cupti_use *use = (const struct gpt_cupti_use *)record;

	builder_see_time(builder, use->time_ns);
	if (use->what == GPT_CUPTI_REGISTER)
		builder_add_registration(builder, use->pid, use->time_ns, use->own != 0);
	return true;
}
