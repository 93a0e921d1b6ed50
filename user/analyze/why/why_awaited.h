/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread of Python waits for, by the functions of the standard library, of PyTorch's DataLoader and of servers
 * that it waits in: the system call alone does not tell a lock from an item of a queue.
 */
#pragma once

#include "model/model.h"

/* Of several in one stack the last one counts: Queue.get waits for a notification. */
enum why_awaited {
	WHY_AWAITED_UNKNOWN,
	WHY_AWAITED_NOTICE,  /* threading: Event, Condition, Barrier */
	WHY_AWAITED_ITEM,    /* queue */
	WHY_AWAITED_RESULT,  /* concurrent.futures, multiprocessing.pool; a thread's end */
	WHY_AWAITED_REQUEST, /* accept, a server's poll, recv of ZeroMQ */
	WHY_AWAITED_LOOP,    /* asyncio's loop: no task is ready */
	WHY_AWAITED_SLEEP,   /* asyncio.sleep: of a task's coroutines */
};

/* How a DataLoader loads. */
enum why_loads {
	WHY_LOADS_UNKNOWN,
	WHY_LOADS_ITSELF, /* in the process that calls its next */
	WHY_LOADS_WORKERS,
};

/*
 * For the frames of libraries from the innermost one on: false: the function does not wait, so what it waits for inside
 * is its own matter and the frames further out do not count.
 */
bool why_awaited_in(const struct model_code *code, enum why_awaited *awaited);

/* For the frames inside a DataLoader's next. */
enum why_loads why_loads_in(const struct model_code *code);

/* By the name of PyTorch's op around next. */
enum why_loads why_loads_of_op(const char *name);
