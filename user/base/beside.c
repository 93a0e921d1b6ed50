/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/beside.h"

#include <stddef.h>

#include "base/thread.h"

static void *run(void *context)
{
	const struct beside *beside = context;

	beside->work(beside->context);
	return NULL;
}

void beside_run(struct beside *beside, void (*work)(void *context), void *context)
{
	beside_wait(beside);
	beside->work = work;
	beside->context = context;
	beside->runs = thread_start(run, beside, 0, &beside->thread) == 0;
	if (!beside->runs)
		work(context);
}

void beside_wait(struct beside *beside)
{
	if (beside->runs)
		pthread_join(beside->thread, NULL);
	beside->runs = false;
}
