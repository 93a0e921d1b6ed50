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
#include "slot.bpf.h"
#include "python_code.bpf.h"

#define MAX_INTERPRETER_THREADS 16384	       /* thread states looked through for one of ours */
#define MAX_STEPS (GPT_PYSTACK_MAX_FRAMES * 2) /* frames and the interpreter's own shims between them */

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_STACKS);
	__type(key, __u64); /* gpt_pystack.id or gpt_native_stack.id */
	__type(value, __u8);
} stacks SEC(".maps") __attribute__((weak));

#define FRAME_OWNED_BY_THREAD 0 /* pycore_frame.h, 3.11 to 3.13 */

struct walk {
	struct walk_slot *slot;
	const struct gpt_pylayout *layout;
};

static __always_inline __u64 load64(const __u8 *bytes, __u32 offset)
{
	return *(const __u64 *)(bytes + offset);
}

static __always_inline __u64 hash_frame(__u64 hash, __u64 code, __u64 lasti)
{
	hash = (hash ^ (code + (lasti << 40))) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

#define OBJECTS_PER_STEP 8

/* ---- frames up to 3.10: objects on a linked list, one read each ----------------------------- */

static long walk_objects(__u32 index, struct walk *walk)
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
		if (unlikely(depth >= GPT_PYSTACK_MAX_FRAMES)) {
			progress->cut = 1;
			frame = 0;
			break;
		}
		if (bpf_probe_read_user(window, bytes, (void *)(frame + first))) {
			progress->failed = 1;
			frame = 0;
			break;
		}
		struct gpt_pyframe *kept = &walk->slot->frames[depth & (GPT_PYSTACK_MAX_FRAMES - 1)];
		__u64 code = load64(window, code_at);
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
};

#define FRAMES_PER_STEP 16 /* frames walked in one call of the loop's body */

/*
 * The frames of one window, as many as a step takes. Whoever is not in the window any more is left to the next
 * step, which begins with another one.
 */
static __always_inline long walk_frames(struct walk *walk, const struct frame_shape shape)
{
	struct walk_slot *slot = walk->slot;
	struct walk_progress *progress = &slot->progress;
	__u64 instructions = walk->layout->code_instructions, frame = progress->frame, hash = progress->hash;
	__u64 at = frame - progress->window, window, window_bytes;
	__u8 owner_skip = walk->layout->owner_skip;
	__u32 depth = progress->depth;

	if (!frame)
		return 1;
	if ((at + shape.size > progress->window_bytes || at >= SLOT_WINDOW) && walk_fill(walk, shape.size)) {
		progress->failed = 1;
		return 1;
	}
	window = progress->window;
	window_bytes = progress->window_bytes;
#pragma unroll
	for (int i = 0; i < FRAMES_PER_STEP; i++) {
		at = frame - window;
		if (at + shape.size > window_bytes || at >= SLOT_WINDOW)
			break;
		BOUND(at, SLOT_WINDOW - 1);
		const __u8 *copy = slot->window + at;
		__u64 code = load64(copy, shape.code), instr = load64(copy, shape.instr);
		__u64 lasti = (__u32)(instr - code - instructions);

		frame = load64(copy, shape.back);
		if (owner_skip && copy[shape.owner] >= owner_skip)
			continue;
		if (unlikely(depth >= GPT_PYSTACK_MAX_FRAMES)) {
			progress->cut = 1;
			frame = 0;
			break;
		}
		struct gpt_pyframe *kept = &slot->frames[depth & (GPT_PYSTACK_MAX_FRAMES - 1)];

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
		if (walk_read(walk, frame, shape.size)) {
			progress->failed = 1;
			return 1;
		}
		if (slot->window[shape.owner] >= owner_skip)
			progress->frame = frame = load64(slot->window, shape.back);
	}
	return !frame;
}

/* _PyInterpreterFrame of 3.12 and 3.13 (pycore_frame.h) */
static const struct frame_shape shape_312 = {.code = 0, .back = 8, .instr = 56, .owner = 70, .size = 72};
/* ... and of 3.11 */
static const struct frame_shape shape_311 = {.code = 32, .back = 48, .instr = 56, .owner = 69, .size = 72};

static __always_inline bool has_shape(const struct gpt_pylayout *layout, const struct frame_shape shape)
{
	return layout->frame_code == shape.code && layout->frame_back == shape.back &&
	       layout->frame_instr == shape.instr && layout->frame_owner == shape.owner &&
	       layout->frame_localsplus == shape.size;
}

static long walk_frames_312(__u32 index, struct walk *walk)
{
	return walk_frames(walk, shape_312);
}

static long walk_frames_311(__u32 index, struct walk *walk)
{
	return walk_frames(walk, shape_311);
}

static long walk_frames_other(__u32 index, struct walk *walk)
{
	const struct gpt_pylayout *layout = walk->layout;
	struct frame_shape shape = {
		.code = layout->frame_code & (SLOT_FIELDS - 1),
		.back = layout->frame_back & (SLOT_FIELDS - 1),
		.instr = layout->frame_instr & (SLOT_FIELDS - 1),
		.owner = layout->frame_owner & (SLOT_FIELDS - 1),
		.size = layout->frame_localsplus & (SLOT_FIELDS - 1),
	};

	return walk_frames(walk, shape);
}

/* ---- the thread state ------------------------------------------------------------------------ */

struct find_tstate {
	struct walk_slot *slot;
	const struct gpt_pylayout *layout;
	__u64 wanted;
};

static long find_tstate_step(__u32 index, struct find_tstate *find)
{
	struct find_progress *progress = &find->slot->find;
	const struct gpt_pylayout *layout = find->layout;
	__u64 id = 0, next = 0, tstate = progress->tstate, interpreter = progress->interpreter;

	if (!tstate) {
		if (!interpreter)
			return 1;
		if (bpf_probe_read_user(&tstate, 8, (void *)(interpreter + layout->interp_threads_head)) ||
		    bpf_probe_read_user(&next, 8, (void *)(interpreter + layout->interp_next)))
			return 1;
		progress->tstate = tstate;
		progress->interpreter = next;
		return 0;
	}
	if (bpf_probe_read_user(&id, 8, (void *)(tstate + layout->ts_thread_id)) ||
	    bpf_probe_read_user(&next, 8, (void *)(tstate + layout->ts_next)))
		return 1;
	if (id == find->wanted) {
		progress->found = tstate;
		return 1;
	}
	progress->tstate = next;
	return 0;
}

/* Looks through the interpreter's list; remembers also that the thread is not there. */
static __noinline long tstate_find(const struct gpt_process_state *process, struct gpt_thread_state *thread,
				   struct walk_slot *slot)
{
	struct find_tstate find = {.slot = slot, .layout = &process->python.layout, .wanted = thread->pthread};
	__u64 interpreter = 0, next_id = 0;

	thread->tstate = 0;
	if (bpf_probe_read_user(&interpreter, 8,
				(void *)(process->python.runtime + find.layout->runtime_interpreters_head)))
		return GPT_STACK_UNREADABLE;
	if (!interpreter)
		return GPT_STACK_NO_THREAD;
	bpf_probe_read_user(&next_id, 8, (void *)(interpreter + find.layout->interp_next_unique_id));
	if (thread->no_tstate_id == next_id + 1)
		return GPT_STACK_NO_THREAD;
	slot->find.interpreter = interpreter;
	slot->find.tstate = slot->find.found = 0;
	bpf_loop(MAX_INTERPRETER_THREADS, find_tstate_step, &find, 0);
	if (!slot->find.found) {
		thread->no_tstate_id = next_id + 1;
		return GPT_STACK_NO_THREAD;
	}
	thread->no_tstate_id = 0;
	thread->tstate = slot->find.found;
	return GPT_STACK_OK;
}

/* Copies the thread state into the slot; false when it is not (or no longer) this thread's. */
static __always_inline bool tstate_read(const struct gpt_pylayout *layout, const struct gpt_thread_state *thread,
					struct walk_slot *slot)
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
	return load64(slot->tstate, id_at) == thread->pthread;
}

/* ---- all together ------------------------------------------------------------------------------ */

static __always_inline long walk_run(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	const __u8 *tstate = walk->slot->tstate;
	__u64 frame_at = layout->ts_frame, chunk_at = layout->ts_datastack_chunk, frame;

	BOUND(frame_at, SLOT_TSTATE - 1);
	frame = load64(tstate, frame_at);
	if (layout->walk == GPT_PY_WALK_CFRAME &&
	    bpf_probe_read_user(&frame, 8, (void *)(frame + layout->cframe_current_frame))) {
		progress->failed = 1;
		return 0;
	}
	progress->frame = frame;
	if (layout->walk == GPT_PY_WALK_OBJECTS)
		return bpf_loop(MAX_STEPS / OBJECTS_PER_STEP, walk_objects, walk, 0);
	BOUND(chunk_at, SLOT_TSTATE - 1);
	progress->chunk = load64(tstate, chunk_at);
	progress->chunk_bytes = load64(tstate, chunk_at + 16) - progress->chunk;
	if (has_shape(layout, shape_312))
		return walk_frames_312(0, walk) || bpf_loop(MAX_STEPS, walk_frames_312, walk, 0);
	if (has_shape(layout, shape_311))
		return walk_frames_311(0, walk) || bpf_loop(MAX_STEPS, walk_frames_311, walk, 0);
	return bpf_loop(MAX_STEPS, walk_frames_other, walk, 0);
}

/* Sends a stack that was not sent before, after the code objects it names. */
static __noinline long stack_send(const struct gpt_process_state *process, struct walk_slot *slot, __u32 pid, __u64 id)
{
	struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;
	__u64 bytes = stack->depth;
	__u8 sent = 1;

	codes_send(process, slot, pid, stack->depth);
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
 * The Python stack of the calling thread: returns enum gpt_stack_state and sets *id (0 unless GPT_STACK_OK).
 * `slot` is the caller's.
 */
static __always_inline long python_stack(const struct gpt_process_state *process, struct gpt_thread_state *thread,
					 struct walk_slot *slot, __u64 *id)
{
	struct walk walk = {.slot = slot, .layout = &process->python.layout};
	long state = process->python_state;

	*id = 0;
	if (state != GPT_STACK_OK)
		return state;
	if (unlikely(!tstate_read(walk.layout, thread, slot))) {
		state = tstate_find(process, thread, slot);
		if (state != GPT_STACK_OK)
			return state;
		if (!tstate_read(walk.layout, thread, slot))
			return GPT_STACK_UNREADABLE;
	}
	struct walk_progress *progress = &slot->progress;

	__builtin_memset(progress, 0, sizeof(*progress));
	progress->hash = process->generation * 0xff51afd7ed558ccdULL + thread->pid;
	walk_run(&walk);
	if (progress->failed) {
		account(GPT_ACC_READ_FAULTS);
		return GPT_STACK_UNREADABLE;
	}
	if (!progress->depth)
		return GPT_STACK_EMPTY;
	if (progress->frame && progress->depth < GPT_PYSTACK_MAX_FRAMES)
		progress->cut = 1; /* a list that does not end */
	if (progress->cut)
		account(GPT_ACC_STACK_CUT);
	__u64 hash = progress->hash | 1;

	if (unlikely(!bpf_map_lookup_elem(&stacks, &hash))) {
		struct gpt_pystack *stack = (struct gpt_pystack *)slot->stack;

		stack->hdr.type = GPT_PYSTACK;
		stack->hdr.flags = progress->cut ? GPT_PYSTACK_CUT : 0;
		stack->depth = progress->depth;
		if (stack_send(process, slot, thread->pid, hash))
			return GPT_STACK_LOST;
	}
	*id = hash;
	return GPT_STACK_OK;
}

#endif
