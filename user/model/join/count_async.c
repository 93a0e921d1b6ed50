/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Uses a thread for each part that is large enough to make up for its cost. */
#include "model/join/count_async.h"

#define WORTH_A_THREAD 4096u /* events */

static void count(void *context)
{
	struct count_async *beside = context;

	receipt_add_part(&beside->count, beside->part);
}

void count_async_add(struct count_async *beside, const struct model *part)
{
	count_async_wait(beside);
	beside->part = part;
	if (part->call_count + (uint64_t)part->gpu_count >= WORTH_A_THREAD)
		workers_give(&beside->work, count, beside);
	else
		count(beside);
}

void count_async_wait(struct count_async *beside)
{
	workers_wait(&beside->work);
}

void count_async_free(struct count_async *beside)
{
	count_async_wait(beside);
	receipt_count_free(&beside->count);
}
