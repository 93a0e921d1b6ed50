/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where the agent's library lies. */
#ifndef GPUTRACE_AGENT_PATH_H
#define GPUTRACE_AGENT_PATH_H

/*
 * $GPUTRACE_AGENT, else beside the executable (build tree), ../lib/gputrace from it (installed anywhere), else in
 * the prefix of the build.  An absolute path in memory of the caller, or NULL.  A gputrace with capabilities of its
 * file takes only what root alone can change, and not $GPUTRACE_AGENT.
 */
char *agent_path_find(void);

#endif
