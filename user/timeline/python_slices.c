/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/python_slices.h"

/* No code object: frames that were not recorded. */
#define CODE_LEFT_OUT NONE
#define DEPTH_MAX (GPT_PYSTACK_MAX_FRAMES + 1u)

struct open_frame {
	uint32_t code, line;
	uint32_t slice;
};

/* Draws one thread's slices from the stacks of its calls. */
struct drawing {
	struct python_slices *slices; /* in the order in which they opened, so parents come before children */
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
		frames[count++] = (struct open_frame){.code = CODE_LEFT_OUT};
	for (uint32_t i = depth; i-- > 0;) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		frames[count++] = (struct open_frame){.code = frame->code, .line = frame->line};
		if (stack->missing && stack->gap == i)
			frames[count++] = (struct open_frame){.code = CODE_LEFT_OUT};
	}
	return count;
}

/*
 * How many of the open frames still run: a frame whose function is the same may have moved to another line, and
 * then whatever it had called before has returned.
 */
static uint32_t frames_kept(struct drawing *drawing, const struct open_frame *frames, uint32_t count)
{
	uint32_t kept = 0;

	while (kept < count && kept < drawing->depth && drawing->open[kept].code == frames[kept].code) {
		bool same_line = drawing->open[kept].line == frames[kept].line;

		drawing->open[kept].line = frames[kept].line;
		kept++;
		if (!same_line)
			break;
	}
	return kept;
}

static void note_call(struct drawing *drawing, const struct open_frame *frames, uint32_t count, uint64_t start_ns,
		      uint64_t end_ns)
{
	drawing->depth = frames_kept(drawing, frames, count);
	for (uint32_t i = 0; i < drawing->depth; i++)
		drawing->slices->all.items[drawing->open[i].slice].end_ns = end_ns;
	while (drawing->depth < count) {
		struct python_slice slice = {
			.start_ns = start_ns,
			.end_ns = end_ns,
			.code = frames[drawing->depth].code,
			.parent = drawing->depth ? drawing->open[drawing->depth - 1].slice : NONE,
		};

		drawing->open[drawing->depth] = frames[drawing->depth];
		drawing->open[drawing->depth].slice = (uint32_t)drawing->slices->all.count;
		drawing->depth++;
		array_push(&drawing->slices->all, slice);
	}
}

static void draw_from_stacks(const struct model *model, const struct timeline_calls *calls, uint32_t thread,
			     struct drawing *drawing)
{
	struct open_frame frames[DEPTH_MAX];

	for (uint32_t i = calls->first[thread]; i != NONE; i = calls->next[i])
		note_call(drawing, frames, frames_of(model, &model->calls[i], frames), model->calls[i].start_ns,
			  call_end(model, calls, i));
}

/* ---- threads whose calls were traced ------------------------------------------------------------------------ */

/* The traced calls that are open at a time, outermost first: by index in model.pycalls. */
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

	if (calls->open.count > count || (count && frames[0].code == CODE_LEFT_OUT))
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
static void draw_outer(const struct model *model, const struct timeline_calls *calls, uint32_t thread,
		       struct drawing *drawing)
{
	const struct model_thread *of = &model->threads[thread];
	struct open_calls traced = {.next = of->first_pycall, .end = of->first_pycall + of->pycalls};
	struct open_frame frames[DEPTH_MAX];
	uint32_t before = NONE;

	for (uint32_t i = calls->first[thread]; i != NONE; i = calls->next[i]) {
		uint64_t start_ns = model->calls[i].start_ns, end_ns = call_end(model, calls, i);
		uint32_t count;

		advance(model, &traced, start_ns);
		if (traced.open.count && traced.open.items[0] == before)
			continue;
		count = frames_before(model, &traced, frames, frames_of(model, &model->calls[i], frames));
		if (count == NONE)
			continue;
		before = traced.open.count ? traced.open.items[0] : NONE;
		if (before != NONE) {
			start_ns = model->pycalls[before].start_ns;
			end_ns = model->pycalls[before].end_ns;
		}
		note_call(drawing, frames, count, start_ns, end_ns);
	}
	array_free(&traced.open);
}

void python_slices_draw(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
			uint32_t thread)
{
	struct drawing drawing = {.slices = slices};

	slices->all.count = 0;
	if (model->threads[thread].pycalls)
		draw_outer(model, calls, thread, &drawing);
	else
		draw_from_stacks(model, calls, thread, &drawing);
}

void python_slices_free(struct python_slices *slices)
{
	array_free(&slices->all);
}

bool traced_slices_next(struct traced_slices *traced, const struct model *model, uint32_t thread,
			struct python_slice *slice)
{
	const struct model_thread *of = &model->threads[thread];
	const struct model_span *calls, *call;

	if (traced->next >= of->pycalls)
		return false;
	calls = &model->pycalls[of->first_pycall];
	call = &calls[traced->next];
	/* By nesting in time: ends come before begins where both are the same. */
	while (traced->open.count && calls[traced->open.items[traced->open.count - 1]].end_ns < call->end_ns)
		traced->open.count--;
	*slice = (struct python_slice){
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
		.code = call->code,
		.parent = traced->open.count ? traced->open.items[traced->open.count - 1] : NONE,
		.end_unseen = call->truncated,
	};
	array_push(&traced->open, traced->next);
	traced->next++;
	return true;
}

void traced_slices_free(struct traced_slices *traced)
{
	array_free(&traced->open);
}
