/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sums by caller_place (callers.h) and two more numbers, as rows by line and those numbers.  A row of a library's line
 * also names the line of the user's own code from which most of it came.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"

struct line_tally_row {
	uint32_t line;
	uint32_t part[2];		/* the two numbers of the key */
	uint32_t process;		/* index, PROCESS_MANY, NONE */
	uint32_t user_line, user_lines; /* place_lines.user_line, NONE; the number of different ones */
	uint64_t ns, count;
	uint64_t more; /* of GROUP_BY_PARTS (sums/group.h) */
};

/* The sums that are added by place and two numbers; starts zeroed. */
struct line_tally {
	struct tally by_user; /* line, the two numbers, user_line; more: process_note_in_sum */
};

/* Adds a sum of a process.  The order of the calls fixes the order of lines without Python, see line_of. */
void line_tally_add(struct line_tally *all, struct place_lines lines, const uint32_t part[2], uint32_t process,
		    uint64_t ns, uint64_t count);

/* Returns the rows, most time first, which the caller frees; frees what was added. */
struct line_tally_row *line_tally_rows(struct line_tally *all, size_t *count);
