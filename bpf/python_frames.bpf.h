/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Walks frames with as few reads as possible: copies frames in windows and walks them in the copy.
 *
 * A read of target memory costs about 45 ns whatever its size and a failing one 450 ns (docs/design/bpf.md), so frames
 * are read in windows that are clipped to the interpreter's own stack chunk.
 */
#pragma once

#include "common.bpf.h"
#include "loop.bpf.h"
#include "slot.bpf.h"

#define MAX_STEPS 4096 /* of 16 or 32 frames each: a longer list is not the interpreter's */

#define FRAME_OWNED_BY_THREAD 0 /* pycore_frame.h, 3.11 to 3.15 */

static __always_inline __u64 load64(const __u8 *bytes, __u32 offset)
{
	return *(const __u64 *)(bytes + offset);
}

/*
 * Frames are kept one after the other up to GPT_PYSTACK_MAX_FRAMES. The first step that begins after that many switches
 * to a ring, which holds the last frames in the end. There is no branch for each frame: the verifier follows both sides
 * of every branch, and a step has many.
 */
static __always_inline void kept_begin(struct walk_progress *progress)
{
	progress->depth = progress->ring_from = 0;
	progress->kept_mask = SLOT_FRAMES - 1;
	progress->kept_first = 0;
}

/* Called after each step. */
static __always_inline void kept_count(struct walk_progress *progress, __u32 depth)
{
	progress->depth = depth;
	if (likely(depth < GPT_PYSTACK_MAX_FRAMES) || progress->ring_from)
		return;
	progress->ring_from = depth;
	progress->kept_mask = SLOT_RING - 1;
	progress->kept_first = SLOT_RING_FIRST;
}

/*
 * Keeps a frame at this depth; returns the depth of the next frame, which is the same if this one is the shim and shall
 * not be shown.
 */
static __always_inline __u32 frame_keep(struct walk_slot *slot, __u32 depth, __u64 code, __u64 lasti, __u64 module,
					__u64 shim)
{
	__u64 at = (depth & slot->progress.kept_mask) + slot->progress.kept_first, other = code ^ shim;

	BOUND(at, SLOT_FRAMES - 1);
	slot->frames[at].code = code;
	*(__u64 *)&slot->frames[at].lasti = lasti; /* and the padding after it */
	slot->selves[at] = module;
	return depth + ((other | -other) >> 63);
}

/* All ones if this is the code of torch.nn.Module's __call__, whose first local is the module; else 0. */
static __always_inline __u64 module_mask(__u64 code, __u64 module_code)
{
	__u64 other = code ^ module_code;

	return ((other | -other) >> 63) - 1;
}

/* A frame that is no call of a module has the same hash as if there were no modules. */
static __always_inline __u64 hash_module(__u64 hash, __u64 module, __u64 salt, __u64 mask)
{
	return hash ^ ((module + salt) & mask);
}

static __always_inline __u64 hash_frame(__u64 hash, __u64 code, __u64 lasti)
{
	hash = (hash ^ (code + (lasti << 40))) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

#define OBJECTS_PER_STEP 16

/* ---- frames up to 3.10: objects on a linked list, one read each ----------------------------- */

static __always_inline long walk_objects(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	const struct gpt_pylayout *layout = walk->layout;
	__u8 *window = walk->slot->window;
	__u64 first = layout->frame_back, bytes = layout->frame_instr + 4ULL - first;
	__u64 code_at = layout->frame_code - first, lasti_at = layout->frame_instr - first;
	__u64 frame = progress->frame, hash = progress->hash;
	__u64 module_code = progress->module_code, salt = progress->module_salt;
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
		__s32 lasti = *(__s32 *)(window + lasti_at);
		__u64 module = 0, back = load64(window, 0);

		if (lasti > 0)
			lasti <<= scale;
		/* The first local is too far away to be read with each frame. */
		if (unlikely(code == module_code) &&
		    !bpf_probe_read_user(window, 8, (void *)(frame + layout->frame_localsplus)))
			module = load64(window, 0);
		hash = hash_frame(hash_module(hash, module, salt, module ? ~0ULL : 0), code, (__u32)lasti);
		depth = frame_keep(walk->slot, depth, code, (__u32)lasti, module, 0);
		frame = back;
	}
	progress->frame = frame;
	progress->hash = hash;
	kept_count(progress, depth);
	return !frame;
}
LOOP_STEP(walk_objects)

/* ---- frames from 3.11: structures in the chunks of the thread's data stack ------------------ */

/* Moves to the previous chunk if the frame lies there. */
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

/* Copies the window that ends with the frame and starts as low as the chunk and the buffer allow. */
static __always_inline long walk_read_chunk(struct walk *walk, __u64 need)
{
	const struct walk_progress *progress = &walk->slot->progress;
	__u64 room = progress->frame - progress->chunk - walk->layout->chunk_data, most = SLOT_WINDOW - 8 - need;

	if (room > most)
		room = most;
	return walk_read(walk, progress->frame - room, room + need);
}

/* Offsets of a frame's members. Constants for the usual layouts: this halves the cost of a walk. */
struct frame_shape {
	__u32 code, back, instr, owner;
	__u32 size;	  /* of the fixed part; its first local follows, which every frame has room for */
	__u32 owner_skip; /* as in gpt_pylayout */
	__u64 code_mask;  /* without the tag of a _PyStackRef (3.14 and later, pycore_stackref.h) */
};

/*
 * A frame outside the chunk is usually a generator's, inside its object, or the interpreter's own on the C stack, which
 * is skipped. Only a frame owned by the thread lies in the previous chunk.
 */
static __always_inline long walk_fill(struct walk *walk, const struct frame_shape shape)
{
	struct walk_progress *progress = &walk->slot->progress;
	const __u8 *window = walk->slot->window;

	if (in_chunk(progress))
		return walk_read_chunk(walk, shape.size + 8);
	if (walk_read(walk, progress->frame, shape.size + 8))
		return -1;
	if (shape.owner_skip && window[shape.owner] >= shape.owner_skip) {
		progress->frame = load64(window, shape.back);
		progress->window_bytes = 0;
		return 0;
	}
	if (window[shape.owner] != FRAME_OWNED_BY_THREAD)
		return 0;
	walk_find_chunk(progress, walk->layout);
	return in_chunk(progress) ? walk_read_chunk(walk, shape.size + 8) : 0;
}

#define STACKREF_MASK (~7ULL)

#define FRAMES_PER_STEP 32 /* frames walked in one call of the loop's body */

/*
 * Walks the frames of one window, as many as a step takes. A chunk holds none of the interpreter's own frames. A frame
 * outside the window is left to the next step, which begins with another window. An instruction is kept as its distance
 * from the code object; the bytes before the first instruction are subtracted when the stack is sent.
 */
static __always_inline long walk_frames(struct walk *walk, const struct frame_shape shape, int frames)
{
	struct walk_slot *slot = walk->slot;
	struct walk_progress *progress = &slot->progress;
	__u64 frame = progress->frame, hash = progress->hash, at = frame - progress->window, window, last;
	__u64 shim = walk->process->shim_code, module_code = progress->module_code, salt = progress->module_salt;
	__u32 depth = progress->depth, owner_skip = shape.owner_skip;

	if (!frame)
		return 1;
	if (at + shape.size + 8 > progress->window_bytes || at >= SLOT_WINDOW) {
		if (walk_fill(walk, shape)) {
			progress->failed = 1;
			return 1;
		}
		if (progress->frame != frame)
			return !progress->frame;
	}
	window = progress->window;
	last = progress->window_bytes - shape.size - 8; /* walk_fill reads at least a whole frame */
#pragma unroll
	for (int i = 0; i < frames; i++) {
		at = frame - window;
		if (at > last)
			break;
		BOUND(at, SLOT_WINDOW - 1);
		const __u8 *copy = slot->window + at;
		__u64 code = load64(copy, shape.code) & shape.code_mask, instr = load64(copy, shape.instr);
		__u64 lasti = (__u32)(instr - code), mask = module_mask(code, module_code);
		__u64 module = load64(copy, shape.size) & shape.code_mask & mask;

		frame = load64(copy, shape.back);
		hash = hash_frame(hash_module(hash, module, salt, mask), code, lasti);
		depth = frame_keep(slot, depth, code, lasti, module, shim);
	}
	progress->frame = frame;
	progress->hash = hash;
	kept_count(progress, depth);
	/* Most stacks end in one of the interpreter's own frames, outside the chunk: handling it here saves a step. */
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
			frame = load64(copy, shape.back);
			if (frame == progress->base)
				frame = 0;
			progress->frame = frame;
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
	return walk_frames(walk, shape_314, FRAMES_PER_STEP);
}
LOOP_STEP(walk_frames_314)

static __always_inline long walk_frames_312(struct walk *walk)
{
	return walk_frames(walk, shape_312, FRAMES_PER_STEP);
}
LOOP_STEP(walk_frames_312)

static __always_inline long walk_frames_311(struct walk *walk)
{
	return walk_frames(walk, shape_311, FRAMES_PER_STEP);
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

	return walk_frames(walk, shape, 2);
}
LOOP_STEP(walk_frames_other)
