/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The system calls that letting the agent in takes. */
#pragma once

#include <stdint.h>

struct seccomp_call {
	long number;
	uint64_t args[5];
};

/*
 * Made by dlopen, pthread_create and the agent's thread, with the arguments that filters check. All but rt_sigreturn
 * and exit do nothing where descriptor 3 is closed: addresses and flags are bad.
 */
#define SECCOMP_CALLS 31
extern const struct seccomp_call seccomp_calls[SECCOMP_CALLS];
