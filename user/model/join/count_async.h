/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts a long log for the receipt (receipt.h) on another thread while the caller reads the part: both only read it.
 *
 *	count_async_add(&count, part);		for each part, in order of time
 *	count_async_wait(&count);		before the part changes
 */
#pragma once

#include "base/threads/workers.h"
#include "model/join/receipt.h"

/* Starts zeroed. */
struct count_async {
	struct receipt_count count; /* complete when nothing runs */
	const struct model *part;
	struct work work;
};

/* A small part is counted before this returns. */
void count_async_add(struct count_async *async, const struct model *part);
void count_async_wait(struct count_async *async);
void count_async_free(struct count_async *async);
