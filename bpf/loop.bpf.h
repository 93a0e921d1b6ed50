/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Loops of more rounds than the verifier can follow one by one. A loop's body is a `static __always_inline long
 * name(struct walk *walk)` that returns non-zero when it is done; LOOP_STEP(name) makes it one that LOOP can repeat. A
 * body keeps all its state in the slot.
 *
 * Linux 5.17 has bpf_loop. There a body is a global function, which the verifier checks once for a program instead of
 * once for each path to it; this halves the load time. Older kernels (GPT_OLD_KERNEL) get a plain loop around a global
 * function, which the verifier checks once and on its own (5.6), so a round costs the verifier a few instructions. Such
 * a function may take scalars only (kernel/bpf/btf.c, btf_prepare_func_args of 5.10), so the body looks up slot and
 * process again.
 */
#pragma once

#include "common.bpf.h"
#include "slot.bpf.h"

/* What a loop works on. */
struct walk {
	struct walk_slot *slot;
	struct gpt_process_state *process;
	const struct gpt_pylayout *layout; /* of the process */
};

#ifndef GPT_OLD_KERNEL
/* The program's own limit of rounds, if it has one (slot.bpf.h), else `most`. */
#define AT_MOST(bound, most) ((bound) ?: (most))
#endif

#ifdef GPT_USER_SPACE

#define LOOP_STEP(name)
#define LOOP(most, name, walk)                                                                                         \
	do                                                                                                             \
		for (__u32 loop_i = 0; loop_i < (__u32)(most) && !name(walk); loop_i++)                                \
			;                                                                                              \
	while (0)
#define LOOP_SHORT LOOP

#elif !defined(GPT_OLD_KERNEL)

#define LOOP_STEP(name)                                                                                                \
	__weak __noinline int name##_once(struct walk_slot *slot, struct gpt_process_state *process)                   \
	{                                                                                                              \
		struct walk walk = {.slot = slot, .process = process};                                                 \
                                                                                                                       \
		if (!slot || !process)                                                                                 \
			return 1;                                                                                      \
		walk.layout = &process->python.layout;                                                                 \
		return name(&walk);                                                                                    \
	}                                                                                                              \
                                                                                                                       \
	static long name##_step(__u32 index, struct walk *walk)                                                        \
	{                                                                                                              \
		return name##_once(walk->slot, walk->process) != 0;                                                    \
	}

/* Runs at most `most` rounds; `most` is a constant. */
#define LOOP(most, name, walk) ((void)bpf_loop(most, name##_step, walk, 0))

/* The same, where one round is usually enough: the first round avoids the cost of bpf_loop. */
#define LOOP_SHORT(most, name, walk)                                                                                   \
	((void)(name##_once((walk)->slot, (walk)->process) || bpf_loop(most, name##_step, walk, 0)))

#else

static __always_inline bool walk_of_this_cpu(struct walk *walk)
{
	__u32 pid;

	walk->slot = slot_of_this_cpu();
	if (!walk->slot)
		return false;
	pid = walk->slot->pid;
	walk->process = bpf_map_lookup_elem(&processes, &pid);
	if (!walk->process) {
		walk->slot->progress.failed = 1;
		return false;
	}
	walk->layout = &walk->process->python.layout;
	return true;
}

/*
 * The verifier keeps a state for every round that may be the last, at most 8192 (BPF_COMPLEXITY_LIMIT_JMP_SEQ,
 * kernel/bpf/verifier.c): longer loops are nested.
 */
#define LOOP_PLAIN 1024
#define LOOP_INNER 64

#define LOOP_ROUNDS(most, body)                                                                                        \
	({                                                                                                             \
		int loop_ended = 0;                                                                                    \
		_Pragma("clang loop unroll(disable)") for (int loop_i = 0; loop_i < (most) && !loop_ended; loop_i++)   \
			loop_ended = body();                                                                           \
		loop_ended;                                                                                            \
	})

#define LOOP_STEP(name)                                                                                                \
	__weak __noinline int name##_once(void)                                                                        \
	{                                                                                                              \
		struct walk walk;                                                                                      \
                                                                                                                       \
		return !walk_of_this_cpu(&walk) || name(&walk);                                                        \
	}                                                                                                              \
                                                                                                                       \
	__weak __noinline int name##_rounds(void)                                                                      \
	{                                                                                                              \
		return LOOP_ROUNDS(LOOP_INNER, name##_once);                                                           \
	}

#define LOOP(most, name, walk)                                                                                         \
	((void)(walk), (most) <= LOOP_PLAIN                                                                            \
			       ? (void)LOOP_ROUNDS(most, name##_once)                                                  \
			       : (void)LOOP_ROUNDS(((most) + LOOP_INNER - 1) / LOOP_INNER, name##_rounds))

#define LOOP_SHORT LOOP
#define AT_MOST(bound, most) (most) /* a plain loop needs a constant */

#endif
