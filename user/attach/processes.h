/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The followed processes: what each has mapped, its Python, whether its agent reports. Writes the BPF map of processes;
 * uses files/ for probes.
 */
#pragma once

#include "attach/followed.h"

/*
 * Starts to follow a process, or returns it if it is followed already; an earlier process with the same pid is
 * forgotten. `inherited`: a fork, whose map entry the BPF side has made already. NULL: no room or no process.
 */
struct followed *processes_add(struct processes *processes, pid_t pid, bool ours, bool inherited);

/* Adds the children of followed processes that were started before gputrace got reports of them. */
void processes_add_descendants(struct processes *processes);

/*
 * The same by the kernel's lists of children, which takes as long as there are followed threads, not processes of the
 * machine; they may lack one while another one ends.  False: this kernel has none.
 */
bool processes_add_children(struct processes *processes);

/* Calls `take` for each child of the process in the kernel's lists, whatever it returns. */
void processes_each_child(pid_t pid, int (*take)(pid_t child, void *context), void *context);

/*
 * The process maps the file, or its parent did: the probes of the file are attached for this process, too. mappings:
 * its own; NULL: a fork has just copied them.
 */
void processes_use_file(struct processes *processes, struct followed *process, struct probed_file *file,
			const struct mappings *mappings);
void processes_remove(struct processes *processes, pid_t pid);

/* Whether it has ended, even if another process has its pid by now. */
bool process_is_over(const struct followed *process);

/*
 * Forgets processes whose end should have been reported by now and was not; true if there were any. Call every 0.2 s.
 */
bool processes_remove_over(struct processes *processes);

/* Looks at what the process has mapped now: probes files, finds its Python, writes to the log. 0 or -errno. */
int processes_examine(struct processes *processes, struct followed *process);

/*
 * Whether to look at the process now for a change that it can make as often as it likes. If the process or its user has
 * been looked at too often, processes_look_due does it later.
 */
bool processes_may_look(struct processes *processes, struct followed *process);

/* Whether the processes of its user have used no more than their share of gputrace's time. */
bool processes_have_time(struct processes *processes, const struct followed *process, uint64_t now_ns);

/* Schedules a look for files whose names say nothing; it covers everything that is mapped until then. */
void processes_look_soon(struct processes *processes, struct followed *process);

/* Schedules a look by processes_look_due at when_ns at the latest. */
void processes_look_later(struct followed *process, uint64_t when_ns);

typedef void (*processes_look)(void *context, struct followed *process);

/*
 * Looks at the processes that are due, starting with the users that were looked at least. Returns when the next look is
 * due, UINT64_MAX: never.
 */
uint64_t processes_look_due(struct processes *processes, processes_look look, void *context);

/* Writes a note, once for each process, about processes that are left alone because they do not answer. */
void processes_report_silent(struct processes *processes);

/* Closes files that no process has mapped any more, except `kept`. Call every 0.2 s. */
void processes_sweep_files(struct processes *processes, const struct probed_file *kept);

/* Ends probe_later and probes the files found meanwhile. */
void processes_probe_all(struct processes *processes);

/* Finds the files of interest that it has mapped, and probes none. 0 or -errno. */
int processes_find_files(struct processes *processes, struct followed *process);

/* The process has called exec: forgets what is known of its old program. */
void processes_forget_program(struct processes *processes, struct followed *process);

/* The BPF side's number of the program that the process executes; 0: it is not followed there. */
uint64_t processes_get_program(const struct processes *processes, const struct followed *process);

/* Reads from the BPF map whether the agent of the process is at work and reports its calls; true when that changed. */
bool processes_update_agent(struct processes *processes, struct followed *process);

/* Updates its command line in the log if that has changed: programs set titles once they know what they are. */
void processes_update_title(struct processes *processes, struct followed *process);

/*
 * Whether it has called CUDA since its last fork or exec. followed.called_ns is less exact: any of its threads that
 * reports sets it.
 */
bool processes_has_called(const struct processes *processes, const struct followed *process);

void processes_close(struct processes *processes);
