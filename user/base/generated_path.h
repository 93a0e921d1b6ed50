/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which code was written into no file by its author: PyTorch's compiler (Inductor) wrote it, or it is a notebook's
 * cell. Told by paths alone.
 */
#ifndef GPUTRACE_BASE_GENERATED_PATH_H
#define GPUTRACE_BASE_GENERATED_PATH_H

#include <stdbool.h>
#include <stdint.h>

/* The path is as the code object has it: a program can write what it likes there. */
bool file_is_generated(const char *path);

/* "cxjmxsji....py:18": the middle of a name, without its folder, left out; NULL: it is too short.  Caller frees it. */
char *generated_name_shorten(const char *name, uint32_t line);

/* ipykernel names a cell by a hash of its text: "/tmp/ipykernel_812/2903183.py". */
bool file_is_cell(const char *path);

#endif
