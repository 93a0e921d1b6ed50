/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Getting the agent into a process that already runs: one of its threads, found blocked in a harmless system
 * call, is made to call dlopen (or the start function of an agent that is there already) and put back as it was.
 * Whenever gputrace dies meanwhile, the thread gets back by itself.  Knows nothing of probes or of what the agent
 * does.  Waits for whatever the process does: up to 10 s for a stop, 5 s for a lender, 1 s for its loader.  Any number
 * of threads may each enter a process.
 */
#ifndef GPUTRACE_ATTACH_INJECT_H
#define GPUTRACE_ATTACH_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct inject_result {
	pid_t tid;	     /* the thread that was borrowed, 0: none yet */
	uint64_t stopped_ns; /* how long it was kept from running */
	uint64_t away_ns;    /* the same and the call itself */
	pid_t stray;	     /* a thread that did not stop in time and is still asked to, 0: none */
	char why[192];	     /* when it failed */
};

/*
 * Makes the process load the agent (agent_fd: its file, from read_only_open) or, where that file's agent is mapped
 * already, start it; cupti: the libcupti it shall use, NULL: what it finds.  0: the call was made; whether a session
 * begins the agent itself tells.  -EAGAIN: not at this moment, try again; -ESRCH: the process has ended; other -errno:
 * not in this process.
 */
#define INJECT_PATH_MAX 256u /* bytes of the path of a libcupti with its NUL */
int inject_agent(pid_t pid, int agent_fd, const char *cupti, struct inject_result *result);

/* Everything but the call: 0 when it would be made now; as inject_agent. */
int inject_check(pid_t pid, int agent_fd, struct inject_result *result);

/*
 * Where there is a stray, waits until it has stopped or ended, and lets it run: to be called after inject_agent, by the
 * same thread.
 */
void inject_wait_stray(pid_t pid, const struct inject_result *result);

/* gputrace is about to end: whoever is in inject_agent comes back soon, and no thread is borrowed any more. */
void inject_hurry(void);

/*
 * Whether the driver will load an agent when the process starts CUDA: its environment names one, and there is such a
 * file.  A look through its root, which may take as long as its user likes.
 */
bool inject_driver_brings(pid_t pid);

#define INJECT_LENDER "gputrace-lend" /* argv[0] of the process that lends the agent's file */

/* What main() does when it is started by that name; see inject_lend.c. */
int inject_lend_main(int argc, char **argv);

#endif
