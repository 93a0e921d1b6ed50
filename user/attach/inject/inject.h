/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Entering a process: loads the agent into a running process.  One of its threads, found blocked in a harmless
 * system call, is stopped (ptrace), made to call dlopen (or the start function of an agent that is already loaded), and
 * put back as it was.  If gputrace dies meanwhile, the thread gets back by itself.
 *
 *   inject         one whole attempt; entering: attempts under way, each on a gputrace thread
 *   safe_point     which thread may be borrowed, by thread_state (/proc), thread_code, stack and seccomp
 *   addresses      the functions and instructions needed in the process
 *   remote_call    one call by a stopped thread: stop, and frame (the bytes on its stack)
 *   waiting        an agent that waits for a request, and needs none of this
 *   file_server    the agent's file, opened in a process with other namespaces; read_only: so that no one can write it
 *
 * Knows nothing of probes or of what the agent does.  Waits for whatever the process does: up to 10 s for a stop, 5 s
 * for a file server, 1 s for its loader.  Any number of threads may each enter a process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/inject/result.h"

/*
 * Makes the process with this pid and start (process_start_ticks) load the agent (agent_fd: its file, from
 * read_only_open) or, if that file's agent is already mapped, start it. asked: the request to the agent
 * (GPUTRACE_AGENT_START), NULL: none. 0: the call was made; the agent itself reports whether a session starts. -EAGAIN:
 * not at this moment, try again; -ESRCH: the process has ended; other -errno: not in this process.
 */
#define INJECT_PATH_MAX 256u /* bytes of the request to the agent, with its NUL */
int inject_agent(pid_t pid, uint64_t start_ticks, int agent_fd, const char *asked, struct inject_result *result);

/*
 * The same for PyTorch's ops alone, in a process whose driver brings the agent: an agent that is loaded now waits for
 * the driver.
 */
int inject_observer(pid_t pid, uint64_t start_ticks, int agent_fd, struct inject_result *result);

/*
 * Asks all that inject_agent does, and stops nothing: 0 if the call would be made now, why then has what only the stop
 * itself shows; else as inject_agent.
 */
int inject_check(pid_t pid, int agent_fd, struct inject_result *result);

/*
 * If a thread has not stopped in time, waits until it has stopped or ended, and lets it run. Call after inject_agent,
 * from the same thread.
 */
void inject_wait_late_stop(pid_t pid, const struct inject_result *result);

/*
 * gputrace's process that stops threads (stopper.h), 0: none.  What it stops is stopped by gputrace, and by no
 * debugger.
 */
void inject_know_stopper(pid_t process);

/*
 * Whether the driver will load an agent when the process starts CUDA: its environment names one, and that file exists.
 * The look-up goes through the process's root, and may take as long as its user likes.
 */
bool inject_driver_brings(pid_t pid);
