/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds inputs' events about processes and threads (builder.h) to their tables. */
#include "model/join/tables.h"

struct process_image builder_process_image(struct builder *builder, uint32_t pid)
{
	return process_table_image(&builder->processes, pid);
}

struct process_image builder_process_image_at(struct builder *builder, uint32_t pid, uint64_t time_ns)
{
	return process_table_image_at(&builder->processes, pid, time_ns);
}

void builder_add_thread(struct builder *builder, const struct new_thread *thread)
{
	builder_see_time(builder, thread->time_ns);
	process_table_add_thread(&builder->processes, thread);
}

bool builder_add_fork(struct builder *builder, const struct sender *none, const struct gpt_process_event *fork)
{
	builder_see_time(builder, fork->time_ns);
	process_table_add_fork(&builder->processes, fork);
	return true;
}

bool builder_add_exec(struct builder *builder, const struct sender *none, const struct gpt_process_event *exec)
{
	uint32_t process = process_table_find(&builder->processes, exec->pid);

	builder_see_time(builder, exec->time_ns);
	agents_process_execs(&builder->agents, process);
	ranges_process_execs(&builder->ranges, exec->pid, exec->time_ns);
	if (!builder->first)
		gaps_process_execs(&builder->gaps, exec->pid, exec->time_ns);
	close_python_spans(builder, process, exec->time_ns);
	process_table_add_exec(&builder->processes, exec);
	return true;
}

bool builder_add_exit(struct builder *builder, const struct sender *none, const struct gpt_process_event *exit)
{
	builder_see_time(builder, exit->time_ns);
	process_table_add_exit(&builder->processes, exit);
	return true;
}

void builder_describe_process(struct builder *builder, const struct new_description *description)
{
	builder_see_time(builder, description->time_ns);
	process_table_describe(&builder->processes, description);
}
