/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Hands a batch to the probe point. */
#include "agent/send/batch_send.h"
#include "agent/send/points.h"

void batch_to_collector(struct batch *batch)
{
	if (points_batch_listening())
		points_batch(batch->data, batch->used, batch->own_thread);
}
