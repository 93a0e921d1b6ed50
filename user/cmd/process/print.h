/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text for people on standard output: as wide as the terminal and in colour there, abandoned at Ctrl-C. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct screen {
	unsigned width; /* columns, 0: not known, or no terminal */
	bool is_terminal;
	bool has_color; /* a terminal, and NO_COLOR is not set */
	bool is_ascii;	/* a terminal, and the locale has another character set than UTF-8 */
};

/* Of standard output. */
struct screen print_screen(void);

/* Writes all of it; 0 or -errno.  -ENOENT: what was asked for is not there; the caller prints that. */
typedef int print_fn(FILE *out, const struct screen *screen, void *context);

/* 0 or -errno; a message has said what is wrong, except for -ECANCELED.  A reader that closes early is no error. */
int print_on_stdout(print_fn *print, void *context);

/* From now on a process that goes on writes nowhere: who reads its standard output gets the end of the file now. */
void print_end(void);

/* The same, and the process reads nothing: for one that works beside the terminal. */
void print_end_and_input(void);
