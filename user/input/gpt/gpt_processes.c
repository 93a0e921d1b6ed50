/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What processes and threads are called. */
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

bool gpt_add_process(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	const struct gpt_process *event = (const struct gpt_process *)record;
	struct new_description description = {.time_ns = event->time_ns,
					      .start_ns = event->start_ns,
					      .pid = event->pid,
					      .parent = event->parent,
					      .python = event->python,
					      .mounts = event->mounts};

	if (!GPT_READ_FIELDS(event, &description.name, &description.exe, &description.cmdline, &description.python_path,
			     &description.rank, &description.local_rank, &description.uid, &description.cgroup,
			     &description.container, &description.container_name, &description.pod,
			     &description.pod_name, &description.master, &description.run_id))
		return false;
	builder_describe_process(builder, &description);
	return true;
}
