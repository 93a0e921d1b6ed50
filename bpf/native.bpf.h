/* SPDX-License-Identifier: GPL-2.0-only */
/* The native stack of the calling thread, by frame pointers; it is sent the first time it occurs. */
#pragma once

#include "python.bpf.h"
#include "thread.bpf.h"

static __always_inline long native_hash(struct walk *walk)
{
	struct walk_progress *progress = &walk->slot->progress;
	__u32 index = walk->slot->native_next++;

	if (index >= progress->depth || index >= GPT_NATIVE_MAX_FRAMES)
		return 1;
	progress->hash = hash_frame(progress->hash, walk->slot->native_ip[index & (GPT_NATIVE_MAX_FRAMES - 1)], index);
	return 0;
}
LOOP_STEP(native_hash)

/*
 * Fills slot->native_ip; returns the bytes used. The probe fires before the function has set up its own frame, so the
 * kernel's walk along frame pointers starts with the caller's frame, and the caller itself is missing. Linux 6.11 adds
 * the caller where the probed instruction is `push %rbp` (is_uprobe_at_func_entry, arch/x86/events/core.c); this
 * function adds it in all other cases.
 */
static __always_inline long native_read(void *ctx, struct walk_slot *slot, __u64 return_address)
{
	long bytes = bpf_get_stack(ctx, slot->native_ip, sizeof(slot->native_ip), BPF_F_USER_STACK);

	if (bytes <= 0 || !return_address || (bytes > 8 && slot->native_ip[1] == return_address))
		return bytes;
	slot->native_ip[1] = return_address;
	bytes = bpf_get_stack(ctx, &slot->native_ip[2], sizeof(slot->native_ip) - 16, BPF_F_USER_STACK | 1);
	return bytes > 0 ? bytes + 16 : 16;
}

/* Returns the stack's id, 0 if there is none. */
static __noinline __u64 native_stack(void *ctx, struct gpt_process_state *process, struct walk_slot *slot, __u64 sp)
{
	struct walk walk = {.slot = slot, .process = process};
	__u64 return_address = 0;
	__u32 pid = slot->pid;
	__u8 sent = 1;
	long bytes;

	bpf_probe_read_user(&return_address, 8, (void *)sp);
	bytes = native_read(ctx, slot, true_return_address(sp, return_address));
	if (bytes <= 0)
		return 0;
	slot->native_next = 0;
	slot->progress.depth = bytes / 8;
	slot->progress.hash = process->program * 0xc4ceb9fe1a85ec53ULL + pid;
	LOOP(GPT_NATIVE_MAX_FRAMES, native_hash, &walk);

	__u64 id = slot->progress.hash & ~1ULL; /* Python stacks have odd ids */
	__u64 size = bytes;

	if (!id)
		id = 2;
	if (bpf_map_lookup_elem(&stacks, &id))
		return id;
	BOUND(size, 0x3ff);
	size += sizeof(struct gpt_native_stack);
	if (size > sizeof(struct gpt_native_stack) + sizeof(slot->native_ip))
		return 0;
	struct gpt_native_stack *native = (struct gpt_native_stack *)slot->native;

	record_begin(&native->hdr, size, GPT_NATIVE_STACK);
	native->id = id;
	native->pid = pid;
	native->depth = (__u32)bytes / 8;
	if (unlikely(ring_is_short()))
		return 0;
	if (RING_OUTPUT(slot->native, size, BPF_RB_NO_WAKEUP)) {
		count_one(GPT_COUNTER_STACKS_LOST);
		return 0;
	}
	bpf_map_update_elem(&stacks, &id, &sent, BPF_ANY);
	return id;
}
