/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes a database from its first table to its last row, in one transaction without a journal: it is whole or absent.
 */
#include "export/sqlite/sqlite.h"

#include <errno.h>

#include "export/sqlite/file.h"

static int write_rows(struct database *base, struct trace *trace)
{
	const struct model *part = trace_first(trace);

	if (!part)
		return trace->error;
	base->start_ns = part->start_ns;
	sqlite_make_tables(base);
	sqlite_put_enumerations(base);
	for (; part && !base->result; part = trace_next(trace))
		sqlite_put_part(base, part);
	if (trace->error)
		return trace->error;
	if (!base->result)
		sqlite_put_tables(base, trace->part);
	return 0;
}

static void run_statement(struct database *base, const char *statement)
{
	int result = base->result ? SQLITE_OK : sqlite3_exec(base->handle, statement, NULL, NULL, NULL);

	if (result != SQLITE_OK)
		base->result = result;
}

int sqlite_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct database base = {.process = options->process};
	struct sqlite_file *file = sqlite_file_open(sink, &base.handle);
	int error = sink->error, file_error;

	texts_begin(&base.texts);
	if (!error) {
		run_statement(&base, "PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
				     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA temp_store=MEMORY; BEGIN");
		error = write_rows(&base, trace);
		run_statement(&base, "COMMIT");
	}
	for (int i = 0; i < SQLITE_TABLE_COUNT; i++)
		sqlite3_finalize(base.inserts[i]);
	file_error = sqlite_file_close(file);
	texts_free(&base.texts);
	array_free(&base.kernels);
	tally_free(&base.stacks);
	tally_free(&base.domains);
	if (error || file_error)
		return error ? error : file_error;
	return base.result ? -EIO : 0;
}
