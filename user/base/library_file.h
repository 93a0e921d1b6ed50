/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a file belongs to a library, by its path alone. */
#pragma once

#include <stdbool.h>

#include "base/generated_path.h" /* files that PyTorch's compiler wrote */

/*
 * Whether a file is installed rather than written by the user: packages, the standard library, what PyTorch compiles,
 * and code that the interpreter runs without a file.  The path is the code object's: a program can put any text there.
 */
bool file_is_library(const char *path);
