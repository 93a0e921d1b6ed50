/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Python stack of the calling thread: finds its thread state, copies the frames in as few reads as can be,
 * walks them in the copy, and sends stack and code objects the first time they are met.
 *
 * A read of target memory costs about 33 ns whatever its size and a failing one 450 ns (docs/architecture.md),
 * so frames are read in windows that are clipped to the interpreter's own stack chunk.
 */
#ifndef GPUTRACE_PYTHON_BPF_H
#define GPUTRACE_PYTHON_BPF_H

#include "common.bpf.h"
#include "loop.bpf.h"
#include "slot.bpf.h"
#include "python_code.bpf.h"

#define MAX_INTERPRETER_THREADS 16384 /* thread states looked through for one of ours */
#define MAX_STEPS 4096		      /* of 8 or 16 frames: a list that goes on is not one of the interpreter's */

/* Of a stack that is too deep the innermost frames are kept, and in a ring behind them the last ones met. */
#define RING_FRAMES GPT_PYSTACK_OUTER_FRAMES
#define RING_FIRST (GPT_PYSTACK_MAX_FRAMES - RING_FRAMES)
_Static_assert(!(RING_FRAMES & (RING_FRAMES - 1)) && RING_FIRST % RING_FRAMES == 0, "the ring's index is a mask");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_STACKS);
	__type(key, __u64); /* gpt_pystack.id or gpt_native_stack.id */
	__type(value, __u8);
} stacks SEC(".maps") __attribute__((weak));

#define FRAME_OWNED_BY_THREAD 0 /* pycore_frame.h, 3.11 to 3.15 */

static __always_inline __u64 load64(const __u8 *bytes, __u32 offset)
{
	return *(const __u64 *)(bytes + offset);
}

/* Up to where nothing has to be known of a frame to know its place. */
static __always_inline __u32 plain_frames(const struct walk *walk)
{
	return walk->process->shim_code ? 0 : RING_FIRST - 1;
}

/* Where the frame that is `depth` frames away from the innermost is kept; -1: nowhere, as nobody is to see it. */
static __always_inline __s32 frame_index(__u32 depth, __u32 plain, __u64 code, const struct walk *walk)
{
	if (likely(depth < plain))
		return depth;
	if (code == walk->process->shim_code)
		return -1;
	if (depth >= GPT_PYSTACK_MAX_FRAMES)
		depth = RING_FIRST | (depth & (RING_FRAMES - 1));
	return depth;
}

static __always_inline __u64 hash_frame(__u64 hash, __u64 code, __u64 lasti)
{
	hash = (hash ^ (code + (lasti << 40))) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

#define OBJECTS_PER_STEP 8

/* ---- frames up to 3.10: objects on a linked list, one read each ----------------------------- */

static __always_inline long walk_objects(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	__u8 *window = walk->slot->window;
	__u64 first = layout->frame_back, bytes = layout->frame_instr + 4ULL - first;
	__u64 code_at = layout->frame_code - first, lasti_at = layout->frame_instr - first;
	__u64 frame = progress->frame, hash = progress->hash;
	__u32 depth = progress->depth, scale = layout->lasti_scale == 2;

	BOUND(bytes, 0x1ff);
	BOUND(code_at, 0xff);
	BOUND(lasti_at, 0xff);
#pragma unroll
	for (int i = 0; i < OBJECTS_PER_STEP; i++) {
		if (!frame)
			break;
		if (bpf_probe_read_user(window, bytes, (void *)(frame + first))) {
			progress->failed = 1;
			frame = 0;
			break;
		}
		__u64 code = load64(window, code_at);
		struct gpt_pyframe *kept = &walk->slot->frames[frame_index(depth, RING_FIRST - 1, code, walk) &
							       (GPT_PYSTACK_MAX_FRAMES - 1)];
		__s32 lasti = *(__s32 *)(window + lasti_at);

		if (lasti > 0)
			lasti <<= scale;
		kept->code = code;
		kept->lasti = lasti;
		kept->pad = 0;
		hash = hash_frame(hash, code, (__u32)lasti);
		depth++;
		frame = load64(window, 0);
	}
	progress->frame = frame;
	progress->hash = hash;
	progress->depth = depth;
	return !frame;
}
LOOP_STEP(walk_objects)

/* ---- frames from 3.11: structures in the chunks of the thread's data stack ------------------ */

/* Moves on to the chunk before when the frame lies there. */
static __always_inline void walk_find_chunk(struct walk_progress *progress, const struct gpt_pylayout *layout)
{
	__u64 previous = 0, bytes = 0;

	if (!progress->chunk)
		return;
	if (bpf_probe_read_user(&previous, 8, (void *)(progress->chunk + layout->chunk_previous)) || !previous)
		return;
	if (bpf_probe_read_user(&bytes, 8, (void *)(previous + layout->chunk_size)))
		return;
	if (progress->frame - previous < bytes) {
		progress->chunk = previous;
		progress->chunk_bytes = bytes;
	}
}

static __always_inline bool in_chunk(const struct walk_progress *progress)
{
	return progress->frame - progress->chunk < progress->chunk_bytes;
}

static __always_inline long walk_read(struct walk *walk, __u64 first, __u64 bytes)
{
	BOUND(bytes, SLOT_WINDOW - 1);
	if (bpf_probe_read_user(walk->slot->window, bytes, (void *)first))
		return -1;
	walk->slot->progress.window = first;
	walk->slot->progress.window_bytes = bytes;
	return 0;
}

/* Copies the window that ends with the frame, as far down as the chunk goes. */
static __always_inline long walk_read_chunk(struct walk *walk, __u64 need)
{
	const struct walk_progress *progress = &walk->slot->progress;
	__u64 room = progress->frame - progress->chunk - walk->layout->chunk_data, most = SLOT_WINDOW - 8 - need;

	if (room > most)
		room = most;
	return walk_read(walk, progress->frame - room, room + need);
}

/*
 * A frame outside the chunk is most often one of a kind: a generator's, in its object, or the interpreter's own
 * on the C stack. Only one that is the thread's lies in the chunk before.
 */
static __always_inline long walk_fill(struct walk *walk, __u64 need)
{
	struct walk_progress *progress = &walk->slot->progress;
	__u64 owner_at = walk->layout->frame_owner;

	if (in_chunk(progress))
		return walk_read_chunk(walk, need);
	if (walk_read(walk, progress->frame, need))
		return -1;
	BOUND(owner_at, SLOT_FIELDS - 1);
	if (walk->slot->window[owner_at] != FRAME_OWNED_BY_THREAD)
		return 0;
	walk_find_chunk(progress, walk->layout);
	return in_chunk(progress) ? walk_read_chunk(walk, need) : 0;
}

/* Where things are in a frame. Constants where the version's layout is a usual one: half the price of a walk. */
struct frame_shape {
	__u32 code, back, instr, owner, size;
	__u32 owner_skip; /* as gpt_pylayout */
	__u64 code_mask;  /* without the tag of a _PyStackRef (3.14 and later, pycore_stackref.h) */
};

#define STACKREF_MASK (~7ULL)

#define FRAMES_PER_STEP 20 /* frames walked in one call of the loop's body */

/*
 * The frames of one window, as many as a step takes. Whoever is not in the window any more is left to the next
 * step, which begins with another one.  An instruction is kept as its distance from the code object: what lies
 * before the first one is taken off when the stack is sent.
 */
static __always_inline long walk_frames(struct walk *walk, const struct frame_shape shape)
{
	struct walk_slot *slot = walk->slot;
	struct walk_progress *progress = &slot->progress;
	__u64 frame = progress->frame, hash = progress->hash, at = frame - progress->window, window, last;
	__u32 depth = progress->depth, plain = plain_frames(walk), owner_skip = shape.owner_skip;

	if (!frame)
		return 1;
	if ((at + shape.size > progress->window_bytes || at >= SLOT_WINDOW) && walk_fill(walk, shape.size)) {
		progress->failed = 1;
		return 1;
	}
	window = progress->window;
	last = progress->window_bytes - shape.size; /* walk_fill reads a whole frame at least */
#pragma unroll
	for (int i = 0; i < FRAMES_PER_STEP; i++) {
		at = frame - window;
		if (at > last)
			break;
		BOUND(at, SLOT_WINDOW - 1);
		const __u8 *copy = slot->window + at;
		__u64 code = load64(copy, shape.code) & shape.code_mask, instr = load64(copy, shape.instr);
		__u64 lasti = (__u32)(instr - code);
		__s32 index;

		frame = load64(copy, shape.back);
		if (owner_skip && copy[shape.owner] >= owner_skip)
			continue;
		index = frame_index(depth, plain, code, walk);
		if (unlikely(index < 0))
			continue;
		struct gpt_pyframe *kept = &slot->frames[index & (GPT_PYSTACK_MAX_FRAMES - 1)];

		kept->code = code;
		*(__u64 *)&kept->lasti = lasti; /* and the padding after it */
		hash = hash_frame(hash, code, lasti);
		depth++;
	}
	progress->frame = frame;
	progress->hash = hash;
	progress->depth = depth;
	/* Most stacks end in one of the interpreter's own frames, outside the chunk: not worth a step of the loop. */
	if (frame && owner_skip && !in_chunk(progress)) {
		const __u8 *copy = slot->window;

		at = frame - progress->around;
		if (at < SLOT_AROUND - shape.size) {
			BOUND(at, SLOT_AROUND - 1);
			copy = slot->around + at;
		} else if (walk_read(walk, frame, shape.size)) {
			progress->failed = 1;
			return 1;
		}
		if (copy[shape.owner] >= owner_skip) {
			progress->frame = frame = load64(copy, shape.back);
		} else if (copy[shape.owner] == FRAME_OWNED_BY_THREAD) {
			walk_find_chunk(progress, walk->layout);
			progress->window_bytes = 0;
		}
	}
	return !frame;
}

/* _PyInterpreterFrame of 3.14 and 3.15 (pycore_interpframe_structs.h) */
static const struct frame_shape shape_314 = {
	.code = 0, .back = 8, .instr = 56, .owner = 74, .size = 80, .owner_skip = 3, .code_mask = STACKREF_MASK};
/* ... of 3.12 and 3.13 (pycore_frame.h) */
static const struct frame_shape shape_312 = {
	.code = 0, .back = 8, .instr = 56, .owner = 70, .size = 72, .owner_skip = 3, .code_mask = ~0ULL};
/* ... and of 3.11 */
static const struct frame_shape shape_311 = {
	.code = 32, .back = 48, .instr = 56, .owner = 69, .size = 72, .owner_skip = 0, .code_mask = ~0ULL};

static __always_inline bool has_shape(const struct gpt_pylayout *layout, const struct frame_shape shape)
{
	return layout->frame_code == shape.code && layout->frame_back == shape.back &&
	       layout->frame_instr == shape.instr && layout->frame_owner == shape.owner &&
	       layout->frame_localsplus == shape.size && layout->owner_skip == shape.owner_skip;
}

static __always_inline long walk_frames_314(struct walk *walk)
{
	return walk_frames(walk, shape_314);
}
LOOP_STEP(walk_frames_314)

static __always_inline long walk_frames_312(struct walk *walk)
{
	return walk_frames(walk, shape_312);
}
LOOP_STEP(walk_frames_312)

static __always_inline long walk_frames_311(struct walk *walk)
{
	return walk_frames(walk, shape_311);
}
LOOP_STEP(walk_frames_311)

static __always_inline long walk_frames_other(struct walk *walk)
{
	const struct gpt_pylayout *layout = walk->layout;
	struct frame_shape shape = {
		.code = layout->frame_code & (SLOT_FIELDS - 1),
		.back = layout->frame_back & (SLOT_FIELDS - 1),
		.instr = layout->frame_instr & (SLOT_FIELDS - 1),
		.owner = layout->frame_owner & (SLOT_FIELDS - 1),
		.size = layout->frame_localsplus & (SLOT_FIELDS - 1),
		.owner_skip = layout->owner_skip,
		.code_mask = STACKREF_MASK,
	};

	return walk_frames(walk, shape);
}
LOOP_STEP(walk_frames_other)

/* ---- the thread state ------------------------------------------------------------------------ */

/* The innermost frame as a thread state has it, 0: none. */
static __always_inline long tstate_frame(const struct gpt_pylayout *layout, __u64 word, __u64 *frame)
{
	*frame = word;
	if (layout->walk != GPT_PY_WALK_CFRAME)
		return 0;
	return bpf_probe_read_user(frame, 8, (void *)(word + layout->cframe_current_frame));
}

/*
 * Takes note of a thread state that executes something. Which thread executes it is told by thread_id, except that
 * 3.12 and older let any thread run an interpreter through the state of another: there the C stack tells (ts_cframe),
 * and where that cannot, nothing does.
 */
static __always_inline void find_note(struct find_progress *progress, const struct gpt_pylayout *layout, __u64 tstate,
				      bool ours)
{
	__u64 word = 0, frame = 0;

	if (bpf_probe_read_user(&word, 8, (void *)(tstate + layout->ts_frame)) || tstate_frame(layout, word, &frame) ||
	    !frame || frame == tstate + layout->ts_base_frame)
		return;
	if (progress->several && layout->ts_cframe) {
		/* The lowest one is innermost. */
		if (bpf_probe_read_user(&word, 8, (void *)(tstate + layout->ts_cframe)) ||
		    word - progress->stack >= progress->stack_bytes)
			return;
		progress->stack_bytes = word - progress->stack;
		progress->active_other = tstate;
	} else if (!progress->interpreter) { /* the last in the list is the main interpreter */
		if (ours && !progress->active_main)
			progress->active_main = tstate;
	} else {
		progress->other_runs = 1;
		if (ours && progress->active_other)
			progress->ambiguous = 1;
		if (ours)
			progress->active_other = tstate;
	}
}

/* One interpreter's head of list, or one thread state. */
static __always_inline long find_tstate(struct walk *walk)
{
	struct find_progress *progress = &walk->slot->find;
	const struct gpt_pylayout *layout = walk->layout;
	__u64 id = 0, next = 0, tstate = progress->tstate, interpreter = progress->interpreter;

	if (!tstate) {
		if (!interpreter)
			return 1;
		if (bpf_probe_read_user(&tstate, 8, (void *)(interpreter + layout->interp_threads_head)) ||
		    bpf_probe_read_user(&next, 8, (void *)(interpreter + layout->interp_next)))
			return 1;
		progress->tstate = tstate;
		progress->interpreter = next; /* 0 from now on: these are the main interpreter's */
		progress->several |= next != 0;
		return 0;
	}
	if (bpf_probe_read_user(&id, 8, (void *)(tstate + layout->ts_thread_id)) ||
	    bpf_probe_read_user(&next, 8, (void *)(tstate + layout->ts_next)))
		return 1;
	progress->tstate = next;
	if (id == progress->wanted && !progress->found)
		progress->found = tstate;
	if (id == progress->wanted || progress->several)
		find_note(progress, layout, tstate, id == progress->wanted);
	return progress->active_main && !progress->several;
}
LOOP_STEP(find_tstate)

/* The part of the thread's C stack that is in use. In glibc and musl a thread's control block lies above its stack. */
static __always_inline void find_stack(struct find_progress *progress, __u64 sp, __u64 pthread)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 end = BPF_CORE_READ(task, mm, start_stack);

	if (pthread > sp && (pthread < end || sp > end))
		end = pthread;
	progress->stack = sp;
	progress->stack_bytes = end > sp ? end - sp : 0;
}

/*
 * Looks through the interpreters' lists; remembers also that the thread is not there. Where there are several
 * interpreters a thread may have a state of each: what it executes is what a younger one than the main
 * interpreter was called for.
 */
static __noinline long tstate_find(struct gpt_process_state *process, struct gpt_thread_state *thread,
				   struct walk_slot *slot, __u64 sp)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};
	struct find_progress *progress = &slot->find;
	__u64 interpreter = 0, made = 0;
	bool ended;

	thread->tstate = 0;
	if (bpf_probe_read_user(&interpreter, 8,
				(void *)(process->python.runtime + walk.layout->runtime_interpreters_head)))
		return GPT_STACK_UNREADABLE;
	if (!interpreter)
		return GPT_STACK_NO_THREAD;
	if (walk.layout->interp_next_unique_id)
		bpf_probe_read_user(&made, 8, (void *)(interpreter + walk.layout->interp_next_unique_id));
	if (thread->searched == made + 1)
		return GPT_STACK_NO_THREAD;
	__builtin_memset(progress, 0, sizeof(*progress));
	progress->interpreter = interpreter;
	progress->wanted = thread->pthread;
	find_stack(progress, sp, thread->pthread);
	LOOP(MAX_INTERPRETER_THREADS, find_tstate, &walk);
	/* Threads come and go meanwhile: a list that was left in the middle says nothing about who is not in it. */
	ended = !progress->tstate && !progress->interpreter;
	thread->searched = ended && made && !progress->several ? made + 1 : 0;
	if (progress->several) {
		several_interpreters_note(thread->pid);
		if (!ended)
			return GPT_STACK_UNREADABLE;
		if (progress->ambiguous || (progress->other_runs && walk.layout->walk == GPT_PY_WALK_OBJECTS &&
					    (!progress->active_other || progress->active_main)))
			return GPT_STACK_AMBIGUOUS;
	}
	thread->tstate = progress->active_other ?: progress->active_main ?: progress->found;
	if (thread->tstate)
		return GPT_STACK_OK;
	return ended ? GPT_STACK_NO_THREAD : GPT_STACK_UNREADABLE;
}

/* Copies the thread state into the slot; false when it is not (or no longer) this thread's, unless it was chosen. */
static __always_inline bool tstate_read(const struct gpt_pylayout *layout, const struct gpt_thread_state *thread,
					struct walk_slot *slot, bool chosen)
{
	__u64 id_at = layout->ts_thread_id, bytes = id_at + 8;

	if (!thread->tstate)
		return false;
	if (layout->walk != GPT_PY_WALK_OBJECTS)
		bytes = layout->ts_datastack_chunk + 24ULL; /* chunk, top, limit: the last of what is needed */
	BOUND(bytes, SLOT_TSTATE - 1);
	BOUND(id_at, SLOT_TSTATE - 1);
	if (bpf_probe_read_user(slot->tstate, bytes, (void *)thread->tstate))
		return false;
	return chosen || load64(slot->tstate, id_at) == thread->pthread;
}

/* ---- all together ------------------------------------------------------------------------------ */

/*
 * The innermost frame by the copy of the thread state; 0: the thread executes no Python.  The entry frames of 3.12 lie
 * beside the _PyCFrame, both being locals of _PyEval_EvalFrameDefault: they come with it in one read.
 */
static __always_inline long walk_first_frame(struct walk *walk, __u64 tstate)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	__u64 frame_at = layout->ts_frame, current_at = layout->cframe_current_frame, word;

	BOUND(frame_at, SLOT_TSTATE - 1);
	word = load64(walk->slot->tstate, frame_at);
	progress->around = 0;
	if (layout->walk == GPT_PY_WALK_CFRAME) {
		BOUND(current_at, SLOT_AROUND / 4 - 1);
		if (bpf_probe_read_user(walk->slot->around, SLOT_AROUND, (void *)(word - SLOT_AROUND / 2)))
			return tstate_frame(layout, word, &progress->frame);
		progress->around = word - SLOT_AROUND / 2;
		word = load64(walk->slot->around, SLOT_AROUND / 2 + current_at);
	}
	progress->frame = word == tstate + layout->ts_base_frame ? 0 : word;
	return 0;
}

static __always_inline void walk_run(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	const __u8 *tstate = walk->slot->tstate;
	__u64 chunk_at = layout->ts_datastack_chunk;

	if (layout->walk == GPT_PY_WALK_OBJECTS) {
		LOOP(MAX_STEPS, walk_objects, walk);
		return;
	}
	BOUND(chunk_at, SLOT_TSTATE - 1);
	progress->chunk = load64(tstate, chunk_at);
	progress->chunk_bytes = load64(tstate, chunk_at + 16) - progress->chunk;
	if (has_shape(layout, shape_312))
		LOOP_SHORT(MAX_STEPS, walk_frames_312, walk);
	else if (has_shape(layout, shape_314))
		LOOP_SHORT(MAX_STEPS, walk_frames_314, walk);
	else if (has_shape(layout, shape_311))
		LOOP_SHORT(MAX_STEPS, walk_frames_311, walk);
	else
		LOOP(MAX_STEPS, walk_frames_other, walk);
}

/*
 * Brings the frames of a stack that is too deep into order: the innermost, then one that says how many were left
 * out, then the outermost.  Returns how many entries that makes.
 */
static __noinline __u32 stack_order(struct walk_slot *slot)
{
	struct gpt_pyframe *ring = (struct gpt_pyframe *)slot->window;
	__u32 depth = slot->progress.depth;

	if (slot->progress.frame) /* left in the middle: what the ring holds is not the outer end */
		return RING_FIRST;
	if (bpf_probe_read_kernel(ring, RING_FRAMES * sizeof(*ring), slot->frames + RING_FIRST))
		return RING_FIRST;
	for (__u32 i = 0; i < RING_FRAMES; i++)
		slot->frames[RING_FIRST + i] = ring[(depth + i) & (RING_FRAMES - 1)];
	slot->frames[RING_FIRST - 1] = (struct gpt_pyframe){.lasti = depth - (GPT_PYSTACK_MAX_FRAMES - 1)};
	return GPT_PYSTACK_MAX_FRAMES;
}

/* Sends a stack that was not sent before, after the code objects it names. */
static __noinline long stack_send(struct gpt_process_state *process, struct walk_slot *slot, __u32 pid, __u64 id)
{
	struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;
	__u64 bytes = stack->depth;
	__u8 sent = 1;

	codes_send(process, slot, stack->depth);
	BOUND(bytes, 2 * GPT_PYSTACK_MAX_FRAMES - 1);
	bytes = sizeof(struct gpt_pystack) + bytes * sizeof(struct gpt_pyframe);
	if (bytes > sizeof(struct gpt_pystack) + sizeof(slot->frames))
		return -1;
	stack->hdr.size = bytes;
	stack->id = id;
	stack->pid = pid;
	if (bpf_ringbuf_output(&ring, slot->stack, bytes, BPF_RB_NO_WAKEUP)) {
		account(GPT_ACC_STACKS_LOST);
		return -1;
	}
	bpf_map_update_elem(&stacks, &id, &sent, BPF_ANY);
	return 0;
}

/*
 * Whether a thread state was made since this thread's was looked for: one without frames may be a dead one, left in
 * memory by a PyGILState_Release() whose thread came back with another.
 */
static __always_inline bool tstate_was_made(struct gpt_process_state *process, const struct gpt_thread_state *thread)
{
	const struct gpt_pylayout *layout = &process->python.layout;
	__u64 interpreter = 0, made = 0;

	if (!layout->interp_next_unique_id)
		return true;
	if (bpf_probe_read_user(&interpreter, 8,
				(void *)(process->python.runtime + layout->runtime_interpreters_head)) ||
	    bpf_probe_read_user(&made, 8, (void *)(interpreter + layout->interp_next_unique_id)))
		return false;
	return thread->searched != made + 1;
}

/* Sets the walk to the thread's innermost frame, 0 where it has none; enum gpt_stack_state. */
static __always_inline long walk_begin(struct walk *walk, struct gpt_process_state *process,
				       struct gpt_thread_state *thread, __u64 sp)
{
	bool several = unlikely(any_several) && bpf_map_lookup_elem(&several_interpreters, &thread->pid);
	long state = GPT_STACK_OK;

	if (several)
		thread->tstate = thread->searched = 0;
	if (unlikely(!tstate_read(walk->layout, thread, walk->slot, false))) {
		state = tstate_find(process, thread, walk->slot, sp);
		if (state != GPT_STACK_OK)
			return state;
		several = true; /* looked for just now */
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

/*
 * The Python stack of the calling thread: returns enum gpt_stack_state and sets *id (0 unless GPT_STACK_OK).
 * `slot` is the caller's, `sp` the thread's stack pointer.
 */
static __always_inline long python_stack(struct gpt_process_state *process, struct gpt_thread_state *thread,
					 struct walk_slot *slot, __u64 sp, __u64 *id)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};
	struct walk_progress *progress = &slot->progress;
	long state = process->python_state;

	*id = 0;
	if (state != GPT_STACK_OK)
		return state;
	progress->window_bytes = 0;
	progress->depth = progress->failed = 0;
	progress->hash = process->generation * 0xff51afd7ed558ccdULL + thread->pid;
	state = walk_begin(&walk, process, thread, sp);
	if (state == GPT_STACK_OK)
		walk_run(&walk);
	if (state == GPT_STACK_UNREADABLE || progress->failed) {
		account(GPT_ACC_READ_FAULTS);
		return GPT_STACK_UNREADABLE;
	}
	if (state != GPT_STACK_OK)
		return state;
	if (!progress->depth)
		return GPT_STACK_EMPTY;
	bool cut = progress->depth > GPT_PYSTACK_MAX_FRAMES || progress->frame;
	__u64 hash = progress->hash | 1;

	if (unlikely(cut))
		account(GPT_ACC_STACK_CUT);
	if (unlikely(!bpf_map_lookup_elem(&stacks, &hash))) {
		struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;

		stack->hdr.type = GPT_PYSTACK;
		stack->hdr.flags = cut ? GPT_PYSTACK_CUT : 0;
		stack->depth = progress->depth > GPT_PYSTACK_MAX_FRAMES ? stack_order(slot) : progress->depth;
		if (stack_send(process, slot, thread->pid, hash))
			return GPT_STACK_LOST;
	}
	*id = hash;
	return GPT_STACK_OK;
}

#endif
