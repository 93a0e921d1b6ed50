/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Source that a Python process has only in its memory, not in a file, e.g. a notebook's cells. */
#pragma once

#include "target/python/python.h"

#define PYTHON_SOURCE_MAX (64u << 10) /* bytes of one text; a longer one is not read */

/*
 * The text that the process's linecache has for a path (ASCII), in UTF-8 without a NUL; NULL: none, or it changed while
 * it was read.  Free with free().
 */
char *python_source(pid_t pid, const struct gpt_python *python, const char *path, size_t *bytes);
