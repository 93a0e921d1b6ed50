/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The processes being followed: what each has mapped, its Python, whether its agent speaks.  Writes the BPF map of
 * processes; uses files/ for probes.
 */
#ifndef GPUTRACE_ATTACH_PROCESSES_H
#define GPUTRACE_ATTACH_PROCESSES_H

#include "attach/followed.h"

/*
 * Begins to follow, or goes on with the one that is followed; one that had the pid before is forgotten.  `inherited`: a
 * fork, of which the BPF side has made the map entry already. NULL: no room or no process.
 */
struct followed *processes_add(struct processes *processes, pid_t pid, bool ours, bool inherited);

/* The children of those that are followed, which were started before they were heard of. */
void processes_add_descendants(struct processes *processes);

/* The process maps the file, or its parent did: what is probed in it is probed in this process, too. */
void processes_use_file(struct processes *processes, struct followed *process, struct probed_file *file);
void processes_remove(struct processes *processes, pid_t pid);

/* It has ended, whatever has its pid by now. */
bool process_is_over(const struct followed *process);

/* Forgets those whose end should have been reported by now and was not; true when there were any. Every 0.2 s. */
bool processes_remove_over(struct processes *processes);

/* Looks at what the process has mapped now: probes files, finds its Python, writes to the log. -errno */
int processes_examine(struct processes *processes, struct followed *process);

/*
 * Whether to look at it now for a change that a process may make as often as it likes.  Where it, or its user, has been
 * looked at too often, processes_look_due does it later.
 */
bool processes_may_look(struct processes *processes, struct followed *process);

/* Whether the processes of its user have not taken more of our time than is theirs. */
bool processes_have_time(struct processes *processes, const struct followed *process, uint64_t now_ns);

/* Of files whose names say nothing: together with what is mapped meanwhile. */
void processes_look_soon(struct processes *processes, struct followed *process);

/* By processes_look_due, then at the latest. */
void processes_look_later(struct followed *process, uint64_t when_ns);

typedef void (*processes_look)(void *context, struct followed *process);

/* Looks at those whose time has come, the users first who were looked at least. When the next is due, UINT64_MAX never.
 */
uint64_t processes_look_due(struct processes *processes, processes_look look, void *context);

/* Notes in the log, once of each, who was left alone because it does not answer. */
void processes_report_silent(struct processes *processes);

/* Closes files that no process has mapped any more, but for that one. Every 0.2 s. */
void processes_sweep_files(struct processes *processes, const struct probed_file *kept);

/* Ends probe_later and probes what was found meanwhile. */
void processes_probe_all(struct processes *processes);

/* Looks which files with anything for us it has mapped, and probes none. -errno */
int processes_find_files(struct processes *processes, struct followed *process);

/* The process runs another program now. */
void processes_forget_program(struct processes *processes, struct followed *process);

/* Reads from the BPF map whether the agent of the process is at work and reports its calls; true when that changed. */
bool processes_update_agent(struct processes *processes, struct followed *process);

/* Where its command line is not what the log says: programs set titles once they know what they are. */
void processes_update_title(struct processes *processes, struct followed *process);

/* Whether it has called CUDA since it was forked or executed something: followed.called_ns is of any of its threads. */
bool processes_has_called(const struct processes *processes, const struct followed *process);

void processes_close(struct processes *processes);

#endif
