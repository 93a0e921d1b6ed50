/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is for people, on standard output: in colour on a terminal, abandoned by Ctrl-C. */
#ifndef GPUTRACE_PRINT_H
#define GPUTRACE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

/* Writes all of it; 0 or -errno.  -ENOENT: it is not there, which the caller says. */
typedef int print_fn(FILE *out, bool color, void *context);

/* 0 or -errno; a message has said what is wrong, but for -ECANCELED.  A reader that has seen enough is no error. */
int print_on_stdout(print_fn *print, void *context);

#endif
