/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose code called CUPTI, in a process whose agent has not reported its state to this trace. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <gputrace/record.h>

#include "attach/probes/files.h"

/*
 * Finds out who made a call whose caller is GPT_CUPTI_CALLER_UNKNOWN; from then on the BPF side knows the agent's code
 * itself. False: the process has ended, or does not show what it has mapped.
 */
bool cupti_caller_find(struct files *files, pid_t pid, uid_t uid, struct gpt_cupti_use *use);
