/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A filter of system calls (seccomp(2)) for a process that answers others, and for its children. */
#pragma once

#include <stdbool.h>

/*
 * From here on this process and its children read, write and map what they have open, open files, make processes and
 * threads and wait for them.  All else fails with EPERM: no socket is made, nothing is executed, no other process is
 * traced, read or sent a signal but SIGKILL.  False: the kernel has no filters.
 */
bool call_filter_set(void);
