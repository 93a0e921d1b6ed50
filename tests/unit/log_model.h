/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* For tests: a whole log as one model. */
#pragma once

#include "input/gpt/gpt_feed.h"
#include "log/reader.h"
#include "model/builder.h"

/*
 * Returns 0 also for a truncated log (receipt.truncated); else -errno, as log_reader_open or of reading, with *why as
 * it says.  The caller frees *out with model_free.
 */
static inline int model_build(int fd, struct model **out, const char **why)
{
	struct builder *builder = builder_new();
	const struct gpt_record *record;
	struct log_reader reader;
	int err;

	*out = NULL;
	*why = NULL;
	err = log_reader_open(&reader, fd, why);
	if (!err) {
		gpt_feed_begin(builder, &reader);
		while ((record = log_reader_next(&reader)))
			gpt_feed_read(builder, &reader, record);
		gpt_feed_end(builder, &reader);
		err = reader.error;
	}
	log_reader_close(&reader);
	if (err)
		builder_discard(builder);
	else
		*out = builder_finish(builder);
	return err;
}
