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

void builder_add_fork(struct builder *builder, const struct new_fork *fork)
{
	builder_see_time(builder, fork->time_ns);
	process_table_add_fork(&builder->processes, fork);
}

void builder_add_exec(struct builder *builder, uint32_t pid, uint64_t time_ns, struct text name)
{
	uint32_t process = process_table_find(&builder->processes, pid);

	builder_see_time(builder, time_ns);
	agents_process_execs(&builder->agents, process);
	ranges_process_execs(&builder->ranges, pid, time_ns);
	if (!builder->first)
		gaps_process_execs(&builder->gaps, pid, time_ns);
	close_python_spans(builder, process, time_ns);
	process_table_add_exec(&builder->processes, pid, time_ns, name);
}

void builder_add_exit(struct builder *builder, uint32_t pid, uint64_t time_ns, uint32_t signal)
{
	builder_see_time(builder, time_ns);
	process_table_add_exit(&builder->processes, pid, time_ns, signal);
}

void builder_describe_process(struct builder *builder, const struct new_description *description)
{
	builder_see_time(builder, description->time_ns);
	process_table_describe(&builder->processes, description);
}
