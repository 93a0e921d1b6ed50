/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Layout from the lowest address: return addresses, three signal frames as the kernel makes them
 * (arch/x86/include/asm/sigframe.h), errno, the path, the extended state. rt_sigreturn leaves a frame and loads every
 * register at once: two of the frames call functions with arguments, the last one restores the thread.
 */
#include "attach/inject/frame.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define RED_ZONE 128u /* in use below the stack pointer: System V ABI, x86-64 */
#define UC_FLAGS 7u   /* UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS, asm/ucontext.h */
#define FXSAVE_SW_RESERVED 464u
#define XSTATE_BV 512u
#define FP_XSTATE_MAGIC1 0x46505853u /* asm/sigcontext.h */
#define FP_XSTATE_MAGIC2 0x46505845u
#define XFEATURE_XTILE (3ULL << 17)
#define XFEATURE_XTILEDATA (1ULL << 18)
#define XSTATE_HEADER_END 576u
#define EFLAGS_CLEARED 0x500ULL /* trap and direction flags */
#define ALL_SIGNALS (~0ULL)

struct kernel_sigcontext {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct kernel_ucontext {
	uint64_t flags, link;
	uint64_t stack_sp;
	uint32_t stack_flags, stack_pad;
	uint64_t stack_size;
	struct kernel_sigcontext context;
	uint64_t blocked;
};

struct fp_software_bytes {
	uint32_t magic1, extended_size;
	uint64_t features;
	uint32_t xstate_size, padding[7];
};

/* A call of a function, which returns into the next frame. */
struct step {
	struct kernel_ucontext context;
	uint64_t pad;	      /* makes the stack pointer at the function's entry 8 modulo 16 */
	uint64_t next_return; /* return address of that function: the restorer */
};

struct layout {
	uint64_t pop_rdi; /* the return address of the call */
	uint64_t signal;
	uint64_t ret; /* only moves the stack pointer, for the alignment */
	uint64_t raise;
	uint64_t raise_return;
	struct step steps[2];
	struct kernel_ucontext last;
	uint64_t error;
};

_Static_assert(sizeof(struct kernel_ucontext) == 304, "struct ucontext of the kernel");
_Static_assert(sizeof(struct fp_software_bytes) == 48, "struct _fpx_sw_bytes of the kernel");
_Static_assert(offsetof(struct layout, steps[0].next_return) % 16 == 0, "stack alignment of the first step");
_Static_assert(offsetof(struct layout, steps[1].next_return) % 16 == 0, "stack alignment of the second step");

static void fill_context(struct kernel_ucontext *out, const struct user_regs_struct *regs, uint64_t blocked)
{
	*out = (struct kernel_ucontext){
		.flags = UC_FLAGS,
		/* The alternate stack is not known from outside: the kernel refuses this value and changes nothing. */
		.stack_flags = 0x100,
		.blocked = blocked,
		.context =
			{
				.r8 = regs->r8,
				.r9 = regs->r9,
				.r10 = regs->r10,
				.r11 = regs->r11,
				.r12 = regs->r12,
				.r13 = regs->r13,
				.r14 = regs->r14,
				.r15 = regs->r15,
				.rdi = regs->rdi,
				.rsi = regs->rsi,
				.rbp = regs->rbp,
				.rbx = regs->rbx,
				.rdx = regs->rdx,
				.rax = regs->rax,
				.rcx = regs->rcx,
				.rsp = regs->rsp,
				.rip = regs->rip,
				.eflags = regs->eflags,
				.cs = (uint16_t)regs->cs,
				.gs = (uint16_t)regs->gs,
				.fs = (uint16_t)regs->fs,
				.ss = (uint16_t)regs->ss,
			},
	};
}

static void fill_step(struct step *step, const struct inject_addresses *addresses, const struct borrowed *thread,
		      uint64_t function, uint64_t address)
{
	struct user_regs_struct regs = thread->regs;

	regs.rip = function;
	regs.rsp = address + offsetof(struct step, next_return);
	regs.rax = 0;
	regs.eflags &= ~EFLAGS_CLEARED;
	fill_context(&step->context, &regs, ALL_SIGNALS);
	step->pad = 0;
	step->next_return = addresses->restorer;
}

/* The end of each part of the extended state, by CPUID, which takes 20 us and more in a virtual machine. */
static struct {
	bool known;
	size_t end[64]; /* 0: no such part, or not visible to user space */
} parts;

void frame_prepare(void)
{
	for (unsigned i = 2; i < 63 && !parts.known; i++) {
		unsigned bytes, offset, flags, unused;

		if (__get_cpuid_count(0xd, i, &bytes, &offset, &flags, &unused) && !(flags & 1))
			parts.end[i] = bytes ? offset + (size_t)bytes : 0;
	}
	parts.known = true;
}

/*
 * The size of the state that the kernel restores: at most what it would have written for this thread. That excludes
 * AMX's tiles (8 KB) unless they were requested (arch/x86/kernel/fpu/signal.c, check_xstate_in_sigframe: with a larger
 * size it falls back to the 512 bytes of FXSAVE).
 */
static size_t xstate_in_frame(const struct borrowed *thread, uint64_t *features)
{
	size_t size = XSTATE_HEADER_END;
	uint64_t in_use;

	memcpy(features, thread->xstate + FXSAVE_SW_RESERVED, sizeof(*features));
	memcpy(&in_use, thread->xstate + XSTATE_BV, sizeof(in_use));
	if (!(in_use & XFEATURE_XTILEDATA))
		*features &= ~XFEATURE_XTILE;
	for (unsigned i = 2; i < 63; i++)
		if (*features >> i & 1 && parts.end[i] > size)
			size = parts.end[i];
	return size;
}

/*
 * The source for swab(), which writes errno and copies pairs of bytes swapped. It is the one function of every libc
 * that stores the data it is given.
 */
static uint64_t swapped_pairs(uint32_t value)
{
	return (value & 0xff00ff00u) >> 8 | (value & 0x00ff00ffu) << 8;
}

static void fill_xstate(uint8_t *to, const struct borrowed *thread, size_t size, uint64_t features)
{
	const uint32_t magic2 = FP_XSTATE_MAGIC2;
	struct fp_software_bytes software = {
		.magic1 = FP_XSTATE_MAGIC1,
		.extended_size = (uint32_t)(size + sizeof(magic2)),
		.features = features,
		.xstate_size = (uint32_t)size,
	};

	memcpy(to, thread->xstate, size);
	memcpy(to + FXSAVE_SW_RESERVED, &software, sizeof(software));
	memcpy(to + size, &magic2, sizeof(magic2));
}

int frame_build(const struct inject_addresses *addresses, const struct borrowed *thread, const char *path, bool loads,
		int signal, struct frame *out)
{
	size_t path_bytes = path ? strlen(path) + 1 : 0, xstate_bytes;
	uint64_t features, state, layout_address, steps_address;
	uint64_t end = thread->regs.rsp - RED_ZONE;
	struct layout layout = {
		.pop_rdi = addresses->pop_rdi,
		.signal = (uint64_t)signal,
		.ret = addresses->pop_rdi + 1,
		.raise = addresses->raise,
		.raise_return = addresses->restorer,
		.error = swapped_pairs(thread->error),
	};

	if (path_bytes > FRAME_PATH_MAX || thread->xstate_bytes < XSTATE_HEADER_END)
		return -EINVAL;
	xstate_bytes = xstate_in_frame(thread, &features);
	if (xstate_bytes > thread->xstate_bytes || xstate_bytes + 4 > XSTATE_MAX)
		return -EINVAL;
	state = (end - xstate_bytes - 4) & ~63ULL;
	out->path = (state - path_bytes) & ~15ULL;
	layout_address = ((out->path - sizeof(layout)) & ~15ULL) - 8; /* 8 modulo 16 at a function's entry */
	steps_address = layout_address + offsetof(struct layout, steps);
	/* Fetches an error that dlopen may have left for dlerror(), so that the application does not find it. */
	fill_step(&layout.steps[0], addresses, thread, loads ? addresses->dlerror : addresses->swab, steps_address);
	fill_step(&layout.steps[1], addresses, thread, addresses->swab, steps_address + sizeof(struct step));
	for (unsigned i = 0; i < 2; i++) {
		struct kernel_sigcontext *context = &layout.steps[i].context.context;

		context->rdi = layout_address + offsetof(struct layout, error);
		context->rsi = thread->regs.fs_base + (uint64_t)addresses->errno_offset;
		context->rdx = sizeof(thread->error);
	}
	fill_context(&layout.last, &thread->regs, thread->blocked);
	layout.last.context.fpstate = state;
	out->address = layout_address;
	out->size = state + xstate_bytes + 4 - layout_address;
	if (out->size > sizeof(out->bytes))
		return -EINVAL;
	memset(out->bytes, 0, out->size);
	memcpy(out->bytes, &layout, sizeof(layout));
	if (path)
		memcpy(out->bytes + (out->path - layout_address), path, path_bytes);
	fill_xstate(out->bytes + (state - layout_address), thread, xstate_bytes, features);
	return 0;
}

#else

void frame_prepare(void)
{
}

int frame_build(const struct inject_addresses *addresses, const struct borrowed *thread, const char *path, bool loads,
		int signal, struct frame *out)
{
	return -ENOTSUP;
}

#endif
