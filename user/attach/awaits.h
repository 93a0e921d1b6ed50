/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the tasks of asyncio in followed processes await while their loop waits.  The programs in the kernel cannot see
 * it; a process of gputrace's own reads it (dump/process/loops.h), and its answers go into the log as GPT_AWAIT.
 */
#pragma once

#include <stdbool.h>

#include "attach/emit/emit.h"
#include "attach/followed.h"

struct awaits;

/* Starts the process.  -errno: none can be started. */
int awaits_start(attach_emit emit, void *context, struct awaits **out);

/* Says which processes are to be read, and puts what was read into the log; whether there was something. */
bool awaits_tick(struct awaits *awaits, struct processes *processes, uint64_t now_ns);

/* Also NULL. */
void awaits_stop(struct awaits *awaits);
