/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that began as a copy of another and have executed nothing since: which of them can use CUDA at all. */
#ifndef GPUTRACE_ATTACH_FORKS_H
#define GPUTRACE_ATTACH_FORKS_H

#include "attach/followed.h"

enum fork_verdict {
	FORK_MAY_ENTER,
	FORK_UNKNOWN_YET, /* whether CUDA was up in its parent, whose agent has not answered */
	FORK_LEFT_OUT,
	FORK_CUDA_LOST, /* left out: CUDA was up in its parent, so nothing of it works here */
};

/* A fork that was seen: what the parent had at that moment, by the records before it. */
void fork_note(struct followed *child, const struct followed *parent);

/* One that was there before us. */
void fork_note_older(struct followed *child, pid_t parent);

/* What can be seen of a process that was forked and has executed nothing, without its parent's agent. */
enum fork_verdict fork_look(pid_t pid, pid_t parent, char *why, size_t why_size);

/* With what is known of its parent. why (at least 192 bytes): when it may not be entered, or not yet. */
enum fork_verdict fork_judge(struct processes *processes, const struct followed *process, char *why, size_t why_size);

#endif
