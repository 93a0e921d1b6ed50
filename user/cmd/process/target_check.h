/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks whether the processes of --pid can be traced, before anything is loaded. */
#pragma once

#include "cmd/options/values.h"

/* Prints what is wrong with the first that cannot be traced. 0 or -errno. */
int target_check_pids(const struct pid_list *pids);

/* The process a thread belongs to (Tgid of proc(5)), 0: there is none. */
pid_t target_thread_group(pid_t tid);
