/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A thread for each part of some size, which costs nothing beside what it counts. */
#include "model/count_beside.h"

#include "base/thread.h"

#define WORTH_A_THREAD 4096u /* events */

static void *run(void *context)
{
	struct count_beside *beside = context;

	receipt_add_part(&beside->count, beside->part);
	return NULL;
}

void count_beside_add(struct count_beside *beside, const struct model *part)
{
	count_beside_wait(beside);
	beside->part = part;
	beside->runs = part->call_count + (uint64_t)part->gpu_count >= WORTH_A_THREAD &&
		       thread_start(run, beside, 0, &beside->thread) == 0;
	if (!beside->runs)
		run(beside);
}

void count_beside_wait(struct count_beside *beside)
{
	if (beside->runs)
		pthread_join(beside->thread, NULL);
	beside->runs = false;
}

void count_beside_free(struct count_beside *beside)
{
	count_beside_wait(beside);
	receipt_count_free(&beside->count);
}
