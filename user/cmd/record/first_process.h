/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * gputrace with a COMMAND as the first process of a container. Such a process adopts every orphan and has to wait for
 * it; it gets the container's signals; and when it ends, the kernel kills all others. So it does only that, and its
 * child is the gputrace that traces: a crash of that one takes nothing with it.
 */
#pragma once

#include <sys/types.h>

/*
 * In a process whose pid is 1: returns only in a child, and the caller waits for all, passes signals on, and ends with
 * the child's status, or with the command's where the child has ended before it. In any other process: does nothing.
 */
void first_process_split(void);

/* The command runs, as this process. */
void first_process_set_command(pid_t command);
