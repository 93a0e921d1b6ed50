/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the tool that wrote a file, and makes its rows a source that can be read again. */
#include "input/foreign_trace.h"

#include <stdlib.h>

#include "input/database/database_reader.h"
#include "input/kineto/kineto.h"
#include "input/rows/row_captures.h"
#include "input/rows/row_feed.h"
#include "input/rows/row_owners.h"

struct foreign_source {
	struct trace_source source;
	struct foreign_file file;
	struct row_feed *feed;
	bool longer; /* longer than asked for: none of it is fed */
};

static struct foreign_source *source_of(const struct trace_source *source)
{
	return (struct foreign_source *)((char *)source - offsetof(struct foreign_source, source));
}

static int restart_source(struct trace_source *source, uint64_t most_bytes)
{
	struct foreign_source *foreign = source_of(source);

	foreign->longer = foreign->file.rows.bytes > most_bytes;
	return source->error = rows_again(&foreign->file.rows);
}

static void feed_begin(struct trace_source *source, struct builder *builder)
{
	row_feed_begin(source_of(source)->feed, builder);
}

static void feed_end(struct trace_source *source, struct builder *builder)
{
	row_feed_end(source_of(source)->feed, builder);
}

static bool feed_next(struct trace_source *source, struct builder *builder)
{
	struct foreign_source *foreign = source_of(source);
	const struct row *row;

	if (foreign->longer)
		return false;
	row = rows_next(&foreign->file.rows);
	source->error = foreign->file.rows.error;
	if (!row)
		return false;
	row_feed_row(foreign->feed, builder, row);
	return true;
}

static bool is_longer(const struct trace_source *source)
{
	return source_of(source)->longer;
}

static void close_source(struct trace_source *source)
{
	struct foreign_source *foreign = source_of(source);

	if (foreign->feed)
		row_feed_free(foreign->feed);
	foreign_file_close(&foreign->file);
	free(foreign);
}

static const struct trace_source_kind foreign_source = {
	.restart = restart_source,
	.feed_begin = feed_begin,
	.feed_end = feed_end,
	.feed_next = feed_next,
	.is_longer = is_longer,
	.close = close_source,
};

/* The supported files, and how to read them: the first entry that recognises a file reads it. */
static const struct {
	bool (*is)(int fd);
	int (*read)(int fd, struct foreign_file *file, char **why);
} inputs[] = {
	{database_is, database_read}, /* nsys and nvprof; see the table in database_trace.c */
	{kineto_is, kineto_read},
};

#define INPUTS (sizeof(inputs) / sizeof(inputs[0]))

bool foreign_is(int fd)
{
	return any_of(INPUTS, i, inputs[i].is(fd));
}

int foreign_trace_open(int fd, const struct trace_division *division, struct trace **trace, char **why)
{
	struct foreign_source *foreign = xcalloc(1, sizeof(*foreign));
	struct row_owners *owners;
	size_t input = 0;
	int err;

	*trace = NULL;
	foreign->source.kind = &foreign_source;
	foreign_file_open(&foreign->file, FOREIGN_KINETO);
	while (input + 1 < INPUTS && !inputs[input].is(fd))
		input++;
	err = inputs[input].read(fd, &foreign->file, why);
	if (!err)
		err = rows_sort(&foreign->file.rows);
	if (err) {
		close_source(&foreign->source);
		return err;
	}
	row_captures_finish(&foreign->file);
	owners = row_owners_new(&foreign->file);
	err = row_owners_collect(owners, &foreign->file.rows);
	foreign->feed = row_feed_new(&foreign->file, owners);
	if (err) {
		close_source(&foreign->source);
		return err;
	}
	return two_pass_trace_open(&foreign->source, division, trace);
}
