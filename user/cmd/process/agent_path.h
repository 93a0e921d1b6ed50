/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the agent's library. */
#pragma once

/*
 * Looks at $GPUTRACE_AGENT, else beside the executable (build tree), then in ../lib/gputrace from it (installed).
 * Returns an absolute path, which the caller frees, or NULL.  A gputrace with file capabilities ignores $GPUTRACE_AGENT
 * and takes only a file that root alone can change.
 */
char *agent_path_find(void);
