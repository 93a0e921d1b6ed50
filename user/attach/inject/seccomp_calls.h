/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The system calls that letting the agent in takes. */
#pragma once

#include <stdint.h>

struct seccomp_call {
	long number;
	uint64_t args[5];
};

/*
 * Made by dlopen, pthread_create and the agent's thread, and after these by an agent that joins a collector without
 * BPF, with the arguments that filters check. All but rt_sigreturn, exit and socket do nothing where descriptor 3 is
 * closed: addresses and flags are bad.
 */
#define SECCOMP_CALLS 31
#define SECCOMP_JOIN_CALLS 9
extern const struct seccomp_call seccomp_calls[SECCOMP_CALLS + SECCOMP_JOIN_CALLS];
