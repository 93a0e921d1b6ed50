/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether nothing of a process runs because another process wants it so. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether its cgroup is frozen (cgroup v2, also beside v1, or v1's freezer). */
bool process_is_frozen(pid_t pid);

/*
 * What keeps it from running, as in "it is %s": frozen by its cgroup, or stopped by a signal. NULL: nothing. A debugger
 * that holds it does not count.
 */
const char *process_halted(pid_t pid);
