/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When Python functions ran.  As far as the stacks of CUDA calls tell: a slice opens at the first call whose stack has
 * the function and ends with the last call of the run that has it.  Time before the first and after the last CUDA
 * call of a function is not seen, and two runs of one function from the same line with no other call between
 * them look like one.
 *
 * Where every call was traced its slices are exact, and only what was open before the trace is drawn from stacks.
 */
#include "export/chrome.h"

#include <stdlib.h>

#include "base/array.h"

/* No code object: frames that were not recorded. */
#define CODE_TRUNCATED UINT32_MAX
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
		frames[count++] = (struct open_frame){.code = CODE_TRUNCATED};
	for (uint32_t i = depth; i-- > 0;) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		frames[count++] = (struct open_frame){.code = frame->code, .line = frame->line};
		if (stack->missing && stack->gap == i)
			frames[count++] = (struct open_frame){.code = CODE_TRUNCATED};
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

/* Up to the arguments that every slice has; first_id: "Python id" of this thread's first slice. */
static void put_slice_head(struct chrome *chrome, uint32_t thread, const struct slice *slice, uint64_t id,
			   uint64_t first_id)
{
	const struct model *model = chrome->model;
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"");
	if (slice->code == CODE_TRUNCATED)
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
}

static void put_drawn(struct chrome *chrome, uint32_t thread, const struct thread_slices *slices, uint64_t first_id)
{
	for (uint32_t i = 0; i < slices->slices.count; i++) {
		put_slice_head(chrome, thread, &slices->slices.items[i], first_id + i, first_id);
		sink_literal(chrome->out, ",\"from\":\"snapshots\"}}");
	}
}

static void draw_from_stacks(struct chrome *chrome, uint32_t thread, struct thread_slices *slices)
{
	const struct model *model = chrome->model;
	struct open_frame frames[DEPTH_MAX];

	for (uint32_t i = chrome->first_call[thread]; i != NONE; i = chrome->next_call[i])
		note_call(slices, frames, frames_of(model, &model->calls[i], frames), model->calls[i].start_ns,
			  chrome_call_end(chrome, i));
}

/* ---- threads whose calls were traced ------------------------------------------------------------------------ */

/* The traced calls that are open at a time, outermost first: indices into model.pycalls. */
struct open_calls {
	uint32_t next, end; /* of this thread */
	ARRAY(uint32_t) open;
};

static void advance(const struct model *model, struct open_calls *calls, uint64_t time_ns)
{
	for (; calls->next < calls->end && model->pycalls[calls->next].start_ns <= time_ns; calls->next++) {
		while (calls->open.count && model->pycalls[calls->open.items[calls->open.count - 1]].end_ns <=
						    model->pycalls[calls->next].start_ns)
			calls->open.count--;
		array_push(&calls->open, calls->next);
	}
	while (calls->open.count && model->pycalls[calls->open.items[calls->open.count - 1]].end_ns < time_ns)
		calls->open.count--;
}

/* How many outer frames of a stack are of functions that were entered before the trace; NONE: it cannot be told. */
static uint32_t frames_before(const struct model *model, const struct open_calls *calls,
			      const struct open_frame *frames, uint32_t count)
{
	uint32_t outer;

	if (calls->open.count > count || (count && frames[0].code == CODE_TRUNCATED))
		return NONE;
	outer = count - (uint32_t)calls->open.count;
	for (uint32_t i = 0; i < calls->open.count; i++)
		if (model->pycalls[calls->open.items[i]].code != frames[outer + i].code)
			return NONE;
	return outer;
}

/*
 * What was open before: drawn from stacks as ever, but from the begin to the end of the outermost traced call around
 * each CUDA call, so that the one holds the other.
 */
static void draw_outer(struct chrome *chrome, uint32_t thread, struct thread_slices *slices)
{
	const struct model *model = chrome->model;
	const struct model_thread *of = &model->threads[thread];
	struct open_calls calls = {.next = of->first_pycall, .end = of->first_pycall + of->pycalls};
	struct open_frame frames[DEPTH_MAX];
	uint32_t before = NONE;

	for (uint32_t i = chrome->first_call[thread]; i != NONE; i = chrome->next_call[i]) {
		uint64_t start_ns = model->calls[i].start_ns, end_ns = chrome_call_end(chrome, i);
		uint32_t count;

		advance(model, &calls, start_ns);
		if (calls.open.count && calls.open.items[0] == before)
			continue;
		count = frames_before(model, &calls, frames, frames_of(model, &model->calls[i], frames));
		if (count == NONE)
			continue;
		before = calls.open.count ? calls.open.items[0] : NONE;
		if (before != NONE) {
			start_ns = model->pycalls[before].start_ns;
			end_ns = model->pycalls[before].end_ns;
		}
		note_call(slices, frames, count, start_ns, end_ns);
	}
	array_free(&calls.open);
}

/* Returns how many; ids go on from next_id. */
static uint32_t put_exact(struct chrome *chrome, uint32_t thread, uint64_t next_id)
{
	const struct model *model = chrome->model;
	const struct model_thread *of = &model->threads[thread];
	struct open_calls calls = {.next = of->first_pycall, .end = of->first_pycall + of->pycalls};

	while (calls.next < calls.end && !chrome->out->error) {
		uint32_t index = calls.next;
		const struct model_pycall *call = &model->pycalls[index];
		struct slice slice = {
			.start_ns = call->start_ns, .end_ns = call->end_ns, .code = call->code, .parent = NONE};

		/* By nesting in time: ends come before begins where both are the same. */
		while (calls.open.count && model->pycalls[calls.open.items[calls.open.count - 1]].end_ns < call->end_ns)
			calls.open.count--;
		if (calls.open.count)
			slice.parent = calls.open.items[calls.open.count - 1] - of->first_pycall;
		array_push(&calls.open, index);
		calls.next++;
		put_slice_head(chrome, thread, &slice, next_id + index - of->first_pycall, next_id);
		sink_literal(chrome->out, ",\"from\":\"calls\"");
		if (call->truncated)
			sink_literal(chrome->out, ",\"end\":\"not seen\"");
		sink_literal(chrome->out, "}}");
	}
	array_free(&calls.open);
	return of->pycalls;
}

void chrome_put_python(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct thread_slices slices = {0};
	uint64_t next_id = 1;

	for (uint32_t t = 0; t < model->thread_count && !chrome->out->error; t++) {
		if (!chrome_has_process(chrome, model->threads[t].process))
			continue;
		slices.depth = 0;
		slices.slices.count = 0;
		if (model->threads[t].pycalls)
			draw_outer(chrome, t, &slices);
		else
			draw_from_stacks(chrome, t, &slices);
		put_drawn(chrome, t, &slices, next_id);
		next_id += slices.slices.count;
		if (model->threads[t].pycalls)
			next_id += put_exact(chrome, t, next_id);
	}
	array_free(&slices.slices);
}
