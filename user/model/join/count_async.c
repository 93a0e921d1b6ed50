/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses a thread for each part that is large enough to make up for its cost. */
#include "model/join/count_async.h"

#define WORTH_A_THREAD 4096u /* events */

static void count_part(void *context)
{
	struct count_async *async = context;

	receipt_add_part(&async->count, async->part);
}

void count_async_add(struct count_async *async, const struct model *part)
{
	count_async_wait(async);
	async->part = part;
	if (part->call_count + (uint64_t)part->gpu_count >= WORTH_A_THREAD)
		workers_give(&async->work, count_part, async);
	else
		count_part(async);
}

void count_async_wait(struct count_async *async)
{
	workers_wait(&async->work);
}

void count_async_free(struct count_async *async)
{
	count_async_wait(async);
	receipt_count_free(&async->count);
}
