/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Demangles C++ names of hostile origin: libiberty with bounds on its stack, its time and its output. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/safe_text.h"

#define DEMANGLE_INPUT_MAX 4096	  /* bytes; libiberty's recursion grows with the length, this keeps it in 8 MB */
#define DEMANGLE_OUTPUT_MAX 32768 /* bytes; a short name can stand for an exponentially long one */

/* Replaces *out by the demangled name (Itanium ABI); false: not a mangled name, or beyond the bounds. */
bool demangle(const char *mangled, size_t size, text_buffer *out);
