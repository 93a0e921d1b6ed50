/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recognizes, by the path alone, code that is in no file of its author's: PyTorch's compiler (Inductor) generated it,
 * or it is a notebook's cell.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* path: from the code object; a program can write anything there. */
bool file_is_generated(const char *path);

/* "cxjmxsji....py:18": the file's name without its folder and with its middle left out.  The caller frees it.  NULL:
 * the name is too short for that. */
char *generated_name_shorten(const char *name, uint32_t line);

/* ipykernel names a cell by a hash of its text: "/tmp/ipykernel_812/2903183.py". */
bool file_is_cell(const char *path);
