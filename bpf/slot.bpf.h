/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Working memory that is too large for the BPF stack. One uprobe program can preempt another on the same CPU (Linux 6.0
 * and later), so a plain per-CPU buffer would be overwritten in the middle of a walk: each CPU has a few slots, and a
 * program owns its slot from slot_acquire to slot_release.
 */
#pragma once

#include "common.bpf.h"

#define SLOT_TSTATE 512	  /* bytes of a PyThreadState that are read, at most */
#define SLOT_WINDOW 16384 /* bytes of frames copied at once: DATA_STACK_CHUNK_SIZE, pycore_pystate.h */
#define SLOT_AROUND 512	  /* bytes around a _PyCFrame */
#define SLOT_FRAMES 256	  /* GPT_PYSTACK_MAX_FRAMES, the rest of the step that exceeds it, the ring */
#define SLOT_RING GPT_PYSTACK_OUTER_FRAMES
#define SLOT_RING_FIRST (SLOT_FRAMES - SLOT_RING)
#define SLOT_FIELDS 256 /* every field of a frame lies within this many bytes of its start */
#define SLOT_CODE (sizeof(struct gpt_code) + 2 * GPT_CODE_NAME_MAX + GPT_CODE_FILE_MAX + 64)

/*
 * Progress of a loop. It is in the slot and not on the stack also for the verifier's sake: the verifier follows every
 * value that a stack variable can take, but none of a map's. Before Linux 6.7 it looked at a loop's body with the first
 * values alone, and removed the code that these do not reach.
 */
struct walk_progress {
	__u64 frame;
	__u64 window, window_bytes; /* the range that slot->window is a copy of */
	__u64 chunk, chunk_bytes;   /* the part of the interpreter's stack in which frame is expected */
	__u64 around;		    /* the address that slot->around is a copy of, 0: empty */
	__u64 base;		    /* the frame below all others, if there is one (ts_base_frame) */
	__u64 hash;
	__u32 depth;
	__u32 ring_from; /* frames from this depth on are in the ring, 0: none */
	__u32 kept_mask, kept_first;
	__u32 failed;
	__u32 module_generation; /* as in gpt_process_state when the walk began */
	__u64 module_code;	 /* the same; 1, which no code has: no frame's self is kept */
	__u64 module_salt;	 /* what the generation adds to a self in the hash */
};

struct find_progress {
	__u64 wanted;				/* pthread_self() */
	__u64 interpreter, tstate;		/* the next to look at */
	__u64 found, active_main, active_other; /* of the calling thread: any state, and states with frames */
	__u64 stack, stack_bytes;		/* its C stack: the range in which a deeper _PyCFrame may still lie */
	__u32 several, ambiguous, other_runs;	/* other_runs: a subinterpreter runs, on some thread */
	__u32 pad;
};

/* Progress of sending the code objects of a stack, and the line table of one of them. */
struct send_progress {
	__u32 next, depth;
	__u64 table, code;
	__u32 bytes, done; /* bytes: total */
	__s32 failed;	   /* of the table's latest piece: -1 no room, 1 cannot be read */
	__u32 incomplete;  /* a code object was lost */
	__u32 unread;	   /* a code object is to be read again when the stack comes again */
	__u32 age;	   /* code_age when the stack was walked */
	__u32 modules;	   /* found so far, behind the frames */
};

struct walk_slot {
	__u64 owned;
	__u32 pid;
	__u32 native_next;
	__u32 steps_most, threads_most; /* limits for programs that run with interrupts off; 0: no limit */
	struct find_progress find;
	struct walk_progress progress;
	struct send_progress send;
	__u8 tstate[SLOT_TSTATE + SLOT_FIELDS];
	__u8 around[SLOT_AROUND + SLOT_FIELDS];
	__u8 window[SLOT_WINDOW + 2 * SLOT_FIELDS];
	/*
	 * struct gpt_pystack and its frames, struct gpt_native_stack and its addresses: in the layout in which they are
	 * sent
	 */
	__u8 stack[sizeof(struct gpt_pystack)];
	struct gpt_pyframe frames[SLOT_FRAMES];
	__u64 selves[SLOT_FRAMES]; /* of the same frame: the module that it is a call of, 0: it is none */
	__u8 native[sizeof(struct gpt_native_stack)];
	__u64 native_ip[GPT_NATIVE_MAX_FRAMES];
	__u8 code[(SLOT_CODE + 1024) & ~7];
};

#ifndef GPT_USER_SPACE

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPT_SLOTS_PER_CPU); /* attach/ multiplies it by the number of CPUs */
	__type(key, __u32);
	__type(value, struct walk_slot);
} slots SEC(".maps") __attribute__((weak));

#ifndef GPT_OLD_KERNEL

static __always_inline struct walk_slot *slot_acquire(__u32 pid)
{
	__u32 first = bpf_get_smp_processor_id() * GPT_SLOTS_PER_CPU;

#pragma unroll
	for (__u32 i = 0; i < GPT_SLOTS_PER_CPU; i++) {
		__u32 index = first + i;
		struct walk_slot *slot = bpf_map_lookup_elem(&slots, &index);

		if (slot && __sync_val_compare_and_swap(&slot->owned, 0, 1) == 0) {
			slot->pid = pid;
			slot->steps_most = slot->threads_most = 0;
			return slot;
		}
	}
	return 0;
}

static __always_inline void slot_release(struct walk_slot *slot)
{
	/* Only programs on this CPU read it: program order suffices. */
	*(volatile __u64 *)&slot->owned = 0;
}

#else

/*
 * Before Linux 6.0 a uprobe's programs run with preemption off (__uprobe_perf_func, kernel/trace/trace_uprobe.c), and
 * never inside another one (bpf_prog_active in trace_call_bpf, kernel/trace/bpf_trace.c): one slot per CPU suffices,
 * without the compare-and-swap that came with 5.12.
 */
static __always_inline struct walk_slot *slot_of_this_cpu(void)
{
	__u32 index = bpf_get_smp_processor_id() * GPT_SLOTS_PER_CPU;

	return bpf_map_lookup_elem(&slots, &index);
}

static __always_inline struct walk_slot *slot_acquire(__u32 pid)
{
	struct walk_slot *slot = slot_of_this_cpu();

	if (slot) {
		slot->pid = pid;
		slot->steps_most = slot->threads_most = 0;
	}
	return slot;
}

static __always_inline void slot_release(struct walk_slot *slot)
{
}

#endif

#endif /* GPT_USER_SPACE */
