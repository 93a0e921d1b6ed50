/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is missing of a process without its agent, or with one that cannot see everything: notes of the log. */
#pragma once

#include "attach/agents.h"

#define LAST_PAUSE_NS 640000000ULL     /* between two tries */
#define LEFT_OUT_SAID_NS 1000000000ULL /* after a fork */

/* Whether the agent shall observe PyTorch's ops in the process. */
bool agent_has_ops(const struct agents *agents, const struct followed *process);

void agent_report_not_in(const struct agents *agents, const struct followed *process, const char *why);

/* Without BPF nothing else sees the calls of a process that has CUDA. */
void agent_report_unentered(const struct agents *agents, struct followed *process, const char *why);

/*
 * True for the first of a process's forks: one note covers all, as a DataLoader has many workers and forks them again
 * for each epoch.
 */
bool agent_is_first_said(const struct agents *agents, const struct followed *process, size_t said);

void agent_report_cuda_lost(const struct agents *agents, struct followed *process, uint64_t now_ns);

/* The agent sees the calls of every runtime. A forked copy may make no calls at all. */
void agent_report_hidden_runtime(const struct agents *agents, const struct followed *process);

/*
 * Notes that a forked worker's ops are not recorded: the thread that takes ops is not in the copy, and the first op
 * ends observing.
 */
void agent_report_no_ops(const struct agents *agents, struct followed *process, uint64_t now_ns);
