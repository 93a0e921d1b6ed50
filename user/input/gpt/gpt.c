/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Hands each record of a log to the function for its kind. */
#include "input/gpt/gpt_feed.h"

#include <stdio.h>

#include "input/gpt/gpt_records.h"
#include "log/reader.h"

/* Types not listed do not concern the model, or are newer than this reader. */
GPT_RECORDS(GPT_PASS)
static const struct gpt_kind kinds[] = {GPT_RECORDS(GPT_KIND)};

void gpt_feed_record(struct builder *builder, const struct gpt_record *record)
{
	if (record->type < sizeof(kinds) / sizeof(kinds[0]) && kinds[record->type].add)
		gpt_add_known(builder, &kinds[record->type], NULL, record);
}

void gpt_feed_read(struct builder *builder, const struct log_reader *reader, const struct gpt_record *record)
{
	builder_set_shared(builder, reader->sequence < (int64_t)reader->header.shared_below);
	gpt_feed_record(builder, record);
}

static void feed_damaged(struct builder *builder, uint32_t segments)
{
	char note[96];

	snprintf(note, sizeof(note), "%u segment%s of the log %s damaged: what was in %s is missing", segments,
		 segments == 1 ? "" : "s", segments == 1 ? "is" : "are", segments == 1 ? "it" : "them");
	builder_add_note(builder, gpt_text(note, sizeof(note)));
}

void gpt_feed_begin(struct builder *builder, const struct log_reader *reader)
{
	builder_set_start(builder, reader->header.start_ns, reader->header.wall_offset_ns);
	if (reader->header.flags & GPT_LOG_PART)
		builder_set_part(builder);
	if (reader->header.flags & GPT_LOG_CONTINUED)
		builder_set_continued(builder);
}

void gpt_feed_end(struct builder *builder, const struct log_reader *reader)
{
	static const char too_long[] = "the log is larger than 32 GiB: only that much of it was read";

	builder_wait(builder);
	if (reader->torn)
		builder_set_torn(builder);
	if (reader->damaged)
		feed_damaged(builder, reader->damaged);
	if (reader->too_long)
		builder_add_note(builder, gpt_text(too_long, sizeof(too_long)));
}
