/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Collects records into batches. Does not look into records, and does not know where batches go. */
#include "cupti/batch.h"

#include <string.h>

void *batch_add(struct batch *batch, uint16_t type, size_t bytes)
{
	struct gpt_record *record;

	if (bytes > sizeof(batch->data) - 7)
		return NULL;
	bytes = gpt_padded(bytes);
	if (bytes > sizeof(batch->data) - batch->used)
		batch_flush(batch);
	record = (struct gpt_record *)(batch->data + batch->used);
	memset(record, 0, bytes);
	record->size = (uint32_t)bytes;
	record->type = type;
	batch->used += (uint32_t)bytes;
	return record;
}

void batch_flush(struct batch *batch)
{
	if (batch->used)
		batch->send(batch);
	batch->used = 0;
}
