/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The source of a Python function, for a listing: read where the process that ran it found it, if possible, and only if
 * it is what ran.  A target names the file, so it is hostile: any file, of any size, with any content.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/model.h"

#define SOURCE_BYTES_MAX (16u << 20)
#define SOURCE_LINE_MAX 1024u /* bytes of a line that are shown */

struct source_file {
	char *text; /* NULL: see why */
	size_t bytes;
	uint32_t *begins; /* offsets of lines, from line 1 on, and of the end */
	uint32_t lines;
	char *why; /* why there is no text, for people; NULL */
};

/*
 * Reads the file of a function.  live: the process may still run, and its own files are used.  A file that was changed
 * after started_ns (wall clock), or has no function of that name there, is not what ran.  A notebook's cell is in the
 * model.
 */
void source_file_read(struct source_file *out, const struct model *model, const struct model_code *code,
		      const struct model_process *process, bool live, int64_t started_ns);
void source_file_free(struct source_file *file);

/*
 * A line, from 1 on, without its newline, tabs as blanks, with unsafe characters replaced; "" if there is none.  Free
 * with free().
 */
char *source_file_line(const struct source_file *file, uint32_t number);

/* The last line of the block that begins in that line, by indentation. */
uint32_t source_file_block_end(const struct source_file *file, uint32_t first);
