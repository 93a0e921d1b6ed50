/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The Python stack of the calling thread: finds its thread state, walks its frames, and sends each stack and code
 * object the first time it occurs.
 */
#pragma once

#include "common.bpf.h"
#include "python_code.bpf.h"
#include "python_frames.bpf.h"
#include "python_thread.bpf.h"
#include "slot.bpf.h"

#ifndef GPT_USER_SPACE

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_STACKS);
	__type(key, __u64); /* gpt_pystack.id or gpt_native_stack.id */
	__type(value, __u8);
} stacks SEC(".maps") __attribute__((weak));

static __always_inline bool stack_is_known(__u64 id)
{
	return bpf_map_lookup_elem(&stacks, &id) != 0;
}

/* Key and value are passed in place, not copied to the BPF stack: hardly any of its 512 bytes are left here. */
static __always_inline void stack_remember(const struct gpt_pystack *stack)
{
	bpf_map_update_elem(&stacks, &stack->id, &stack->depth, BPF_ANY);
}

#endif

/*
 * Finds the innermost frame from the copy of the thread state; 0: the thread executes no Python. In 3.12 the entry
 * frames and the _PyCFrame are neighbours, as both are locals of _PyEval_EvalFrameDefault: one read gets both.
 */
static __always_inline long walk_first_frame(struct walk *walk, __u64 tstate)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	__u64 frame_at = layout->ts_frame, current_at = layout->cframe_current_frame, word;

	BOUND(frame_at, SLOT_TSTATE - 1);
	word = load64(walk->slot->tstate, frame_at);
	progress->around = 0;
	progress->base = tstate + layout->ts_base_frame;
	if (layout->walk == GPT_PY_WALK_CFRAME && !layout->owner_skip) /* 3.11: no frame is next to it */
		return tstate_frame(layout, word, &progress->frame);
	if (layout->walk == GPT_PY_WALK_CFRAME) {
		BOUND(current_at, SLOT_AROUND / 4 - 1);
		if (bpf_probe_read_user(walk->slot->around, SLOT_AROUND, (void *)(word - SLOT_AROUND / 2)))
			return tstate_frame(layout, word, &progress->frame);
		progress->around = word - SLOT_AROUND / 2;
		word = load64(walk->slot->around, SLOT_AROUND / 2 + current_at);
	}
	progress->frame = word == progress->base ? 0 : word;
	return 0;
}

static __always_inline void walk_run(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	const __u8 *tstate = walk->slot->tstate;
	__u64 chunk_at = layout->ts_datastack_chunk;

	if (layout->walk == GPT_PY_WALK_OBJECTS) {
		LOOP_SHORT(AT_MOST(walk->slot->steps_most, MAX_STEPS), walk_objects, walk);
		return;
	}
	BOUND(chunk_at, SLOT_TSTATE - 1);
	progress->chunk = load64(tstate, chunk_at);
	progress->chunk_bytes = load64(tstate, chunk_at + 16) - progress->chunk;
	if (has_shape(layout, shape_312))
		LOOP_SHORT(AT_MOST(walk->slot->steps_most, MAX_STEPS), walk_frames_312, walk);
	else if (has_shape(layout, shape_314))
		LOOP_SHORT(AT_MOST(walk->slot->steps_most, MAX_STEPS), walk_frames_314, walk);
	else if (has_shape(layout, shape_311))
		LOOP_SHORT(AT_MOST(walk->slot->steps_most, MAX_STEPS), walk_frames_311, walk);
	else
		LOOP(AT_MOST(walk->slot->steps_most, MAX_STEPS), walk_frames_other, walk);
}

/*
 * Orders the frames of a stack that is too deep: the innermost frames, then an entry with the number of frames left
 * out, then the outermost frames. Returns the number of entries.
 */
static __noinline __u32 stack_order(struct walk_slot *slot)
{
	enum { FIRST = GPT_PYSTACK_MAX_FRAMES - GPT_PYSTACK_OUTER_FRAMES };
	__u32 depth = slot->progress.depth, ring_from = slot->progress.ring_from;
	struct gpt_pyframe *outer = (struct gpt_pyframe *)slot->window;
	__u64 *selves = (__u64 *)(outer + GPT_PYSTACK_OUTER_FRAMES);

	if (slot->progress.frame) /* the walk stopped early: the ring does not hold the outermost frames */
		return GPT_PYSTACK_MAX_FRAMES;
	for (__u32 i = 0; i < GPT_PYSTACK_OUTER_FRAMES; i++) {
		__u32 at = depth - GPT_PYSTACK_OUTER_FRAMES + i;

		if (ring_from && at >= ring_from)
			at = SLOT_RING_FIRST + (at & (SLOT_RING - 1));
		outer[i] = slot->frames[at & (SLOT_FRAMES - 1)];
		selves[i] = slot->selves[at & (SLOT_FRAMES - 1)];
	}
	for (__u32 i = 0; i < GPT_PYSTACK_OUTER_FRAMES; i++) {
		slot->frames[FIRST + i] = outer[i];
		slot->selves[FIRST + i] = selves[i];
	}
	slot->frames[FIRST - 1] = (struct gpt_pyframe){.lasti = depth - (GPT_PYSTACK_MAX_FRAMES - 1)};
	return GPT_PYSTACK_MAX_FRAMES;
}

/* Sends a new stack, after the code objects it names. Returns enum gpt_stack_state. */
static __noinline long stack_send(struct gpt_process_state *process, struct walk_slot *slot, __u32 pid, __u64 id,
				  __u32 age)
{
	struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;
	__u64 bytes;

	if (unlikely(ring_is_short()))
		return GPT_STACK_LOWERED;
	if (!codes_send(process, slot, stack->depth, age)) {
		count_one(GPT_COUNTER_STACKS_LOST);
		return GPT_STACK_LOST;
	}
	bytes = stack->depth + slot->send.modules;
	if (slot->send.modules)
		stack->hdr.flags |= GPT_PYSTACK_MODULES;
	BOUND(bytes, 2 * SLOT_FRAMES - 1);
	bytes = sizeof(struct gpt_pystack) + bytes * sizeof(struct gpt_pyframe);
	if (bytes > sizeof(struct gpt_pystack) + SLOT_FRAMES * sizeof(struct gpt_pyframe))
		return GPT_STACK_LOST;
	stack->hdr.size = bytes;
	stack->id = id;
	stack->pid = pid;
	if (RING_OUTPUT(slot->stack, bytes, BPF_RB_NO_WAKEUP)) {
		count_one(GPT_COUNTER_STACKS_LOST);
		return GPT_STACK_LOST;
	}
	if (!slot->send.unread)
		stack_remember(stack);
	return GPT_STACK_OK;
}

/* Sets the walk to the thread's innermost frame, 0 if it has none. Returns enum gpt_stack_state. */
static __always_inline long walk_begin(struct walk *walk, struct gpt_process_state *process,
				       struct gpt_thread_state *thread, __u64 sp)
{
	bool several = process->several;
	long state = GPT_STACK_OK;

	if (unlikely(several))
		thread->tstate = thread->searched = 0;
	if (unlikely(!tstate_read(walk->layout, thread, walk->slot, false))) {
		state = tstate_find(process, thread, walk->slot, sp);
		if (state != GPT_STACK_OK)
			return state;
		several = true; /* the search was just made */
		if (!tstate_read(walk->layout, thread, walk->slot, true))
			return GPT_STACK_UNREADABLE;
	}
	if (walk_first_frame(walk, thread->tstate))
		return GPT_STACK_UNREADABLE;
	if (likely(walk->slot->progress.frame) || several || !tstate_was_made(process, thread))
		return GPT_STACK_OK;
	state = tstate_find(process, thread, walk->slot, sp);
	if (state != GPT_STACK_OK)
		return state;
	if (!tstate_read(walk->layout, thread, walk->slot, true) || walk_first_frame(walk, thread->tstate))
		return GPT_STACK_UNREADABLE;
	return GPT_STACK_OK;
}

/* All of a stack's modules have the generation that is in its hash, though the collector may change it meanwhile. */
static __always_inline void modules_begin(struct walk_progress *progress, const struct gpt_process_state *process)
{
	__u64 code = *(const volatile __u64 *)&process->module_code;

	progress->module_generation = *(const volatile __u32 *)&process->module_generation;
	progress->module_code = code | !code;
	progress->module_salt = progress->module_generation * 0xd6e8feb86659fd93ULL;
}

/*
 * Walks the Python stack of the calling thread: returns enum gpt_stack_state and sets *id (0 unless GPT_STACK_OK). The
 * caller owns `slot`; `sp` is the thread's stack pointer.
 */
static __always_inline long python_stack(struct gpt_process_state *process, struct gpt_thread_state *thread,
					 struct walk_slot *slot, __u64 sp, __u64 *id)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};
	struct walk_progress *progress = &slot->progress;
	long state = process->python_state;
	__u32 age = code_age;

	*id = 0;
	if (state != GPT_STACK_OK)
		return state;
	progress->window_bytes = 0;
	progress->failed = 0;
	kept_begin(progress);
	modules_begin(progress, process);
	progress->hash = process->generation * 0xff51afd7ed558ccdULL + age * 0xc2b2ae3d27d4eb4fULL + thread->pid;
	state = walk_begin(&walk, process, thread, sp);
	if (state == GPT_STACK_OK)
		walk_run(&walk);
	if (state == GPT_STACK_UNREADABLE || progress->failed) {
		count_one(GPT_COUNTER_READ_FAULTS);
		return GPT_STACK_UNREADABLE;
	}
	if (state != GPT_STACK_OK)
		return state;
	if (!progress->depth)
		return GPT_STACK_EMPTY;
	bool truncated = progress->depth > GPT_PYSTACK_MAX_FRAMES || progress->frame;
	__u64 hash = progress->hash | 1;

	if (unlikely(truncated))
		count_one(GPT_COUNTER_STACK_TRUNCATED);
	if (unlikely(process->unsure || !stack_is_known(hash))) {
		struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;

		stack->hdr.type = GPT_PYSTACK;
		stack->hdr.flags = truncated ? GPT_PYSTACK_TRUNCATED : 0;
		stack->depth = progress->depth > GPT_PYSTACK_MAX_FRAMES ? stack_order(slot) : progress->depth;
		state = stack_send(process, slot, thread->pid, hash, age);
		if (state != GPT_STACK_OK)
			return state;
	}
	*id = hash;
	return GPT_STACK_OK;
}
