/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose code a file is, by its path alone. */
#ifndef GPUTRACE_ANALYZE_LIBRARY_H
#define GPUTRACE_ANALYZE_LIBRARY_H

#include <stdbool.h>

#include "base/generated_path.h" /* of these, what PyTorch's compiler wrote */

/*
 * Of what people install rather than write: packages, the standard library, what PyTorch compiles, and what the
 * interpreter runs without a file.  The path is as the code object has it: a program can write what it likes there.
 */
bool file_is_library(const char *path);

#endif
