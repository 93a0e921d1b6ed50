/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Iterates the records that an agent put into a GPT_AGENT_BATCH. For user space. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

/* Returns the record at *at and moves *at to the next one; NULL at the end, or when the record does not fit. */
static inline const struct gpt_record *record_at(const uint8_t *bytes, size_t size, size_t *at)
{
	const struct gpt_record *record;

	if (size - *at < sizeof(*record))
		return NULL;
	record = (const struct gpt_record *)(bytes + *at);
	if (record->size < sizeof(*record) || record->size % 8 || record->size > size - *at)
		return NULL;
	*at += record->size;
	return record;
}

/* The same for a batch as the ring buffer gives it: the length that the agent claims is not trusted. */
static inline const struct gpt_record *batch_next(const struct gpt_agent_batch *batch, size_t *at)
{
	size_t room = batch->hdr.size - sizeof(*batch);

	return record_at(batch->data, batch->bytes < room ? batch->bytes : room, at);
}
