/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Writes a file from its schema to its footer. */
#include "export/arrow/arrow.h"

#include "export/arrow/file.h"

int arrow_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct timeline *timeline = timeline_new(trace, options->process);
	struct arrow arrow = {.out = sink, .timeline = timeline};
	const struct timeline_visitor visitor = {
		.context = &arrow, .slice = arrow_put_slice, .memory = arrow_put_memory};
	int error;

	if (!timeline)
		return trace->error;
	arrow_rows_begin(&arrow);
	arrow_put_begin(&arrow);
	error = timeline_visit(timeline, &visitor);
	if (arrow.rows)
		arrow_put_batch(&arrow);
	if (!error)
		error = arrow_put_end(&arrow);
	arrow_rows_free(&arrow);
	flat_free(&arrow.flat);
	array_free(&arrow.batches);
	timeline_free(timeline);
	return error;
}
