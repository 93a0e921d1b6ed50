/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A log as a source of records that can be read again; see gpt_trace.h. */
#include "input/gpt/gpt_trace.h"

#include <stdlib.h>

#include "base/array.h"
#include "input/gpt/gpt_feed.h"
#include "log/reader.h"

struct gpt_source {
	struct trace_source source;
	struct log_reader reader;
	bool begun; /* something has been read from it */
};

static struct gpt_source *source_of(const struct trace_source *source)
{
	return (struct gpt_source *)((char *)source - offsetof(struct gpt_source, source));
}

static int restart_source(struct trace_source *source, uint64_t most_bytes)
{
	struct gpt_source *log = source_of(source);

	source->error = log->begun ? log_reader_again(&log->reader) : 0;
	log->begun = true;
	if (!source->error && log_reader_can_again(&log->reader))
		log_reader_bound(&log->reader, most_bytes);
	return source->error;
}

static void feed_begin(struct trace_source *source, struct builder *builder)
{
	gpt_feed_begin(builder, &source_of(source)->reader);
}

static void feed_end(struct trace_source *source, struct builder *builder)
{
	gpt_feed_end(builder, &source_of(source)->reader);
}

static bool feed_next(struct trace_source *source, struct builder *builder)
{
	struct log_reader *reader = &source_of(source)->reader;
	const struct gpt_record *record = log_reader_next(reader);

	if (!record) {
		source->error = reader->error;
		return false;
	}
	source->fed_bytes += record->size;
	gpt_feed_read(builder, reader, record);
	return true;
}

static bool is_longer(const struct trace_source *source)
{
	const struct log_reader *reader = &source_of(source)->reader;

	return reader->too_long && log_reader_can_again(reader);
}

static void close_source(struct trace_source *source)
{
	log_reader_close(&source_of(source)->reader);
	free(source_of(source));
}

static const struct trace_source_kind gpt_source = {
	.restart = restart_source,
	.feed_begin = feed_begin,
	.feed_end = feed_end,
	.feed_next = feed_next,
	.is_longer = is_longer,
	.close = close_source,
};

static int open_source(int fd, const struct log_restriction *wanted, struct gpt_source **out, const char **why)
{
	struct gpt_source *log = xcalloc(1, sizeof(*log));
	int err;

	*out = NULL;
	*why = NULL;
	log->source.kind = &gpt_source;
	err = log_reader_open(&log->reader, fd, why);
	if (!err && wanted) {
		log_reader_restrict(&log->reader, wanted);
		err = log->reader.error;
	}
	if (err)
		close_source(&log->source);
	else
		*out = log;
	return err;
}

int gpt_trace_open(int fd, const struct trace_division *division, const struct log_restriction *wanted,
		   struct trace **trace, const char **why)
{
	struct gpt_source *log;
	int err = open_source(fd, wanted, &log, why);

	*trace = NULL;
	return err ? err : two_pass_trace_open(&log->source, division, trace);
}

int gpt_trace_open_again(int fd, const struct log_restriction *wanted, const struct trace *of, struct trace **trace)
{
	struct gpt_source *log;
	const char *why;
	int err = open_source(fd, wanted, &log, &why);

	*trace = err ? NULL : two_pass_trace_reopen(&log->source, of);
	return err;
}

void gpt_trace_close(struct trace *trace)
{
	two_pass_trace_close(trace);
}
