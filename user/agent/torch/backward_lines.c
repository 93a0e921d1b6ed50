/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/torch/backward_lines.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "agent/share/share.h"
#include "agent/process/thread_id.h"

/* A c10::DebugInfoKind, an unsigned char, far above those that PyTorch uses (7 in 2.15, ThreadLocalDebugInfo.h). */
#define KIND 0xe7u

#define PASSES 64u /* concurrent passes; launches of further ones have no line */

/* c10::DebugInfoGuard: a bool and a std::shared_ptr. */
struct guard {
	uint64_t words[4];
};

/*
 * std::shared_ptr<c10::DebugInfoBase> without an owned object: the pointer is a stack's id and is never dereferenced.
 */
struct shared_pointer {
	uint64_t pointer;
	void *control;
};

static struct {
	void (*_Atomic begin)(struct guard *guard, uint8_t kind, struct shared_pointer *info);
	void (*end)(struct guard *guard);
	uint64_t (*get)(uint8_t kind);
	_Atomic uint32_t under_way; /* passes */
	struct pass {
		_Atomic uint32_t thread; /* thread_number, 0: none */
		uint32_t order;		 /* the highest one of a thread is its innermost pass */
		bool given;		 /* its stack is passed on */
		struct guard guard;
	} passes[PASSES];
	_Atomic uint32_t last_order;
} lines;

/* Passes of the thread that found no slot: the innermost ones. */
static __thread uint32_t without_place __attribute__((tls_model("initial-exec")));

/* For share_call: the stack that the calling thread works for. */
static uint64_t inherited_stack(void)
{
	return atomic_load_explicit(&lines.under_way, memory_order_relaxed) ? lines.get(KIND) : 0;
}

void backward_lines_find(const struct torch *torch)
{
	void (*begin)(struct guard * guard, uint8_t kind, struct shared_pointer * info) = NULL;
	const struct torch_symbol wanted[] = {
		{&begin, "_ZN3c1014DebugInfoGuardC1ENS_13DebugInfoKindESt10shared_ptrINS_13DebugInfoBaseEE"},
		{&lines.end, "_ZN3c1014DebugInfoGuardD1Ev"},
		{&lines.get, "_ZN3c1020ThreadLocalDebugInfo3getENS_13DebugInfoKindE"},
	};

	if (atomic_load(&lines.begin) || !torch_find(torch, wanted, sizeof(wanted) / sizeof(wanted[0])))
		return;
	atomic_store(&lines.begin, begin);
	share_inherit(inherited_stack);
}

static struct pass *take_place(void)
{
	unsigned i;

	for (i = 0; i < PASSES && !without_place; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&lines.passes[i].thread, &none, thread_number()))
			return &lines.passes[i];
	}
	return NULL;
}

void backward_lines_enter(void)
{
	struct shared_pointer info = {0};
	struct pass *pass = take_place();

	if (!pass) {
		without_place++;
		return;
	}
	pass->order = atomic_fetch_add(&lines.last_order, 1) + 1;
	if (atomic_load(&lines.begin))
		info.pointer = share_stack_id();
	pass->given = info.pointer != 0;
	atomic_fetch_add(&lines.under_way, 1);
	if (pass->given)
		atomic_load (&lines.begin)(&pass->guard, KIND, &info);
}

static struct pass *innermost_pass(void)
{
	uint32_t thread = thread_number();
	struct pass *found = NULL;
	unsigned i;

	for (i = 0; i < PASSES; i++)
		if (atomic_load(&lines.passes[i].thread) == thread &&
		    (!found || (int32_t)(lines.passes[i].order - found->order) > 0))
			found = &lines.passes[i];
	return found;
}

void backward_lines_leave(void)
{
	struct pass *pass = without_place ? NULL : innermost_pass();

	if (without_place)
		without_place--;
	if (!pass)
		return;
	if (pass->given)
		lines.end(&pass->guard);
	atomic_fetch_sub(&lines.under_way, 1);
	atomic_store(&pass->thread, 0);
}
