/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Filters are classic BPF, a dozen kinds of instructions that cannot jump back
 * (Documentation/userspace-api/seccomp_filter.rst). They are run here on the agent's calls before any of them is made.
 */
#include "attach/inject/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>

#include "attach/inject/seccomp_calls.h"
#include "attach/inject/seccomp_trial.h"
#include "base/array.h"

#define FILTERS_MAX 32u /* stacked on one another; a container has one or two */
#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

static uint32_t read_operand(const struct sock_filter *at, uint32_t x)
{
	return BPF_SRC(at->code) == BPF_X ? x : at->k;
}

static uint32_t compute_alu(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default: /* BPF_NEG */
		return 0 - a;
	}
}

static bool holds_condition(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default: /* BPF_JSET */
		return a & b;
	}
}

static uint32_t load_value(const struct sock_filter *at, const struct seccomp_data *data, const uint32_t *memory)
{
	uint32_t value = 0;

	switch (BPF_MODE(at->code)) {
	case BPF_ABS:
		if (at->k <= sizeof(*data) - sizeof(value))
			memcpy(&value, (const char *)data + at->k, sizeof(value));
		return value;
	case BPF_MEM:
		return memory[at->k % BPF_MEMWORDS];
	case BPF_LEN:
		return sizeof(*data);
	default: /* BPF_IMM */
		return at->k;
	}
}

/* The result of one filter for one call; SECCOMP_RET_KILL_PROCESS for an invalid program. */
static unsigned seccomp_run(const struct sock_filter *program, size_t count, const struct seccomp_data *data)
{
	uint32_t a = 0, x = 0, memory[BPF_MEMWORDS] = {0};

	for (size_t i = 0; i < count; i++) {
		const struct sock_filter *at = &program[i];

		switch (BPF_CLASS(at->code)) {
		case BPF_LD:
			a = load_value(at, data, memory);
			break;
		case BPF_LDX:
			x = load_value(at, data, memory);
			break;
		case BPF_ST:
			memory[at->k % BPF_MEMWORDS] = a;
			break;
		case BPF_STX:
			memory[at->k % BPF_MEMWORDS] = x;
			break;
		case BPF_ALU:
			a = compute_alu(at->code, a, read_operand(at, x));
			break;
		case BPF_JMP:
			if (BPF_OP(at->code) == BPF_JA)
				i += at->k;
			else
				i += holds_condition(at->code, a, read_operand(at, x)) ? at->jt : at->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(at->code) == BPF_A ? a : at->k;
		default: /* BPF_MISC */
			if (BPF_MISCOP(at->code) == BPF_TAX)
				x = a;
			else
				a = x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* True if the filter does not kill a thread that makes the first `calls` calls. */
static bool seccomp_survives(const struct sock_filter *program, size_t count, size_t calls)
{
	for (size_t i = 0; i < calls; i++) {
		struct seccomp_data data = {.nr = (int)seccomp_calls[i].number, .arch = MACHINE};
		unsigned action;

		memcpy(data.args, seccomp_calls[i].args, sizeof(seccomp_calls[i].args));
		action = seccomp_run(program, count, &data) & SECCOMP_RET_ACTION_FULL;
		/*
		 * An error does no harm: the loader or the agent gives up. The signal of a trap would be blocked, and
		 * kill.
		 */
		if (action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD ||
		    action == SECCOMP_RET_TRAP || action == SECCOMP_RET_USER_NOTIF)
			return false;
	}
	return true;
}

/* -EPERM: they cannot be read. */
static int read_filters(pid_t tid, size_t calls)
{
	for (unsigned i = 0; i < FILTERS_MAX; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)(uintptr_t)i, NULL);
		struct sock_filter *program;
		bool survives;

		if (count < 0) /* ENOENT: there are no more */
			return errno == ENOENT && i ? 0 : -EPERM;
		if (count > BPF_MAXINSNS)
			return -EPERM;
		program = xcalloc((size_t)count + 1, sizeof(*program));
		survives = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)(uintptr_t)i, program) == count &&
			   seccomp_survives(program, (size_t)count, calls);
		free(program);
		if (!survives)
			return -ENOTSUP;
	}
	return -EPERM;
}

static int explain_verdict(int error, char *why, size_t why_size)
{
	if (error == -ENOTSUP)
		snprintf(why, why_size,
			 "its filter of system calls (seccomp) kills it for a call that the agent takes");
	else if (error)
		snprintf(why, why_size,
			 "its filter of system calls (seccomp) may not be read here, and is not known to be gputrace's "
			 "own: run gputrace in the same container");
	return error;
}

int seccomp_check(pid_t pid, pid_t tid, const struct thread_status *status, bool joins, char *why, size_t why_size)
{
	size_t calls = SECCOMP_CALLS + (joins ? SECCOMP_JOIN_CALLS : 0);
	int error = status->seccomp ? read_filters(tid, calls) : 0;

	return explain_verdict(error == -EPERM ? seccomp_try(pid, status) : error, why, why_size);
}

int seccomp_foresee(pid_t pid, const struct thread_status *status, char *why, size_t why_size)
{
	int error = status->seccomp && !seccomp_may_read() ? seccomp_try(pid, status) : 0;

	if (status->seccomp && !error)
		snprintf(why, why_size, "its filter of system calls (seccomp) %s",
			 seccomp_may_read() ? "is read then, and must let it" : "is gputrace's own, and lets it");
	return explain_verdict(error, why, why_size);
}
