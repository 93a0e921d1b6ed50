/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When Python functions ran, as far as the stacks of CUDA calls tell: a slice opens at the first call whose stack has
 * the function and ends with the last call of the run that has it.  Time before the first and after the last CUDA
 * call of a function is not seen, and two runs of one function from the same line with no other call between
 * them look like one.
 */
#include "export/chrome.h"

#include <stdlib.h>

#include "base/array.h"

/* No code object: frames that were not recorded. */
#define CODE_CUT UINT32_MAX
#define DEPTH_MAX (GPT_PYSTACK_MAX_FRAMES + 1u)

struct slice {
	uint64_t start_ns, end_ns;
	uint32_t code;
	uint32_t parent; /* index among the slices of this thread, NONE */
};

struct open_frame {
	uint32_t code, line;
	uint32_t slice;
};

/* One thread's slices, in the order in which they opened, so parents come before children. */
struct thread_slices {
	ARRAY(struct slice) slices;
	struct open_frame open[DEPTH_MAX];
	uint32_t depth;
};

/* The frames of a stack, outermost first. */
static uint32_t frames_of(const struct model *model, const struct model_call *call, struct open_frame *frames)
{
	const struct model_stack *stack;
	uint32_t depth, count = 0;

	/* Another thread's frames, borrowed: they do not run on this one. */
	if (call->stack == NONE || call->stack_state == GPT_STACK_BACKWARD)
		return 0;
	stack = &model->stacks[call->stack];
	depth = stack->depth < GPT_PYSTACK_MAX_FRAMES ? stack->depth : GPT_PYSTACK_MAX_FRAMES;
	if (stack->missing && stack->gap >= depth)
		frames[count++] = (struct open_frame){.code = CODE_CUT};
	for (uint32_t i = depth; i-- > 0;) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		frames[count++] = (struct open_frame){.code = frame->code, .line = frame->line};
		if (stack->missing && stack->gap == i)
			frames[count++] = (struct open_frame){.code = CODE_CUT};
	}
	return count;
}

/*
 * How many of the open frames still run: a frame whose function is the same may have moved to another line, and
 * then whatever it had called before has returned.
 */
static uint32_t frames_kept(struct thread_slices *thread, const struct open_frame *frames, uint32_t count)
{
	uint32_t kept = 0;

	while (kept < count && kept < thread->depth && thread->open[kept].code == frames[kept].code) {
		bool same_line = thread->open[kept].line == frames[kept].line;

		thread->open[kept].line = frames[kept].line;
		kept++;
		if (!same_line)
			break;
	}
	return kept;
}

static void note_call(struct thread_slices *thread, const struct open_frame *frames, uint32_t count, uint64_t start_ns,
		      uint64_t end_ns)
{
	thread->depth = frames_kept(thread, frames, count);
	for (uint32_t i = 0; i < thread->depth; i++)
		thread->slices.items[thread->open[i].slice].end_ns = end_ns;
	while (thread->depth < count) {
		struct slice slice = {
			.start_ns = start_ns,
			.end_ns = end_ns,
			.code = frames[thread->depth].code,
			.parent = thread->depth ? thread->open[thread->depth - 1].slice : NONE,
		};

		thread->open[thread->depth] = frames[thread->depth];
		thread->open[thread->depth].slice = (uint32_t)thread->slices.count;
		thread->depth++;
		array_push(&thread->slices, slice);
	}
}

/* first_id: "Python id" of this thread's first slice. */
static void put_slice(struct chrome *chrome, uint32_t thread, const struct slice *slice, uint64_t id, uint64_t first_id)
{
	const struct model *model = chrome->model;
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"");
	if (slice->code == CODE_CUT)
		sink_literal(out, "[frames left out]");
	else
		chrome_put_code(chrome, slice->code, model->codes[slice->code].first_line);
	chrome_put_slice(chrome, "\"", 1, chrome->pids[model->threads[thread].process], chrome->tids[thread],
			 slice->start_ns, slice->end_ns);
	if (slice->parent != NONE) {
		sink_literal(out, "\"Python parent id\":");
		sink_u64(out, first_id + slice->parent);
		sink_char(out, ',');
	}
	sink_literal(out, "\"Python id\":");
	sink_u64(out, id);
	sink_literal(out, ",\"from\":\"snapshots\"}}");
}

void chrome_put_python(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct thread_slices thread = {0};
	struct open_frame frames[DEPTH_MAX];
	uint64_t next_id = 1;

	for (uint32_t t = 0; t < model->thread_count && !chrome->out->error; t++) {
		if (!chrome_has_process(chrome, model->threads[t].process))
			continue;
		thread.depth = 0;
		thread.slices.count = 0;
		for (uint32_t i = chrome->first_call[t]; i != NONE; i = chrome->next_call[i])
			note_call(&thread, frames, frames_of(model, &model->calls[i], frames), model->calls[i].start_ns,
				  chrome_call_end(chrome, i));
		for (uint32_t i = 0; i < thread.slices.count; i++)
			put_slice(chrome, t, &thread.slices.items[i], next_id + i, next_id);
		next_id += thread.slices.count;
	}
	array_free(&thread.slices);
}
