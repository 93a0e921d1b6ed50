/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The probe points. In a file of their own, so that the compiler does not see their bodies at the calls; naked, so that
 * nothing (no frame pointer, no endbr64) precedes the nop that the probe replaces.
 */
#include "agent/send/points.h"

#if defined(__x86_64__)
/* nopl 0(%rax,%rax,1): the 5-byte nop that Linux 6.18 turns into a call instead of a breakpoint
 * (arch/x86/kernel/uprobes.c, is_nop5_insn); then GPUTRACE_AGENT_TRAP, for kernels that cannot turn it back. */
#define POINT_BODY ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\tnop\n\tret"
#elif defined(__aarch64__)
#define POINT_BODY "nop\n\tret"
#else
#error "unknown machine: what does a cheap probe site look like here?"
#endif

#define POINT __attribute__((visibility("default"), noinline, naked, aligned(16)))
#define SEMAPHORE __attribute__((visibility("default"), section(".probes"), used))

/* Not zero-initialised data (.bss): the kernel finds the counter by its offset in the file. */
SEMAPHORE unsigned short gputrace_agent_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_batch_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_yield_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_resume_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_restart_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_share_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_calls_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_ops_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_shapes_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_shapes_off_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_ops_off_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_stack_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_forward_lines_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_torch_memory_semaphore = 0;
SEMAPHORE unsigned short gputrace_agent_memory_lines_semaphore = 0;

SEMAPHORE unsigned short gputrace_agent_schedule_semaphores[GPT_SCHEDULE_SEMAPHORES] = {0};

/* "used", though nothing refers to it: the linker would drop a function that is never called. */
#define SET(enumerator, name)                                                                                          \
	SEMAPHORE unsigned short gputrace_agent_activity_set_##name##_semaphore = 0;                                   \
	POINT void gputrace_agent_activity_set_##name(void)                                                            \
	{                                                                                                              \
		__asm__ volatile(POINT_BODY);                                                                          \
	}
GPT_AGENT_ACTIVITY_SETS(SET)

POINT void gputrace_agent_call(uint32_t corr, uint32_t api, const void *params)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_state(uint32_t state, uint32_t abi)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_batch(const void *data, uint64_t bytes, uint64_t own_thread)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_yield(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_resume(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_restart(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_calls(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_share(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_ops(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_shapes(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_shapes_off(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_ops_off(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_stack(uint32_t what, uint64_t number)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_forward_lines(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_torch_memory(void)
{
	__asm__ volatile(POINT_BODY);
}

POINT void gputrace_agent_memory_lines(void)
{
	__asm__ volatile(POINT_BODY);
}

/* A probe site for each bit, GPUTRACE_AGENT_SCHEDULE_STEP bytes each. */
_Static_assert(GPT_SCHEDULE_SEMAPHORES == 153, "as many as are repeated here");

POINT void gputrace_agent_schedule(void)
{
	__asm__ volatile(".rept 153\n\t" POINT_BODY "\n\t.balign 8\n\t.endr");
}
