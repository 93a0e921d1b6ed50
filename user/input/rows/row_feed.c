/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Converts rows to values; see row_feed.h. */
#include "input/rows/row_feed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input/rows/row_enclosing.h"
#include "input/rows/row_feed_state.h"
#include "input/rows/row_owners.h"
#include "input/rows/row_ranges.h"
#include "input/rows/row_stacks.h"

static struct text name_of(const struct row_feed *feed, uint32_t pid, uint64_t tid)
{
	const uint32_t *text = lookup_get(&feed->file->names, foreign_epoch(pid), tid);

	return row_feed_text(feed, text ? *text : ROW_NO_TEXT);
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

struct row_feed *row_feed_new(const struct foreign_file *file, struct row_owners *owners)
{
	struct row_feed *feed = xcalloc(1, sizeof(*feed));

	feed->file = file;
	feed->stacks = row_stacks_new(file);
	feed->ranges = row_ranges_new(file);
	feed->enclosing = row_enclosing_new(file);
	feed->given = xcalloc(file->rows.texts.count + 1, 1);
	feed->main_pid = file->processes.count ? file->processes.items[0].pid : 1;
	feed->owners = owners;
	feed->evaluations = xcalloc(file->threads.count + 1, sizeof(*feed->evaluations));
	return feed;
}

void row_feed_free(struct row_feed *feed)
{
	row_stacks_free(feed->stacks);
	row_ranges_free(feed->ranges);
	row_enclosing_free(feed->enclosing);
	lookup_free(&feed->contexts);
	lookup_free(&feed->inputs);
	row_owners_free(feed->owners);
	free(feed->evaluations);
	free(feed->given);
	free(feed);
}

/* A time of 0 would mean no time: if something began at 0, all times are 1 ns later. */
static uint64_t delay_of(const struct foreign_file *file)
{
	return file->rows.count && !file->rows.start_ns;
}

static uint64_t start_of(const struct foreign_file *file)
{
	uint64_t first_ns = file->rows.count ? file->rows.start_ns : file->start_ns;

	if ((file->start_ns || file->has_span) && file->start_ns < first_ns)
		first_ns = file->start_ns;
	return first_ns + delay_of(file);
}

static uint64_t end_of(const struct foreign_file *file)
{
	return (file->end_ns > file->rows.end_ns ? file->end_ns : file->rows.end_ns) + delay_of(file);
}

static void feed_processes(struct row_feed *feed, struct builder *builder, uint64_t start_ns)
{
	const struct foreign_file *file = feed->file;

	array_each (process, &file->processes) {
		struct process_image program = builder_process_image(builder, process->pid);
		struct new_description description = {.time_ns = start_ns,
						      .start_ns = process->start_ns ? process->start_ns + delay_of(file)
										    : 0,
						      .pid = process->pid,
						      .python = (uint16_t)process->python,
						      .name = name_of(feed, process->pid, FOREIGN_PROCESS),
						      .cmdline = row_feed_text(feed, process->command)};

		builder_describe_process(builder, &description);
		if (process->has_ops)
			builder_add_op_state(builder, program,
					     &(struct gpt_agent_ops){.state = GPT_AGENT_OPS_OBSERVING},
					     (struct text){0});
		if (process->has_torch_memory)
			builder_add_torch_memory_state(builder, program, &(struct gpt_agent_torch_memory_state){},
						       (struct text){0});
		array_each (found, &file->devices) {
			builder_add_device(builder, program, &found->device, row_feed_text(feed, found->name));
		}
	}
}

void row_feed_begin(struct row_feed *feed, struct builder *builder)
{
	const struct foreign_file *file = feed->file;
	uint64_t start_ns = start_of(file);

	row_stacks_begin(feed->stacks);
	row_ranges_begin(feed->ranges);
	row_enclosing_begin(feed->enclosing);
	row_owners_begin(feed->owners);
	feed->unsure = 0;
	memset(feed->given, 0, file->rows.texts.count);
	lookup_free(&feed->contexts);
	lookup_free(&feed->inputs);
	feed->sampled = 0;
	memset(feed->evaluations, 0, file->threads.count * sizeof(*feed->evaluations));
	builder_set_start(builder, start_ns, file->wall_offset_ns - (int64_t)delay_of(file));
	builder_set_source(builder, (struct text){"", 0}, row_feed_text(feed, file->host), (struct text){"", 0},
			   (struct text){"", 0}, 0);
	builder_set_tool(builder, (struct text){file->tool, strlen(file->tool)});
	if (file->is_rank)
		builder_set_rank(builder, file->rank, file->world);
	feed_processes(feed, builder, start_ns);
	array_each (thread, &file->threads) {
		struct new_thread event = {.time_ns = start_ns,
					   .pid = thread->pid,
					   .tid = thread->tid,
					   .name = name_of(feed, thread->pid, thread->tid),
					   .has_other_names = true,
					   .own_tid = thread->tid};

		builder_add_thread(builder, &event);
	}
}

static void note_unsure(const struct row_feed *feed, struct builder *builder)
{
	char *note;

	if (!feed->unsure)
		return;
	note = xasprintf("%" PRIu64 " GPU operation%s without a launch: several processes of the file have a call with "
			 "its correlation id, and nothing says whose it is",
			 feed->unsure, feed->unsure == 1 ? " is" : "s are");
	builder_add_note(builder, (struct text){note, strlen(note)});
	free(note);
}

void row_feed_end(struct row_feed *feed, struct builder *builder)
{
	const struct foreign_file *file = feed->file;
	struct new_end end = {.time_ns = end_of(file), .reason = GPT_END_TARGETS_GONE};

	builder_wait(builder);
	row_stacks_end(feed->stacks, builder, end.time_ns);
	for (size_t i = 0; i < file->notes.count; i++)
		builder_add_note(builder, (struct text){file->notes.items[i], strlen(file->notes.items[i])});
	note_unsure(feed, builder);
	for (unsigned reason = 0; reason < BAD_REASONS; reason++)
		builder_count_bad(builder, (enum bad_reason)reason, file->bad[reason]);
	builder_see_time(builder, end.time_ns);
	if (file->truncated)
		builder_set_torn(builder);
	else
		builder_set_end(builder, &end);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Anything but an event waits until no one looks at the part before (builder_look). */

static void feed_context(struct row_feed *feed, struct builder *builder, struct process_image program, uint32_t context,
			 uint32_t device)
{
	uint64_t key = (uint64_t)context << 32 | device;
	uint32_t *was_given = lookup_put(&feed->contexts, program.process + 1, key, 0);

	if (!*was_given) {
		const struct gpt_agent_context record = {.context = context, .device = device};
		struct sender sender = row_feed_sender(program);

		builder_wait(builder);
		builder_add_agent_context(builder, &sender, &record);
	}
	*was_given = 1;
}

/* *corr: 0 where it is not known which process's call the record names. */
static struct process_image owner_of_work(struct row_feed *feed, struct builder *builder, const struct row_gpu *gpu,
					  uint32_t *corr)
{
	bool is_sure = true;
	uint32_t pid = gpu->row.pid ? gpu->row.pid : row_owners_take(feed->owners, gpu, &is_sure);

	*corr = is_sure ? gpu->row.corr : 0;
	feed->unsure += !is_sure;
	return row_feed_image(feed, builder, pid);
}

static struct process_image owner_of_wait(const struct row_feed *feed, struct builder *builder,
					  const struct row_sync *sync, uint32_t *corr)
{
	bool is_sure = true;
	uint32_t pid = sync->row.pid ? sync->row.pid : row_owners_find(feed->owners, sync, &is_sure);

	*corr = is_sure ? sync->row.corr : 0;
	return row_feed_image(feed, builder, pid);
}

static bool feed_gpu(struct row_feed *feed, struct builder *builder, const struct row_gpu *gpu)
{
	const struct row *row = &gpu->row;
	struct model_gpu work = gpu->work;
	struct process_image program = owner_of_work(feed, builder, gpu, &work.corr);
	uint32_t name = 0;

	work.start_ns = row->start_ns;
	work.end_ns = row->end_ns;
	if (row->text != ROW_NO_TEXT && work.kind == MODEL_KERNEL) {
		name = row_feed_key(row->text);
		row_feed_put_text(feed, builder, program, row->text, GIVEN_KERNEL);
	}
	feed_context(feed, builder, program, work.context, work.device);
	return builder_add_gpu(builder, program, &work, name);
}

static bool feed_sync(struct row_feed *feed, struct builder *builder, const struct row_sync *sync)
{
	struct gpt_agent_sync event = sync->sync;
	struct sender sender = row_feed_sender(owner_of_wait(feed, builder, sync, &event.corr));

	event.start_wall_ns = sync->row.start_ns;
	event.end_wall_ns = sync->row.end_ns;
	feed_context(feed, builder, sender.program, event.context, sync->device);
	return builder_add_agent_sync(builder, &sender, &event);
}

static bool feed_overhead(struct row_feed *feed, struct builder *builder, const struct row_overhead *overhead)
{
	struct gpt_agent_overhead event = {.start_wall_ns = overhead->row.start_ns,
					   .end_wall_ns = overhead->row.end_ns,
					   .kind = overhead->overhead,
					   .tid = overhead->row.tid};
	struct sender sender = row_feed_sender(row_feed_image(feed, builder, overhead->row.pid));

	return builder_add_agent_overhead(builder, &sender, &event);
}

static bool feed_cuda_memory(struct row_feed *feed, struct builder *builder, const struct row_cuda_memory *memory)
{
	struct gpt_agent_memory event = memory->memory;
	struct sender sender = row_feed_sender(row_feed_image(feed, builder, memory->row.pid));

	event.time_wall_ns = memory->row.start_ns;
	event.corr = memory->row.corr;
	return builder_add_agent_memory(builder, &sender, &event);
}

static bool feed_pause(struct row_feed *feed, struct builder *builder, const struct row_pause *pause)
{
	struct python_moment at = {
		.time_ns = pause->row.start_ns, .frame = pause->frame, .pid = pause->row.pid, .tid = pause->row.tid};
	struct text module = row_feed_text(feed, pause->row.text);
	struct python_text name = {.bytes = module.bytes, .size = (uint32_t)module.size};

	builder_wait(builder);
	if (pause->row.kind == ROW_PAUSE_END) {
		builder_end_pyevent(builder, &at, pause->is_import ? MODEL_SPAN_IMPORT : MODEL_SPAN_GC);
		return true;
	}
	return pause->is_import ? builder_begin_import(builder, &at, &name)
				: builder_begin_gc(builder, &at, pause->generation);
}

static const struct row *delay_row(struct row_feed *feed, const struct row *row, uint64_t delay_ns)
{
	struct row *later = (struct row *)(void *)feed->later;

	memcpy(later, row, row->size);
	later->start_ns += delay_ns;
	later->end_ns += delay_ns;
	if (later->kind == ROW_RANGE && ((struct row_range *)later)->what == ROW_RANGE_WHOLE)
		((struct row_range *)later)->closes_ns += delay_ns;
	return later;
}

void row_feed_row(struct row_feed *feed, struct builder *builder, const struct row *row)
{
	bool sense = true;

	if (delay_of(feed->file))
		row = delay_row(feed, row, delay_of(feed->file));
	builder_see_time(builder, row->start_ns);
	switch ((enum row_kind)row->kind) {
	case ROW_FUNCTION:
		row_stacks_enter(feed->stacks, builder, (const struct row_function *)row);
		break;
	case ROW_LEAVE:
		row_stacks_leave(feed->stacks, builder, row);
		break;
	case ROW_PAUSE_END:
	case ROW_PAUSE:
		sense = feed_pause(feed, builder, (const struct row_pause *)row);
		break;
	case ROW_RANGE:
		row_enclosing_add_range(feed->enclosing, (const struct row_range *)row);
		sense = row_ranges_feed(feed->ranges, builder, (const struct row_range *)row);
		break;
	case ROW_OP:
		row_feed_op(feed, builder, (const struct row_op *)row);
		break;
	case ROW_CALL:
		row_feed_call(feed, builder, (const struct row_call *)row);
		break;
	case ROW_SYNC:
		sense = feed_sync(feed, builder, (const struct row_sync *)row);
		break;
	case ROW_MEMORY:
		sense = row_feed_memory(feed, builder, (const struct row_memory *)row);
		break;
	case ROW_CUDA_MEMORY:
		sense = feed_cuda_memory(feed, builder, (const struct row_cuda_memory *)row);
		break;
	case ROW_OVERHEAD:
		sense = feed_overhead(feed, builder, (const struct row_overhead *)row);
		break;
	case ROW_GPU:
		sense = feed_gpu(feed, builder, (const struct row_gpu *)row);
		break;
	}
	if (!sense)
		builder_count_bad(builder, row->kind == ROW_RANGE ? BAD_TIME : BAD_VALUE, 1);
}
