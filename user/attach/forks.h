/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Forked processes that have not called exec since: which of them can use CUDA at all. */
#pragma once

#include "attach/followed.h"

enum fork_verdict {
	FORK_MAY_ENTER,
	FORK_UNKNOWN_YET, /* the parent's agent has not answered yet whether CUDA was up there */
	FORK_LEFT_OUT,
	FORK_CUDA_LOST, /* left out: CUDA was up in its parent, so it cannot work here */
};

/* A fork that was seen: stores the state of the parent at that moment, by the records before it. */
void fork_note(struct followed *child, const struct followed *parent);

/* A fork from before gputrace started. */
void fork_note_older(struct followed *child, pid_t parent);

/*
 * Whether the agent that a forked process maps was loaded after the fork. The copy of an agent has no thread, and says
 * that it is dead.
 */
bool fork_has_own_agent(pid_t pid, const struct probed_file *agent, const struct mappings *mappings);

/* Whether its own agent says that it joins no collector by itself (gpt_agent_status). ns_pid: as process_info. */
bool agent_has_declined(const struct followed *process, pid_t ns_pid, const struct mappings *mappings);

/* Judges a process that was forked and has not called exec, without the help of its parent's agent. */
enum fork_verdict fork_look(pid_t pid, pid_t parent, char *why, size_t why_size);

/*
 * Judges it by what is known of its parent. why (at least 192 bytes): the reason if it may not be entered, or not yet.
 */
enum fork_verdict fork_judge(struct processes *processes, const struct followed *process, char *why, size_t why_size);
