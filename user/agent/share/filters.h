/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Filters of system calls (seccomp) that were there before the agent. */
#pragma once

#include <stdbool.h>

/*
 * Whether the calling thread has filters that gputrace (GPUTRACE_FILTERS) and the container's first process do not
 * have, and that kill for a call by which the agent joins a collector, or waits to be asked to. A child tries these;
 * without such filters there is none, only prctl(2), and under a filter open(2), read(2) and close(2), by which the
 * agent has just been loaded.
 */
bool filters_kill(bool waits);
