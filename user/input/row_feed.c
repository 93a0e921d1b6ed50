/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows to values; see row_feed.h. */
#include "input/row_feed.h"

#include <stdlib.h>
#include <string.h>

#include "input/row_ranges.h"
#include "input/row_stacks.h"

/* What is needed of the latest calls to find whose GPU work is, where there are several processes: a power of two. */
#define RECENT_CALLS 65536u

struct recent_call {
	uint32_t corr, pid;
};

struct row_feed {
	const struct foreign_file *file;
	struct row_stacks *stacks;
	struct row_ranges *ranges;
	struct recent_call *recent; /* NULL: there is one process */
	uint8_t *told;		    /* by text: enum told_as, of this round */
	struct lookup contexts;	    /* (context + 1, device) that were told */
	uint32_t main_pid;
	uint64_t taken; /* number of the latest stack of an op */
};

enum told_as {
	TOLD_OP = 1,
	TOLD_KERNEL = 2,
	TOLD_INPUTS = 4,
	TOLD_NO_INPUTS = 8, /* the builder did not take them */
};

/* Keys of texts: 0 is none. */
static uint32_t key_of(uint32_t text)
{
	return text + 1;
}

static struct text text_of(const struct row_feed *feed, uint32_t text)
{
	const struct rows *rows = &feed->file->rows;

	return text < rows->texts.count ? rows->texts.items[text] : (struct text){.bytes = "", .size = 0};
}

static struct text name_of(const struct row_feed *feed, uint32_t pid, uint64_t tid)
{
	const uint32_t *text = lookup_get(&feed->file->names, foreign_space(pid), tid);

	return text_of(feed, text ? *text : ROW_NO_TEXT);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

struct row_feed *row_feed_new(const struct foreign_file *file)
{
	struct row_feed *feed = xcalloc(1, sizeof(*feed));

	feed->file = file;
	feed->stacks = row_stacks_new(file);
	feed->ranges = row_ranges_new(file);
	feed->told = xcalloc(file->rows.texts.count + 1, 1);
	feed->main_pid = file->processes.count ? file->processes.items[0].pid : 1;
	if (file->processes.count > 1)
		feed->recent = xcalloc(RECENT_CALLS, sizeof(*feed->recent));
	lookup_init(&feed->contexts, file->rows.seed);
	return feed;
}

void row_feed_free(struct row_feed *feed)
{
	row_stacks_free(feed->stacks);
	row_ranges_free(feed->ranges);
	lookup_free(&feed->contexts);
	free(feed->recent);
	free(feed->told);
	free(feed);
}

static uint64_t start_of(const struct foreign_file *file)
{
	uint64_t first_ns = file->rows.count ? file->rows.start_ns : file->start_ns;

	return file->start_ns && file->start_ns < first_ns ? file->start_ns : first_ns;
}

static uint64_t end_of(const struct foreign_file *file)
{
	return file->end_ns > file->rows.end_ns ? file->end_ns : file->rows.end_ns;
}

static void tell_processes(struct row_feed *feed, struct builder *builder, uint64_t start_ns)
{
	const struct foreign_file *file = feed->file;

	for (size_t i = 0; i < file->processes.count; i++) {
		const struct foreign_process *process = &file->processes.items[i];
		struct program program = builder_program(builder, process->pid);
		struct new_description description = {.time_ns = start_ns,
						      .pid = process->pid,
						      .python = (uint16_t)process->python,
						      .name = name_of(feed, process->pid, FOREIGN_PROCESS)};

		builder_describe_process(builder, &description);
		if (process->has_ops)
			builder_add_op_state(builder, program,
					     &(struct new_op_state){.state = GPT_AGENT_OPS_OBSERVING});
		if (process->has_torch_memory)
			builder_add_torch_memory_state(builder, program, &(struct new_torch_memory_state){0});
		for (size_t d = 0; d < file->devices.count; d++) {
			struct new_device device = file->devices.items[d].device;

			device.name = text_of(feed, file->devices.items[d].name);
			builder_add_device(builder, program, &device);
		}
	}
}

void row_feed_begin(struct row_feed *feed, struct builder *builder)
{
	const struct foreign_file *file = feed->file;
	uint64_t start_ns = start_of(file);

	row_stacks_begin(feed->stacks);
	row_ranges_begin(feed->ranges);
	memset(feed->told, 0, file->rows.texts.count);
	lookup_free(&feed->contexts);
	lookup_init(&feed->contexts, file->rows.seed);
	feed->taken = 0;
	builder_set_start(builder, start_ns, file->wall_offset_ns);
	builder_set_source(builder, (struct text){"", 0}, text_of(feed, file->host), (struct text){"", 0},
			   (struct text){"", 0}, 0);
	builder_set_tool(builder, (struct text){file->tool, strlen(file->tool)});
	tell_processes(feed, builder, start_ns);
	for (size_t i = 0; i < file->threads.count; i++) {
		const struct foreign_thread *thread = &file->threads.items[i];
		struct new_thread told = {.time_ns = start_ns,
					  .pid = thread->pid,
					  .tid = thread->tid,
					  .name = name_of(feed, thread->pid, thread->tid),
					  .has_other_names = true,
					  .own_tid = thread->tid};

		builder_add_thread(builder, &told);
	}
}

void row_feed_end(struct row_feed *feed, struct builder *builder)
{
	const struct foreign_file *file = feed->file;
	struct new_end end = {.time_ns = end_of(file), .reason = GPT_END_TARGETS_GONE};

	builder_wait(builder);
	row_stacks_end(feed->stacks, builder, end.time_ns);
	if (file->note)
		builder_add_note(builder, (struct text){file->note, strlen(file->note)});
	for (uint64_t i = 0; i < file->bad; i++)
		builder_count_bad(builder);
	builder_see_time(builder, end.time_ns);
	if (file->truncated)
		builder_set_torn(builder);
	else
		builder_set_end(builder, &end);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static bool tell_once(struct row_feed *feed, uint32_t text, enum told_as as)
{
	bool told;

	if (text >= feed->file->rows.texts.count)
		return false;
	told = feed->told[text] & as;
	feed->told[text] |= (uint8_t)as;
	return !told;
}

static uint32_t inputs_key(struct row_feed *feed, struct builder *builder, struct program program, uint32_t text)
{
	if (text >= feed->file->rows.texts.count)
		return 0;
	if (!(feed->told[text] & TOLD_INPUTS))
		builder_wait(builder);
	if (tell_once(feed, text, TOLD_INPUTS) &&
	    !builder_add_op_inputs(builder, program, key_of(text), text_of(feed, text)))
		feed->told[text] |= TOLD_NO_INPUTS;
	return feed->told[text] & TOLD_NO_INPUTS ? 0 : key_of(text);
}

/* Whatever is no event waits until nobody looks at the part before (builder_look). */

/* Texts are told to each program; of several all are, as keys are theirs. */
static void tell_text(struct row_feed *feed, struct builder *builder, struct program program, uint32_t text,
		      enum told_as as)
{
	if (!feed->recent && !tell_once(feed, text, as))
		return;
	builder_wait(builder);
	if (as == TOLD_OP)
		builder_add_op_text(builder, program, key_of(text), text_of(feed, text));
	else
		builder_add_name(builder, program, key_of(text), text_of(feed, text), (struct text){0});
}

/* own: of the file, one more; else that of the functions that are open. */
static uint64_t stack_of(struct row_feed *feed, struct builder *builder, const struct row *row, uint32_t own)
{
	uint64_t stack = own && feed->file->prefers_stacks ? 0 : row_stacks_find(feed->stacks, builder, row);

	return stack || !own ? stack : row_stacks_own(feed->stacks, builder, row->pid, own - 1);
}

/* PyTorch's number of a thread, 0: not known. */
static uint64_t torch_thread_of(const struct row_feed *feed, const struct row *row)
{
	const uint32_t *number = lookup_get(&feed->file->torch_threads, foreign_space(row->pid), row->tid);

	return number ? *number : 0;
}

static void tell_op(struct row_feed *feed, struct builder *builder, const struct row_op *op)
{
	const struct row *row = &op->row;
	struct program program = builder_program(builder, row->pid);
	uint64_t stack = stack_of(feed, builder, row, op->stack);
	struct new_op told = {.start_ns = row->start_ns,
			      .end_ns = row->end_ns,
			      .sequence = op->sequence,
			      .torch_thread = torch_thread_of(feed, row),
			      .forward_thread = op->forward_thread,
			      .tid = row->tid,
			      .name = key_of(row->text),
			      .collective_sequence = op->collective_sequence,
			      .scope = op->scope,
			      .open = op->unfinished};

	tell_text(feed, builder, program, row->text, TOLD_OP);
	if (op->collective != ROW_NO_TEXT) {
		told.collective = key_of(op->collective);
		tell_text(feed, builder, program, op->collective, TOLD_OP);
	}
	told.inputs = feed->recent ? 0 : inputs_key(feed, builder, program, op->inputs);
	if (stack) {
		struct new_taken_stack taken = {
			.time_ns = row->start_ns, .stack = stack, .number = ++feed->taken, .what = GPT_STACK_OF_OP};

		builder_add_taken_stack(builder, row->pid, &taken);
		told.stack = feed->taken;
	}
	if (!builder_add_op(builder, program, &told))
		builder_count_bad(builder);
}

static void tell_call(struct row_feed *feed, struct builder *builder, const struct row_call *call)
{
	const struct row *row = &call->row;
	uint64_t stack = stack_of(feed, builder, row, call->stack);
	struct new_call told = {.time_ns = row->start_ns,
				.stack = stack,
				.pid = row->pid,
				.tid = row->tid,
				.corr = row->corr,
				.api = call->api,
				.stack_state = stack ? GPT_STACK_OK : GPT_STACK_NOT_RECORDED};
	struct new_return back = {
		.end_ns = row->end_ns, .corr = row->corr, .result = call->result, .tid = row->tid, .api = call->api};

	if (feed->recent)
		feed->recent[row->corr % RECENT_CALLS] = (struct recent_call){row->corr, row->pid};
	builder_add_call(builder, &told);
	if (row->corr && !call->unfinished && !builder_add_return(builder, builder_program(builder, row->pid), &back))
		builder_count_bad(builder);
}

/* Whose the work is where the file does not say: of its call, else of the first process. */
static struct program program_of(const struct row_feed *feed, struct builder *builder, const struct row *row)
{
	const struct recent_call *recent = feed->recent ? &feed->recent[row->corr % RECENT_CALLS] : NULL;

	if (row->pid)
		return builder_program(builder, row->pid);
	return builder_program(builder,
			       recent && recent->pid && recent->corr == row->corr ? recent->pid : feed->main_pid);
}

static void tell_context(struct row_feed *feed, struct builder *builder, struct program program, uint32_t context,
			 uint32_t device)
{
	uint64_t key = (uint64_t)context << 32 | device;
	uint32_t *told = lookup_put(&feed->contexts, program.process + 1, key, 0);

	if (!*told)
		builder_wait(builder);
	if (!*told)
		builder_add_context(builder, program, context, device, false);
	*told = 1;
}

static bool tell_gpu(struct row_feed *feed, struct builder *builder, const struct row_gpu *gpu)
{
	const struct row *row = &gpu->row;
	struct program program = program_of(feed, builder, row);
	struct new_gpu_work work = gpu->work;

	work.span = (struct clock_span){row->start_ns, row->end_ns};
	work.clock = SOURCE_CLOCK_MONOTONIC;
	work.corr = row->corr;
	if (row->text != ROW_NO_TEXT && work.kind == MODEL_KERNEL) {
		work.name = key_of(row->text);
		tell_text(feed, builder, program, row->text, TOLD_KERNEL);
	}
	tell_context(feed, builder, program, work.context, work.device);
	return builder_add_gpu_work(builder, program, &work);
}

static bool tell_sync(struct row_feed *feed, struct builder *builder, const struct row_sync *sync)
{
	struct program program = program_of(feed, builder, &sync->row);
	struct new_sync told = sync->sync;

	told.span = (struct clock_span){sync->row.start_ns, sync->row.end_ns};
	told.clock = SOURCE_CLOCK_MONOTONIC;
	told.corr = sync->row.corr;
	tell_context(feed, builder, program, told.context, sync->device);
	return builder_add_sync(builder, program, &told);
}

static bool tell_overhead(struct row_feed *feed, struct builder *builder, const struct row_overhead *overhead)
{
	struct new_overhead told = {.span = {overhead->row.start_ns, overhead->row.end_ns},
				    .clock = SOURCE_CLOCK_MONOTONIC,
				    .kind = overhead->overhead,
				    .tid = overhead->row.tid};

	return builder_add_overhead(builder, program_of(feed, builder, &overhead->row), &told);
}

static bool tell_memory(struct row_feed *feed, struct builder *builder, const struct row_memory *memory)
{
	struct new_torch_memory told = memory->memory;

	told.time_ns = memory->row.start_ns;
	told.tid = memory->row.tid;
	return builder_add_torch_memory(builder, program_of(feed, builder, &memory->row), &told);
}

static bool tell_cuda_memory(struct row_feed *feed, struct builder *builder, const struct row_cuda_memory *memory)
{
	struct new_memory told = memory->memory;

	told.time_ns = memory->row.start_ns;
	told.clock = SOURCE_CLOCK_MONOTONIC;
	told.corr = memory->row.corr;
	return builder_add_memory(builder, program_of(feed, builder, &memory->row), &told);
}

void row_feed_row(struct row_feed *feed, struct builder *builder, const struct row *row)
{
	bool sense = true;

	builder_see_time(builder, row->start_ns);
	switch ((enum row_kind)row->kind) {
	case ROW_FUNCTION:
		row_stacks_enter(feed->stacks, builder, (const struct row_function *)row);
		break;
	case ROW_LEAVE:
		row_stacks_leave(feed->stacks, builder, row);
		break;
	case ROW_RANGE:
		sense = row_ranges_tell(feed->ranges, builder, (const struct row_range *)row);
		break;
	case ROW_OP:
		tell_op(feed, builder, (const struct row_op *)row);
		break;
	case ROW_CALL:
		tell_call(feed, builder, (const struct row_call *)row);
		break;
	case ROW_SYNC:
		sense = tell_sync(feed, builder, (const struct row_sync *)row);
		break;
	case ROW_MEMORY:
		sense = tell_memory(feed, builder, (const struct row_memory *)row);
		break;
	case ROW_CUDA_MEMORY:
		sense = tell_cuda_memory(feed, builder, (const struct row_cuda_memory *)row);
		break;
	case ROW_OVERHEAD:
		sense = tell_overhead(feed, builder, (const struct row_overhead *)row);
		break;
	case ROW_GPU:
		sense = tell_gpu(feed, builder, (const struct row_gpu *)row);
		break;
	}
	if (!sense)
		builder_count_bad(builder);
}
