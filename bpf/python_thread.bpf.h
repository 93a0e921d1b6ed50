/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Finds the calling thread's PyThreadState in the interpreters' lists; it is remembered and checked at each use. */
#pragma once

#include "common.bpf.h"
#include "loop.bpf.h"
#include "python_frames.bpf.h"
#include "slot.bpf.h"

#define MAX_INTERPRETER_THREADS 16384 /* thread states searched for the current one */

/* Reads the thread state's innermost frame, 0: none. */
static __always_inline long tstate_frame(const struct gpt_pylayout *layout, __u64 word, __u64 *frame)
{
	*frame = word;
	if (layout->walk != GPT_PY_WALK_CFRAME)
		return 0;
	return bpf_probe_read_user(frame, 8, (void *)(word + layout->cframe_current_frame));
}

/*
 * Notes a thread state that executes something. thread_id identifies the executing thread, except that 3.12 and older
 * let any thread run an interpreter through the state of another thread. The C stack shows the true one there
 * (ts_cframe); without ts_cframe nothing does.
 */
static __always_inline void find_note(struct find_progress *progress, const struct gpt_pylayout *layout, __u64 tstate,
				      bool ours)
{
	__u64 word = 0, frame = 0;

	if (bpf_probe_read_user(&word, 8, (void *)(tstate + layout->ts_frame)) || tstate_frame(layout, word, &frame) ||
	    !frame || frame == tstate + layout->ts_base_frame)
		return;
	if (progress->several && layout->ts_cframe) {
		/* The lowest address is the innermost. */
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

/* Looks at one interpreter's list head, or at one thread state. */
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
		progress->interpreter = next; /* 0: the thread states that follow are the main interpreter's */
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

#ifndef GPT_USER_SPACE

/* The end of the first thread's C stack. */
static __always_inline __u64 first_stack_end(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, start_stack);
}

/* Python identifies the thread by pthread_self(), which in glibc is the thread pointer. */
static __always_inline __u64 own_thread_pointer(void)
{
	return BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), thread.fsbase);
}

#endif

/* Finds the used part of the thread's C stack. In glibc and musl a thread's control block lies above its stack. */
static __always_inline void find_stack(struct find_progress *progress, __u64 sp, __u64 pthread)
{
	__u64 end = first_stack_end();

	if (pthread > sp && (pthread < end || sp > end))
		end = pthread;
	progress->stack = sp;
	progress->stack_bytes = end > sp ? end - sp : 0;
}

/*
 * Searches the interpreters' lists, and remembers also if the thread is not there. With several interpreters a thread
 * may have a state in each; the thread executes in one that is younger than the main interpreter, if it has frames
 * there.
 */
static __noinline long tstate_find(struct gpt_process_state *process, struct gpt_thread_state *thread,
				   struct walk_slot *slot, __u64 sp)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};
	struct find_progress *progress = &slot->find;
	__u64 interpreter = 0, made = 0;
	bool ended;

	thread->tstate = 0;
	/* A thread whose entry was made while its program was being loaded had no thread pointer then. */
	thread->pthread = own_thread_pointer();
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
	LOOP(AT_MOST(slot->threads_most, MAX_INTERPRETER_THREADS), find_tstate, &walk);
	/*
	 * Threads come and go during the search: a search that stopped early does not prove that the thread is absent.
	 */
	ended = !progress->tstate && !progress->interpreter;
	thread->searched = ended && made && !progress->several ? made + 1 : 0;
	if (progress->several) {
		process->several = 1;
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

/* Copies the thread state into the slot. False if it is not (or no longer) this thread's; `chosen` skips that check. */
static __always_inline bool tstate_read(const struct gpt_pylayout *layout, const struct gpt_thread_state *thread,
					struct walk_slot *slot, bool chosen)
{
	__u64 id_at = layout->ts_thread_id, bytes = id_at + 8;

	if (!thread->tstate)
		return false;
	if (layout->walk != GPT_PY_WALK_OBJECTS)
		bytes = layout->ts_datastack_chunk + 24ULL; /* chunk, top, limit: the last members needed */
	BOUND(bytes, SLOT_TSTATE - 1);
	BOUND(id_at, SLOT_TSTATE - 1);
	if (bpf_probe_read_user(slot->tstate, bytes, (void *)thread->tstate))
		return false;
	return chosen || load64(slot->tstate, id_at) == thread->pthread;
}

/*
 * Whether a thread state was created since the last search for this thread. A state without frames may be a dead one,
 * left in memory by a PyGILState_Release() whose thread came back with another state.
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
