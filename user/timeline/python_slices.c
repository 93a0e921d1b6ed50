/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draws slices from the stacks of calls. */
#include "timeline/python_slices.h"

#include <stdlib.h>

#include "timeline/members.h"

/* No code object: frames that were not recorded. */
#define CODE_LEFT_OUT NONE
#define DEPTH_MAX (2 * GPT_PYSTACK_MAX_FRAMES + 1u) /* each may be a call of a module */

void python_slices_begin(struct python_slices *slices, uint32_t thread_count)
{
	slices->threads = xcalloc(thread_count, sizeof(*slices->threads));
	slices->thread_count = thread_count;
	for (uint32_t i = 0; i < thread_count; i++)
		slices->threads[i].stack = NONE;
}

void python_slices_free(struct python_slices *slices)
{
	for (uint32_t i = 0; i < slices->thread_count; i++) {
		array_free(&slices->threads[i].frames);
		array_free(&slices->threads[i].functions);
	}
	free(slices->threads);
	array_free(&slices->drawn);
	array_free(&slices->traced_open);
}

struct frame {
	uint32_t code, line;
	uint32_t module; /* model.modules: a call of that, around its function; NONE */
};

/* Puts the module that a frame of a stack is a call of, if it is one; *next: of the stack's modules, outermost first.
 */
static uint32_t put_module(const struct model *model, const struct model_stack *stack, uint32_t frame, uint32_t *next,
			   struct frame *to)
{
	while (*next < stack->module_count) {
		const struct model_stack_module *module = &model->stack_modules[stack->first_module + *next];

		if (module->frame != NONE && module->frame != frame)
			break;
		++*next;
		if (module->frame == NONE)
			continue;
		*to = (struct frame){.code = NONE, .module = module->module};
		return 1;
	}
	return 0;
}

/* The frames of a stack, outermost first; with_modules: and modules. */
static uint32_t frames_of(const struct model *model, uint32_t index, bool with_modules, struct frame *frames)
{
	const struct model_stack *stack;
	uint32_t depth, count = 0, modules = 0;

	if (index == NONE)
		return 0;
	stack = &model->stacks[index];
	depth = stack->depth < GPT_PYSTACK_MAX_FRAMES ? stack->depth : GPT_PYSTACK_MAX_FRAMES;
	if (stack->missing && stack->gap >= depth)
		frames[count++] = (struct frame){.code = CODE_LEFT_OUT, .module = NONE};
	for (uint32_t i = depth; i-- > 0;) {
		const struct model_frame *frame = &model->frames[model->stack_frames[stack->first + i]];

		count += with_modules ? put_module(model, stack, i, &modules, &frames[count]) : 0;
		frames[count++] = (struct frame){.code = frame->code, .line = frame->line, .module = NONE};
		if (stack->missing && stack->gap == i)
			frames[count++] = (struct frame){.code = CODE_LEFT_OUT, .module = NONE};
	}
	return count;
}

/* The call's stack, unless it is inherited: then its frames run on another thread. */
static uint32_t own_stack(const struct model_call *call)
{
	return call->stack_state == GPT_STACK_BACKWARD ? NONE : call->stack;
}

/*
 * How many of the open frames are still running: a frame of the same function may have moved to another line, and then
 * the functions it had called before have returned.
 */
static uint32_t frames_kept(struct python_thread *thread, const struct frame *frames, uint32_t count)
{
	uint32_t kept = 0;

	while (kept < count && kept < thread->frames.count && thread->frames.items[kept].code == frames[kept].code &&
	       thread->frames.items[kept].module == frames[kept].module) {
		bool same_line = thread->frames.items[kept].line == frames[kept].line;

		thread->frames.items[kept].line = frames[kept].line;
		kept++;
		if (!same_line)
			break;
	}
	return kept;
}

static void close_frames(struct python_slices *slices, struct python_thread *thread, uint32_t kept)
{
	for (size_t i = kept; i < thread->frames.count; i++)
		slices->drawn.items[thread->frames.items[i].place].end_ns = thread->end_ns;
	thread->frames.count = kept;
}

/* The id of the innermost open function. */
static uint64_t innermost_id(const struct python_slices *slices, const struct python_thread *thread)
{
	for (size_t i = thread->frames.count; i-- > 0;)
		if (thread->frames.items[i].module == NONE)
			return slices->drawn.items[thread->frames.items[i].place].id;
	return 0;
}

static void note_call(struct python_slices *slices, struct python_thread *thread, const struct frame *frames,
		      uint32_t count, uint64_t start_ns, uint64_t end_ns)
{
	close_frames(slices, thread, frames_kept(thread, frames, count));
	for (uint32_t i = (uint32_t)thread->frames.count; i < count; i++) {
		struct python_slice slice = {
			.start_ns = start_ns,
			.id = frames[i].module == NONE ? ++slices->last_id : 0,
			.parent = innermost_id(slices, thread),
			.code = frames[i].code,
			.module = frames[i].module,
		};
		struct open_frame open = {.code = frames[i].code,
					  .line = frames[i].line,
					  .module = frames[i].module,
					  .place = (uint32_t)slices->drawn.count};

		array_push(&thread->frames, open);
		array_push(&slices->drawn, slice);
	}
	thread->end_ns = end_ns;
}

static void draw_from_stacks(struct python_slices *slices, const struct model *model,
			     const struct timeline_calls *calls, uint32_t index)
{
	struct python_thread *thread = &slices->threads[index];
	uint32_t end = in_part_end(&model->calls_in_part, model->call_count);
	struct frame frames[DEPTH_MAX];

	for (uint32_t i = calls->first[index]; i != NONE && i < end; i = call_next(calls, i)) {
		const struct model_call *call = &model->calls[i];
		uint32_t stack = own_stack(call);

		if (stack == thread->stack)
			thread->end_ns = call_end(model, calls, i);
		else
			note_call(slices, thread, frames, frames_of(model, stack, true, frames), call->start_ns,
				  call_end(model, calls, i));
		thread->stack = stack;
	}
}

/* ---- threads whose calls were traced ------------------------------------------------------------------------ */

/* The traced calls that are open at a time, outermost first: by index in model.pycalls, in slices->traced_open. */
struct open_calls {
	uint32_t next, end; /* of this thread */
};

static void advance_calls(struct python_slices *slices, const struct model *model, struct open_calls *calls,
			  uint64_t time_ns)
{
	const struct model_span *pycalls = model->pycalls;
	size_t *open = &slices->traced_open.count;

	for (; calls->next < calls->end && pycalls[calls->next].start_ns <= time_ns; calls->next++) {
		while (*open && pycalls[slices->traced_open.items[*open - 1]].end_ns <= pycalls[calls->next].start_ns)
			--*open;
		array_push(&slices->traced_open, calls->next);
	}
	while (*open && pycalls[slices->traced_open.items[*open - 1]].end_ns < time_ns)
		--*open;
}

/* How many outer frames of a stack are of functions entered before the trace; NONE: not known. */
static uint32_t frames_before(const struct python_slices *slices, const struct model *model, const struct frame *frames,
			      uint32_t count)
{
	uint32_t outer, open = (uint32_t)slices->traced_open.count;

	if (open > count || (count && frames[0].code == CODE_LEFT_OUT))
		return NONE;
	outer = count - open;
	return value_of_first(open, i, model->pycalls[slices->traced_open.items[i]].code != frames[outer + i].code,
			      NONE, outer);
}

/* The outermost traced function around the last call was open at the end of the previous part: updates its end. */
static void follow_around(struct python_thread *thread, const struct model *model, const struct model_thread *of)
{
	for (uint32_t i = 0; i < of->pycalls && model->pycalls[of->first_pycall + i].continued; i++) {
		const struct model_span *span = &model->pycalls[of->first_pycall + i];

		if (span->number != thread->around_number)
			continue;
		thread->end_ns = span_end(model, span);
		thread->around_open = span->open;
		return;
	}
	thread->around_open = false;
}

static void note_outer(struct python_slices *slices, struct python_thread *thread, const struct model *model,
		       const struct frame *frames, uint32_t outer, uint64_t start_ns, uint64_t end_ns)
{
	const struct model_span *around =
		slices->traced_open.count ? &model->pycalls[slices->traced_open.items[0]] : NULL;

	thread->around = around;
	thread->around_open = around && around->open;
	if (around) {
		thread->around_number = around->number;
		start_ns = around->start_ns;
		end_ns = span_end(model, around);
	}
	note_call(slices, thread, frames, outer, start_ns, end_ns);
}

/*
 * Functions open before the trace: drawn from stacks, too, but from the start to the end of the outermost traced call
 * around each CUDA call, so that they enclose it.
 */
static void draw_outer(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
		       uint32_t index)
{
	const struct model_thread *of = &model->threads[index];
	struct python_thread *thread = &slices->threads[index];
	struct open_calls traced = {.next = of->first_pycall, .end = of->first_pycall + of->pycalls};
	uint32_t end = in_part_end(&model->calls_in_part, model->call_count);
	struct frame frames[DEPTH_MAX];

	slices->traced_open.count = 0;
	for (uint32_t i = calls->first[index]; i != NONE && i < end; i = call_next(calls, i)) {
		const struct model_call *call = &model->calls[i];
		uint32_t outer;

		advance_calls(slices, model, &traced, call->start_ns);
		if (slices->traced_open.count && thread->around &&
		    model->pycalls[slices->traced_open.items[0]].number == thread->around_number)
			continue;
		outer = frames_before(slices, model, frames, frames_of(model, own_stack(call), false, frames));
		if (outer != NONE)
			note_outer(slices, thread, model, frames, outer, call->start_ns, call_end(model, calls, i));
	}
}

/* ---- a part ---------------------------------------------------------------------------------------------------- */

static void resume_frames(struct python_slices *slices, struct python_thread *thread)
{
	for (size_t i = 0; i < thread->frames.count; i++) {
		thread->frames.items[i].place = (uint32_t)slices->drawn.count;
		array_push(&slices->drawn, thread->frames.items[i].slice);
	}
}

/* Moves slices that are still open out of `drawn`. */
static void suspend_frames(struct python_slices *slices, struct python_thread *thread)
{
	size_t open = 0, kept = 0;

	for (size_t i = 0; i < slices->drawn.count; i++) {
		if (open < thread->frames.count && thread->frames.items[open].place == i)
			thread->frames.items[open++].slice = slices->drawn.items[i];
		else
			slices->drawn.items[kept++] = slices->drawn.items[i];
	}
	slices->drawn.count = kept;
}

void python_slices_draw(struct python_slices *slices, const struct model *model, const struct timeline_calls *calls,
			uint32_t index, bool last)
{
	const struct model_thread *of = &model->threads[index];
	struct python_thread *thread = &slices->threads[index];

	slices->drawn.count = 0;
	if (thread->around_open)
		follow_around(thread, model, of);
	if (calls->first[index] == NONE && !last)
		return;
	resume_frames(slices, thread);
	if (of->pycalls || of->pycalls_elsewhere)
		draw_outer(slices, model, calls, index);
	else
		draw_from_stacks(slices, model, calls, index);
	if (last)
		close_frames(slices, thread, 0);
	else
		suspend_frames(slices, thread);
}
