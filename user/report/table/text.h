/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text for a terminal: its width, shortening, and the form of numbers.  Names come from targets: characters that could
 * move the cursor or change the reading direction are replaced.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Makes wcwidth understand UTF-8 on this thread, whatever the program's locale; text_end undoes it. */
void text_begin(void);
void text_end(void);

enum text_truncate {
	TEXT_TRUNCATE_END,    /* keeps the beginning */
	TEXT_TRUNCATE_MIDDLE, /* keeps both ends: names */
	TEXT_TRUNCATE_THIRD,  /* keeps a third of the room for the beginning, the rest for the end: kernels */
	TEXT_TRUNCATE_START,  /* keeps the end: paths */
	TEXT_TRUNCATE_PLACE,  /* keeps the number of a line: "model.py:42 Block.forward", "...del.py:42"; without one as
				 MIDDLE, and a reason in brackets as END */
	TEXT_TRUNCATE_FILES,  /* a sentence: files of places, "...del.py:42", the longest first, then its end */
	TEXT_WHOLE,	      /* never truncated: text of a message */
};

/* The number of columns that a name takes on the terminal. */
unsigned text_width(const char *text);

/* The text after that many blanks that do not break, which are shown where blanks would not be; the caller frees it. */
char *text_indent(size_t blanks, const char *text);

/* How many lines it has, of which each is ended. */
size_t text_lines(const char *text);

/* The least columns in which text can be truncated that way to more than dots. */
unsigned text_least(const char *text, enum text_truncate where);

/* Writes a name in at most `columns` columns; returns the columns written. */
unsigned text_put(FILE *out, const char *text, unsigned columns, enum text_truncate where);

/*
 * Writes text broken at blanks into lines of at most `width` columns, those after the first indented, and ends the
 * last; `column` is where the first one starts.  A word that is wider than a line is truncated as `how` says.
 */
void text_wrap(FILE *out, const char *text, unsigned column, unsigned indent, unsigned width, enum text_truncate how);

/* A number as text, small enough to be passed around by value. */
struct number {
	char text[32];
};

struct number number_count(uint64_t value);		 /* 51,204 */
struct number number_tenths(double value);		 /* 4,310.8; what is not a number is "-" */
struct number number_percent(double part, double whole); /* 13.2; "-" when whole is not positive */
struct number number_thousandths(uint32_t value);	 /* 99.999, 99.9, 100: exact, not rounded */
struct number number_time(uint64_t ns);			 /* 812 ns, 2.4 us, 812.4 ms, 10.0 s */
struct number number_bytes(uint64_t bytes);		 /* 512 B, 1.2 GB (1e9) */
struct number number_memory(uint64_t bytes);		 /* as PyTorch: 512 B, 1.2 GiB (1 << 30) */

/* The unit for a column of times, all of which are written in it; `ns` is the largest. */
struct time_unit {
	const char *name; /* "us" */
	double ns;
};
struct time_unit time_unit_for(uint64_t ns);
struct number number_in(uint64_t ns, struct time_unit unit);
