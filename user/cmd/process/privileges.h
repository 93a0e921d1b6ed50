/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether this machine and this user can trace at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Effective capabilities of the calling process, 0 when /proc does not say. */
uint64_t privileges_effective(void);

/* Names of the capabilities that a trace needs and `effective` lacks, joined by ", "; "" when none. */
const char *privileges_missing(uint64_t effective, char *buffer, size_t size);

/*
 * The same for GPU times of processes that run already, which the agent must enter.  others: also processes of other
 * users.
 */
const char *privileges_missing_to_serve(uint64_t effective, bool others, char *buffer, size_t size);

/* Whether Yama, if there is one, lets gputrace stop a thread of a process of its own user; *scope: its ptrace_scope. */
bool privileges_may_stop_own(int *scope);

/*
 * Whether gputrace has file capabilities (setcap(8)), and so more rights than the user who runs it.  Then it loads into
 * processes only files that this user cannot have made.
 */
bool privileges_of_file(void);

/*
 * Executes the gputrace to which `make install CAPS=1` has given capabilities, instead of this one, which every user
 * may execute. Returns if there is none, if this user may not execute it, or if it would bring nothing.
 */
void privileges_take_installed(char **argv);

/* Gives up all capabilities of the calling thread for good; root keeps its own. */
void privileges_drop(void);

/* The same for root, too: it has none from here on, and gets none by executing anything.  False: it still has some. */
bool privileges_give_up(void);

/*
 * Whether sudo, or root as which gputrace runs, may use BPF here. Not under NoNewPrivs, in a container whose bounding
 * set lacks a capability, or in a user or pid namespace of its own.
 */
bool privileges_sudo_gives(void);

/* What a user who lacks them can do; to be printed after "missing: ". */
const char *privileges_remedy(void);

/* "6.18.5-x" -> 6 << 8 | 18; 0 when it does not look like a release. */
unsigned privileges_kernel_version(const char *release);

#define PRIVILEGES_KERNEL_MIN (5u << 8 | 10)

/* 0, or the negative errno of the simplest use of bpf(2). */
int privileges_try_bpf(void);

/* 0 when a trace can be tried; -EPERM, -ENOSYS ... with one line for the user in why[]. */
int privileges_check(char *why, size_t why_size);
